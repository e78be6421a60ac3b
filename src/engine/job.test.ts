import assert from 'node:assert/strict';
import test from 'node:test';
import { hostOf, sampleVg } from '../../test/samples/observed.ts';
import { blocked, OperationError } from '../base/failures.ts';
import { rest } from '../core/step.ts';
import { Job, type Task } from './job.ts';

const task: Task<number> = {
  noun: 'volume',
  volume: 'v1',
  vg: 'vg1',
  plan: () => rest,
  status: (host) => host.vgs.length,
};

const host = hostOf(sampleVg());
const refusal = blocked('NotOurs', 'no');

test('a settled job tells the status of the report that settled it', async () => {
  const job = new Job(task);
  assert.equal(job.isDone, false);
  job.settle(host);
  assert.deepEqual(await job.outcome, { kind: 'settled', status: 1 });
  assert.equal(job.isDone, true);
});

test('a refusal is an answer, a failure is thrown', async () => {
  const refused = new Job(task);
  refused.refuse(refusal);
  assert.equal(await refused.outcome, refusal);
  const failed = new Job(task);
  failed.fail(new OperationError('CommandFailed', 'x'));
  await assert.rejects(failed.outcome, { code: 'CommandFailed' });
});

test('the first answer counts', async () => {
  const job = new Job(task);
  job.refuse(refusal);
  job.settle(host);
  job.fail(new Error('late'));
  assert.equal(await job.outcome, refusal);
});

test('who stops waiting is told so at once, and what comes later changes nothing', async () => {
  const controller = new AbortController();
  const job = new Job(task, controller.signal);
  controller.abort();
  assert.equal(job.isDone, true);
  job.settle(host);
  await assert.rejects(job.outcome, { code: 'Cancelled', message: /volume v1 .*may still come/ });
});

test('a job for nobody is done before it begins', async () => {
  const job = new Job(task, AbortSignal.abort());
  assert.equal(job.isDone, true);
  await assert.rejects(job.outcome, { code: 'Cancelled' });
});

test('an abort after the answer changes nothing, and nothing listens any more', async () => {
  const listeners = new Set<() => void>();
  const signal = {
    aborted: false,
    addEventListener: (_type: 'abort', listener: () => void) => listeners.add(listener),
    removeEventListener: (_type: 'abort', listener: () => void) => listeners.delete(listener),
  };
  const job = new Job(task, signal);
  const [abort] = listeners;
  job.settle(host);
  abort?.();
  assert.deepEqual(await job.outcome, { kind: 'settled', status: 1 });
  assert.equal(listeners.size, 0);
});
