import assert from 'node:assert/strict';
import test from 'node:test';
import { names, removal, seeingWorld, volume, world } from '../../test/samples/lane-world.ts';
import { extents, sampleLv, samplePv, sampleVg, vgWithFree } from '../../test/samples/observed.ts';
import { settle } from '../../test/samples/tiny-clock.ts';
import { gate, type TinyHost } from '../../test/samples/tiny-host.ts';
import { limits } from '../base/limits.ts';
import type { Decision, Step } from '../core/step.ts';
import { absentVolume } from '../core/volume/desired.ts';
import type { VolumeStatus } from '../core/volume/status.ts';
import type { Task } from './job.ts';
import { volumeTask } from './tasks.ts';

const letters = 'abcdefghij'.split('');

test('a burst of creations costs one command each, one look before and one after', async () => {
  const { host, submit } = world();
  const outcomes = await Promise.all(letters.map((name) => submit(volume(name))));
  assert.deepEqual(
    host.changes,
    letters.map((name) => `lvcreate ${name}`),
  );
  assert.equal(host.looks, 2);
  assert.ok(outcomes.every((outcome) => outcome.kind === 'settled'));
});

test('whoever asked is answered from a look, never from what was foreseen', async () => {
  const { submit } = world();
  const outcome = await submit(volume('a', 3));
  assert.ok(outcome.kind === 'settled');
  assert.deepEqual(
    [outcome.status.state, outcome.status.uuid, outcome.status.sizeBytes],
    ['Ready', 'vg1-a-made', extents(3)],
  );
});

test('creating, growing and removing cost one command each, whatever else waits', async () => {
  const { host, submit } = world();
  await submit(volume('a'));
  await Promise.all([submit(volume('a', 5)), submit(volume('b'))]);
  await Promise.all([submit(removal('a')), submit(removal('b'))]);
  assert.deepEqual(host.changes, [
    ...['lvcreate a', 'lvextend a', 'lvcreate b'],
    ...['lvremove a', 'lvremove b'],
  ]);
  assert.equal(host.looks, 4);
});

test('what the kernel bears out is answered without another look', async () => {
  const { host, model, submit } = seeingWorld();
  const made = await submit(volume('a', 3));
  assert.ok(made.kind === 'settled');
  assert.equal(made.status.uuid, 'vg1-a-made');
  await submit(volume('b'));
  await submit(volume('a', 5));
  await submit(removal('b'));
  assert.equal(host.looks, 1);
  assert.deepEqual(host.changes, ['lvcreate a', 'lvcreate b', 'lvextend a', 'lvremove b']);
  const known = model.newest?.host.vgs[0]?.lvs.map(({ name, sizeBytes }) => [name, sizeBytes]);
  assert.deepEqual(known, [['a', extents(5)]]);
  assert.equal((await model.current()).host.vgs[0]?.lvs.length, 1);
  assert.equal(host.looks, 2);
});

test('a refusal is never told without a look of its own', async () => {
  const { host, submit } = seeingWorld(vgWithFree([4]));
  await submit(volume('a', 4));
  assert.equal(host.looks, 1);
  // Its room comes back with a removal, which only a look shows.
  await submit(removal('a'));
  assert.equal((await submit(volume('b', 4))).kind, 'settled');
  assert.equal(host.looks, 2);
});

test('whoever is refused was looked at after he asked', async () => {
  const { host, model, submit } = world(vgWithFree([4]));
  await model.refresh();
  const grown = vgWithFree([40]);
  host.state = { ...host.state, vgs: [grown] };
  assert.equal((await submit(volume('a', 8))).kind, 'settled');
  assert.equal(host.looks, 3, 'one that is too old, one to refuse by, one after the change');
});

test('a failure between two that were borne out is looked at', async () => {
  const { host, submit } = seeingWorld();
  await submit(volume('a'));
  host.behave = (name) => (name === 'lvcreate b' ? { exitCode: 5, hasEffect: false } : {});
  await assert.rejects(submit(volume('b')), { code: 'CommandFailed' });
  const looks = host.looks;
  assert.ok(looks > 1);
  await submit(volume('c'));
  assert.equal(host.looks, looks);
});

test('what is borne out is flushed before it is answered', async () => {
  const { host, submit } = seeingWorld(vgWithFree([9]));
  await submit(volume('a'));
  assert.equal(host.looks, 1);
  assert.notDeepEqual(host.flushed, []);
});

test('a burst is no longer than its limit, and the order stays', async () => {
  const { host, submit } = world();
  const many = Array.from({ length: 2 * limits.burstLengthMax + 1 }, (_item, index) => `v${index}`);
  await Promise.all(many.map((name) => submit(volume(name))));
  assert.deepEqual(names(host), many);
  assert.equal(host.looks, 1 + 3);
});

test('changes of one group never run side by side', async () => {
  const { host, submit } = world();
  host.behave = (name) => (name === 'fullreport' ? {} : { until: settle() });
  const first = letters.slice(0, 5).map((name) => submit(volume(name)));
  await settle();
  const later = letters.slice(5).map((name) => submit(volume(name)));
  await Promise.all([...first, ...later]);
  assert.equal(host.mostChanges, 1);
  assert.deepEqual(names(host), letters);
});

test('nothing is run for a job that was abandoned before its turn', async () => {
  const { host, submit } = world();
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const first = submit(volume('a'));
  await settle();
  const controller = new AbortController();
  const second = submit(volume('b'), controller.signal);
  const aborted = submit(volume('c'), AbortSignal.abort());
  controller.abort();
  slow.open();
  await first;
  await assert.rejects(second, { code: 'Cancelled' });
  await assert.rejects(aborted, { code: 'Cancelled' });
  await settle();
  assert.deepEqual(host.changes, ['lvcreate a']);
});

test('a step that runs when its job is abandoned is let finish, and the queue waits', async () => {
  const { host, submit } = world();
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const controller = new AbortController();
  const first = submit(volume('a'), controller.signal);
  await settle();
  controller.abort();
  await assert.rejects(first, { code: 'Cancelled' });
  const second = submit(volume('b'));
  await settle();
  assert.deepEqual(host.changes, ['lvcreate a']);
  slow.open();
  await second;
  assert.deepEqual(names(host), ['a', 'b']);
});

test('a command that takes too long keeps its place until it is gone', async () => {
  const { host, submit } = world();
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed, timesOut: true } : {});
  const first = submit(volume('a'));
  const second = submit(volume('b'));
  await settle();
  assert.deepEqual(host.changes, ['lvcreate a']);
  slow.open();
  const [outcome] = await Promise.all([first, second]);
  // It came about after all: that is what counts.
  assert.equal(outcome.kind, 'settled');
  assert.deepEqual(names(host), ['a', 'b']);
});

test('a failed step that had its effect is a success', async () => {
  const { host, submit } = world();
  host.behave = (name) => (name === 'lvcreate a' ? { exitCode: 5, stderr: 'odd' } : {});
  assert.equal((await submit(volume('a'))).kind, 'settled');
  assert.deepEqual(host.changes, ['lvcreate a']);
});

test('a failed step that had its effect does not stop the steps after it', async () => {
  const { host, submit } = world(sampleVg({ pvs: [samplePv()] }));
  host.behave = (name) => (name === 'lvcreate a' ? { exitCode: 5 } : {});
  const both = { ...volume('a'), plan: twoSteps('a', 'b') };
  assert.equal((await submit(both)).kind, 'settled');
  assert.deepEqual(names(host), ['a', 'b']);
});

/** One task that needs two volumes, one after the other. */
function twoSteps(...parts: readonly [string, string]): Task<VolumeStatus>['plan'] {
  return (host) => {
    const decisions = parts.map((name) => volume(name).plan(host));
    return decisions.find((decision) => decision.kind !== 'rest') ?? { kind: 'rest' };
  };
}

test('a failed step without effect is told, and run once', async () => {
  const { host, submit, events } = world();
  host.behave = (name) => (name === 'lvcreate a' ? { exitCode: 5, hasEffect: false } : {});
  await assert.rejects(submit(volume('a')), { code: 'CommandFailed' });
  assert.deepEqual(host.changes, ['lvcreate a']);
  assert.equal(events.length, 1);
  assert.deepEqual([events[0]?.step, events[0]?.exitCode], ['create-lv', 5]);
});

test('what trying again cannot change is a refusal', async () => {
  const { host, submit } = world();
  const stderr = '  Volume group "vg1" has insufficient free space (0 extents): 1 required.';
  host.behave = (name) => (name === 'lvcreate a' ? { exitCode: 5, hasEffect: false, stderr } : {});
  const outcome = await submit(volume('a'));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'InsufficientCapacity');
});

test('who grows a volume is told of too little room in a way that is not retried', async () => {
  const { host, submit } = world();
  await submit(volume('a'));
  const stderr = '  Insufficient free space: 5 extents needed, but only 0 available';
  host.behave = (name) => (name === 'lvextend a' ? { exitCode: 5, hasEffect: false, stderr } : {});
  const outcome = await submit(volume('a', 3));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'InsufficientCapacityToExpand');
});

test('one job that fails does not harm the others of its burst', async () => {
  const { host, submit } = world();
  host.behave = (name) => (name === 'lvcreate b' ? { exitCode: 5, hasEffect: false } : {});
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => submit(volume(name))));
  assert.deepEqual(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(names(host), ['a', 'c']);
});

test('after a failed step nothing is decided on what was foreseen', async () => {
  const { host, submit } = world(vgWithFree([10]));
  // The first fails although it took everything: what the second sees must come from a look.
  host.behave = (name) => {
    if (name === 'lvcreate a') host.state = { vgs: [vgWithFree([0])], orphanPvs: [] };
    return name === 'lvcreate a' ? { exitCode: 5, hasEffect: false } : {};
  };
  const [, second] = await Promise.allSettled([submit(volume('a', 10)), submit(volume('b', 10))]);
  assert.ok(second?.status === 'fulfilled' && second.value.kind === 'blocked');
  assert.deepEqual(host.changes, ['lvcreate a']);
});

test('a step that succeeds without effect is not tried for ever', async () => {
  const { host, submit } = world();
  host.behave = (name) => (name === 'lvcreate a' ? { hasEffect: false } : {});
  await assert.rejects(submit(volume('a')), { code: 'StaleView', message: /create-lv/ });
  assert.ok(host.changes.length <= limits.staleRetriesMax + 2, `${host.changes.length} tries`);
  assert.ok(host.changes.length > 1, 'another try was worth it');
});

test('room that only seems to be gone does not refuse anybody', async () => {
  const { host, submit } = world(vgWithFree([10]));
  // The group is never full here, so what was foreseen after the first is wrong.
  const [first, second] = await Promise.all([submit(volume('a', 8)), submit(volume('b', 8))]);
  assert.deepEqual([first?.kind, second?.kind], ['settled', 'settled']);
  assert.deepEqual(names(host), ['a', 'b']);
});

test('a refusal is judged by a look alone', async () => {
  const { host, submit } = world(vgWithFree([10]));
  const outcome = await submit(volume('a', 11));
  assert.ok(outcome.kind === 'blocked');
  assert.equal(outcome.code, 'InsufficientCapacity');
  assert.deepEqual([host.looks, host.changes], [1, []]);
});

test('a step is not run on what a newer look shows to be another volume', async () => {
  const { host, model, submit } = world(sampleVg({ lvs: [sampleLv({ name: 'b' })] }));
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate a' ? { until: slow.passed } : {});
  const first = submit(volume('a'));
  const second = submit(volumeTask(absentVolume('vg1', 'b', 'uuid-b')));
  await settle();
  // While the first step runs, somebody removes b and makes another b, and a look shows it.
  const other = sampleLv({ name: 'b', uuid: 'other' });
  host.state = { vgs: [sampleVg({ lvs: [other] })], orphanPvs: [] };
  await model.refresh();
  slow.open();
  await Promise.all([first, second]);
  assert.deepEqual(host.changes, ['lvcreate a']);
  assert.deepEqual(names(host), ['b', 'a']);
});

const vgUuid = 'qUlN3i-uJZ4-Kx3F-Wc9v-8gtR-jXvJ-1h4dXs';
const suspendedLine = (name: string, uuid: string) =>
  `${name}:LVM-${uuid.replaceAll('-', '')}${'x'.repeat(32)}:Suspended`;

for (const [how, behaviour] of [
  ['is killed', { isKilled: true, hasEffect: false }],
  ['takes too long', { timesOut: true, hasEffect: false }],
  ['fails', { exitCode: 5, hasEffect: false }],
] as const) {
  test(`when a command ${how}, devices it left suspended are resumed, others are not`, async () => {
    const { host, submit, events } = world(sampleVg({ uuid: vgUuid }));
    const foreign = suspendedLine('other-x', 'zzzzzz-zzzz-zzzz-zzzz-zzzz-zzzz-zzzzzz');
    host.suspended = [suspendedLine('vg1-a', vgUuid), foreign, 'luks::Suspended'];
    host.behave = (name) => (name === 'lvcreate a' ? behaviour : {});
    await assert.rejects(submit(volume('a')));
    assert.deepEqual(host.changes, ['lvcreate a', 'dmsetup resume']);
    assert.deepEqual(host.suspended, [foreign, 'luks::Suspended']);
    assert.deepEqual(events.at(-1)?.argv, ['dmsetup', 'resume', 'vg1-a']);
  });
}

test('suspended devices are resumed before the next change', async () => {
  const { host, submit } = world(sampleVg({ uuid: vgUuid }));
  host.suspended = [suspendedLine('vg1-a', vgUuid)];
  host.behave = (name) => (name === 'lvcreate a' ? { isKilled: true, hasEffect: false } : {});
  await Promise.allSettled([submit(volume('a')), submit(volume('b'))]);
  assert.deepEqual(host.changes, ['lvcreate a', 'dmsetup resume', 'lvcreate b']);
});

test('work that must be alone waits for what came before it and holds what comes after', async () => {
  const { host, lane, submit } = world();
  const story: string[] = [];
  const slow = gate();
  const done = Promise.all([
    submit(volume('a')).then(() => story.push('a')),
    lane.exclusive(async () => {
      story.push('alone begins');
      await slow.passed;
      story.push('alone ends');
    }),
    submit(volume('b')).then(() => story.push('b')),
    lane.exclusive(async () => story.push('alone again')),
  ]);
  await settle();
  assert.deepEqual(story, ['a', 'alone begins']);
  assert.deepEqual(names(host), ['a']);
  slow.open();
  await done;
  assert.deepEqual(story, ['a', 'alone begins', 'alone ends', 'b', 'alone again']);
});

/** A copy that is done once its note was written. */
function copy({ host }: { readonly host: TinyHost }): Task<VolumeStatus> {
  const step: Step = {
    ...{ kind: 'copy-range', vg: 'vg1', vgUuid: 'VGU', lv: 'a', lvUuid: 'AU' },
    ...{ from: 'b', fromUuid: 'BU', offsetBytes: extents(0), lengthBytes: extents(1) },
    ...{ add: ['copied'], remove: [] },
  };
  const plan = (): Decision =>
    host.changes.includes('lvchange a') ? { kind: 'rest' } : { kind: 'step', step };
  return { ...volume('a'), plan };
}

test('whoever asks again waits for the copy that he left, and makes no second one', async () => {
  const at = world();
  const slow = gate();
  at.host.behave = (name) => (name.startsWith('dd ') ? { until: slow.passed } : {});
  const controller = new AbortController();
  const left = at.submit(copy(at), controller.signal);
  await settle();
  controller.abort();
  await assert.rejects(left, { code: 'Cancelled' });
  const again = at.submit(copy(at));
  await settle();
  assert.equal(at.host.changes.length, 1);
  slow.open();
  assert.equal((await again).kind, 'settled');
  assert.deepEqual(at.host.changes.length, 2, 'a copy, and its note');
});

test('what work alone changed is looked at before the next change', async () => {
  const { host, lane, submit } = world();
  await submit(volume('a'));
  await lane.exclusive(async () => {
    host.state = { vgs: [sampleVg({ uuid: 'other' })], orphanPvs: [] };
  });
  await submit(volume('b'));
  assert.equal(host.state.vgs[0]?.uuid, 'other');
  assert.deepEqual(names(host), ['b']);
});

test('work alone that fails fails alone', async () => {
  const { lane, submit } = world();
  const failing = lane.exclusive(() => Promise.reject(new Error('no')));
  const after = submit(volume('a'));
  await assert.rejects(failing, { message: 'no' });
  assert.equal((await after).kind, 'settled');
});

test('a queue that is full says so at once, and works on', async () => {
  const { host, lane, submit } = world();
  const slow = gate();
  const alone = lane.exclusive(() => slow.passed);
  await settle();
  const waiting = Array.from({ length: limits.queueLengthMax }, () => submit(removal('gone')));
  assert.equal(lane.length, limits.queueLengthMax);
  await assert.rejects(submit(volume('a')), { code: 'QueueFull', message: /vg1/ });
  slow.open();
  await alone;
  await Promise.all(waiting);
  assert.equal((await submit(volume('b'))).kind, 'settled');
  assert.deepEqual(host.changes, ['lvcreate b']);
});

test('a look that fails fails the jobs that needed it, and no others', async () => {
  const { host, submit } = world();
  host.behave = (name) => (name === 'fullreport' ? { exitCode: 5 } : {});
  await assert.rejects(submit(volume('a')), { code: 'CommandFailed' });
  host.behave = () => ({});
  assert.equal((await submit(volume('b'))).kind, 'settled');
  assert.deepEqual(host.changes, ['lvcreate b']);
});
