import assert from 'node:assert/strict';
import test from 'node:test';
import { assertBlocked } from '../../test/samples/decisions.ts';
import {
  extents,
  sampleLv,
  sampleVg,
  thickClass,
  vgWithFree,
} from '../../test/samples/observed.ts';
import { sampleSteps } from '../../test/samples/steps.ts';
import { settle, TinyClock } from '../../test/samples/tiny-clock.ts';
import { gate, TinyHost } from '../../test/samples/tiny-host.ts';
import { limits } from '../base/limits.ts';
import type { ObservedNode, ObservedVg } from '../core/observed.ts';
import { type Decision, next, rest } from '../core/step.ts';
import { isBlocked } from '../core/usable-vg.ts';
import { desiredVolume } from '../core/volume/desired.ts';
import { planVolume } from '../core/volume/plan.ts';
import { Engine, type NodeTask } from './engine.ts';
import type { Task } from './job.ts';
import { devicesOf } from './lane.ts';
import type { TraceEvent } from './ports.ts';
import { volumeTask } from './tasks.ts';

function world(...vgs: readonly ObservedVg[]) {
  const host = new TinyHost(...vgs);
  const events: TraceEvent[] = [];
  const trace = (event: TraceEvent) => events.push(event);
  return { host, events, engine: new Engine({ host, clock: new TinyClock(), trace }) };
}

function desiredOf(name: string, vg = 'vg1') {
  const request = { name, className: '', sizeBytes: extents(1) };
  const desired = desiredVolume(request, [thickClass({ vg })]);
  assert.ok(!isBlocked(desired));
  return desired;
}

const volume = (name: string, vg = 'vg1') => volumeTask(desiredOf(name, vg));

/** A task on the node's devices that comes down to one volume, which is all the fake can make. */
function nodeTask(name: string, vg = 'vg1'): NodeTask<string> {
  return {
    noun: 'volume-group',
    volume: vg,
    vg,
    paths: [],
    plan: (node) => planVolume(desiredOf(name, vg), node),
    status: () => name,
  };
}

const names = (host: TinyHost) => host.state.vgs.flatMap((vg) => vg.lvs.map((lv) => lv.name));

test('groups do not wait for one another', async () => {
  const { host, engine } = world(sampleVg(), sampleVg({ name: 'vg2' }));
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const first = engine.submit(volume('a'));
  await settle();
  assert.equal((await engine.submit(volume('b', 'vg2'))).kind, 'settled');
  assert.deepEqual(names(host), ['b']);
  slow.open();
  await first;
});

test('the length of each queue is told', async () => {
  const { host, engine } = world();
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const first = engine.submit(volume('a'));
  await settle();
  const later = [engine.submit(volume('b')), engine.submit(volume('c'))];
  assert.deepEqual([...engine.queueLengths()], [['vg1', 2]]);
  slow.open();
  await Promise.all([first, ...later]);
  assert.deepEqual([...engine.queueLengths()], [['vg1', 0]]);
});

test('what chooses devices is done one after the other on the whole node', async () => {
  const { host, engine } = world(sampleVg(), sampleVg({ name: 'vg2' }));
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const first = engine.submitNode(nodeTask('a'));
  const second = engine.submitNode(nodeTask('b', 'vg2'));
  await settle();
  assert.deepEqual(host.changes, ['lvcreate a']);
  slow.open();
  const outcomes = await Promise.all([first, second]);
  assert.deepEqual(outcomes, [
    { kind: 'settled', status: 'a' },
    { kind: 'settled', status: 'b' },
  ]);
  assert.equal(host.mostChanges, 1);
});

test('a group is not changed by anybody else while its devices are chosen', async () => {
  const { host, engine } = world();
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const first = engine.submitNode(nodeTask('a'));
  await settle();
  const second = engine.submit(volume('b'));
  await settle();
  assert.deepEqual(host.changes, ['lvcreate a']);
  slow.open();
  await Promise.all([first, second]);
  assert.deepEqual(host.changes, ['lvcreate a', 'lvcreate b']);
});

test('on devices too, a failed step with its effect is a success', async () => {
  const { host, engine } = world();
  host.behave = (name) => (name === 'lvcreate a' ? { exitCode: 5 } : {});
  assert.equal((await engine.submitNode(nodeTask('a'))).kind, 'settled');
  assert.deepEqual(host.changes, ['lvcreate a']);
});

test('on devices too, a failed step without effect is told, and run once', async () => {
  const { host, engine } = world();
  host.behave = (name) => (name === 'lvcreate a' ? { exitCode: 5, hasEffect: false } : {});
  await assert.rejects(engine.submitNode(nodeTask('a')), { code: 'CommandFailed' });
  assert.deepEqual(host.changes, ['lvcreate a']);
});

test('on devices too, a step that succeeds without effect is not tried for ever', async () => {
  const { host, engine } = world();
  host.behave = (name) => (name === 'lvcreate a' ? { hasEffect: false } : {});
  await assert.rejects(engine.submitNode(nodeTask('a')), { code: 'StaleView' });
  assert.ok(host.changes.length <= limits.staleRetriesMax + 2, `${host.changes.length} tries`);
});

test('on devices too, a refusal is an answer', async () => {
  const { engine } = world(vgWithFree([0]));
  assertBlocked(await engine.submitNode(nodeTask('a')), 'InsufficientCapacity');
});

const vgUuid = 'qUlN3i-uJZ4-Kx3F-Wc9v-8gtR-jXvJ-1h4dXs';
const suspended = `vg1-a:LVM-${vgUuid.replaceAll('-', '')}${'x'.repeat(32)}:Suspended`;

test('on devices too, what a killed command left suspended is resumed at once', async () => {
  const { host, engine } = world(sampleVg({ uuid: vgUuid }));
  host.suspended = [suspended];
  host.behave = (name) => (name === 'lvcreate a' ? { isKilled: true, hasEffect: false } : {});
  await assert.rejects(engine.submitNode(nodeTask('a')), { code: 'CommandKilled' });
  assert.deepEqual(host.suspended, []);
});

const luks = 'luks::Suspended';

test('after a start, what an earlier life left suspended in our groups is resumed', async () => {
  const { host, engine, events } = world(sampleVg({ uuid: vgUuid }), sampleVg({ name: 'vg2' }));
  host.suspended = [suspended, luks];
  assert.deepEqual(await engine.recover(['vg1']), { resumed: ['vg1-a'], leftAlone: ['luks'] });
  assert.deepEqual(host.suspended, [luks]);
  assert.deepEqual([events[0]?.step, events[0]?.noun], ['resume-device', 'recovery']);
});

test('a suspended volume is resumed though it waits for its pool, which is suspended too', async () => {
  const { host, engine } = world(sampleVg({ uuid: vgUuid }));
  host.suspended = [suspended, suspended.replace('vg1-a', 'vg1-pool-tpool')];
  const pool = gate();
  host.behave = (name) => {
    if (name !== 'dmsetup resume') return {};
    if (host.changes.length === 1) return { until: pool.passed };
    pool.open();
    return {};
  };
  const { resumed } = await engine.recover(['vg1']);
  assert.deepEqual(resumed, ['vg1-a', 'vg1-pool-tpool']);
});

test('after a start, what hangs in a group that is not ours is told and left alone', async () => {
  const { host, engine } = world(sampleVg({ uuid: vgUuid }));
  host.suspended = [suspended];
  assert.deepEqual(await engine.recover(['vg2']), { resumed: [], leftAlone: ['vg1-a'] });
  assert.deepEqual(host.changes, []);
});

test('after a start on which nothing hangs, LVM is not even asked', async () => {
  const { host, engine } = world(sampleVg({ uuid: vgUuid }));
  assert.deepEqual(await engine.recover(['vg1']), { resumed: [], leftAlone: [] });
  assert.equal(host.looks, 0);
});

test('what an earlier life began is looked for until there is nothing', async () => {
  const { host, engine } = world();
  const looks = [['umount /a'], []];
  host.strays = () => Promise.resolve(looks.shift() ?? assert.fail('one look too many'));
  assert.deepEqual(await engine.strays(), ['umount /a']);
  assert.deepEqual(await engine.strays(), []);
  await engine.recover(['vg1']);
  assert.deepEqual(await engine.strays(), []);
});

/** A copy of one slice: two commands, the first of which takes long. */
function copying(host: TinyHost): Task<string> {
  const isDone = () => host.changes.includes('lvchange v1');
  return {
    noun: 'clone',
    volume: 'v1',
    vg: 'vg1',
    plan: () => (isDone() ? rest : next(sampleSteps['copy-range'])),
    status: () => 'copied',
  };
}

test('others do not wait while data is copied, and its note takes its turn', async () => {
  const { host, engine } = world(sampleVg({ lvs: [sampleLv()] }));
  const copy = gate();
  const slow = gate();
  host.behave = (name) => {
    if (name.startsWith('dd')) return { until: copy.passed };
    return name === 'lvcreate b' ? { until: slow.passed } : {};
  };
  const clone = engine.submit(copying(host));
  await settle();
  assert.equal((await engine.submit(volume('a'))).kind, 'settled');
  const second = engine.submit(volume('b'));
  await settle();
  copy.open();
  await settle();
  // The copy is done, but b is being made: the note of the copy waits.
  assert.ok(!host.changes.includes('lvchange v1'));
  slow.open();
  assert.deepEqual(await clone, { kind: 'settled', status: 'copied' });
  await second;
  assert.deepEqual(
    host.changes.filter((name) => !name.startsWith('dd')),
    ['lvcreate a', 'lvcreate b', 'lvchange v1'],
  );
});

test('a copy that fails is told, and not noted as done', async () => {
  const { host, engine } = world(sampleVg({ lvs: [sampleLv()] }));
  host.behave = (name) => (name.startsWith('dd') ? { exitCode: 1 } : {});
  await assert.rejects(engine.submit(copying(host)), { code: 'CommandFailed' });
  assert.ok(!host.changes.includes('lvchange v1'));
});

test('nobody is told of a change before every device of its group keeps it', async () => {
  const { host, engine } = world(sampleVg());
  await engine.submit(volumeTask(desiredOf('a')));
  const devices = devicesOf(host.state, 'vg1');
  assert.deepEqual(host.flushed, [...devices, ...devices], 'what was before, and what was made');
  const before = host.flushed.length;
  await engine.submit(volumeTask(desiredOf('a')));
  assert.equal(host.flushed.length, before, 'nothing changed, nothing is flushed');
});

test('a node with many devices may need as many steps', async () => {
  const { host, engine } = world(sampleVg());
  host.drives = Array.from({ length: 150 }, (_, at) => `/dev/sr${at}`);
  const wanted = Array.from({ length: limits.passesMax + 50 }, (_, at) => `v${at}`);
  const plan = (node: ObservedNode): Decision => {
    const missing = wanted.find((name) => !node.vgs[0]?.lvs.some((lv) => lv.name === name));
    return missing === undefined ? rest : planVolume(desiredOf(missing), node);
  };
  const outcome = await engine.submitNode({ ...nodeTask('many'), plan });
  assert.deepEqual(outcome, { kind: 'settled', status: 'many' });
  assert.equal(host.changes.length, wanted.length);
});
