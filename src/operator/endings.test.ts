import assert from 'node:assert/strict';
import test from 'node:test';
import { Chance } from '../../test/world/chance.ts';
import { FakeClock } from '../../test/world/clock.ts';
import { blocked, OperationError } from '../base/failures.ts';
import { KubeError } from '../kube/errors.ts';
import { type Ended, Endings } from './endings.ts';

const method = 'csi.v1.Controller/CreateVolume';
const asked = { operation: 'create', key: 'u1' } as const;

function scene() {
  const ended: Ended[] = [];
  const clock = new FakeClock(new Chance(1));
  return { ended, clock, endings: new Endings(clock, (one) => ended.push(one)) };
}

test('what is done at last took as long as was waited for it', async () => {
  const { endings, clock, ended } = scene();
  endings.begun(asked);
  await clock.advance(3_000);
  endings.failed(asked, new OperationError('CommandFailed', 'no'));
  endings.begun(asked);
  await clock.advance(4_000);
  endings.done(asked);
  assert.deepEqual(ended, [
    { method, code: 'INTERNAL', fault: 'system' },
    { method, code: 'OK', seconds: 7 },
  ]);
});

test('the time that somebody else has to answer for is not counted', async () => {
  const { endings, clock, ended } = scene();
  endings.begun(asked);
  await clock.advance(60_000);
  endings.failed(asked, blocked('InsufficientCapacity', 'it is full'));
  await clock.advance(60_000);
  endings.begun(asked);
  await clock.advance(1_000);
  endings.done(asked);
  assert.deepEqual(ended, [
    { method, code: 'RESOURCE_EXHAUSTED', fault: 'administrator' },
    { method, code: 'OK', seconds: 1 },
  ]);
});

test('a copy is counted and takes as long as it takes', () => {
  const { endings, ended } = scene();
  endings.begun(asked);
  endings.done({ ...asked, isCopy: true });
  assert.deepEqual(ended, [{ method, code: 'OK' }]);
});

test('what ends with our turn, or is tried again at once, has not ended', async () => {
  const { endings, ended } = scene();
  for (const code of ['NotLeading', 'Cancelled', 'StaleView', 'CopyUnfinished'] as const) {
    endings.failed(asked, new OperationError(code, 'later'));
  }
  endings.failed(asked, new KubeError('Conflict', 'somebody wrote first'));
  const stop = new AbortController();
  const tried = endings.of(asked, stop.signal, async () => {
    stop.abort();
    throw new Error('aborted');
  });
  await assert.rejects(tried, { message: 'aborted' });
  assert.deepEqual(ended, []);
});

test('an API server that says no, and what nobody expected, is not the fault of who asked', async () => {
  const { endings, ended } = scene();
  endings.failed(asked, new KubeError('Unreachable', 'nobody answers'));
  const { signal } = new AbortController();
  const tried = endings.of(asked, signal, () => Promise.reject(new Error('a bug')));
  await assert.rejects(tried, { message: 'a bug' });
  assert.deepEqual(ended, [
    { method, code: 'UNAVAILABLE', fault: 'system' },
    { method, code: 'UNKNOWN', fault: 'system' },
  ]);
});
