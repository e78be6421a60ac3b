import assert from 'node:assert/strict';
import test from 'node:test';
import { seeingWorld, volume, world } from '../../test/samples/lane-world.ts';
import { sampleLv, sampleVg } from '../../test/samples/observed.ts';
import { settle } from '../../test/samples/tiny-clock.ts';
import { gate, type TinyHost } from '../../test/samples/tiny-host.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { ObservedLv, ObservedVg } from '../core/observed.ts';
import { ownerTag, pendingTag, tagOf } from '../core/tags.ts';
import type { Task } from './job.ts';
import { publicationTask } from './tasks.ts';

/** The marks of volumes go, as they do before a volume is shown. */
function marked(...lvs: readonly string[]): readonly [ObservedVg, Task<undefined>[]] {
  const vg = sampleVg({ lvs: lvs.map((name) => sampleLv({ name, tags: [ownerTag, pendingTag] })) });
  const tasks = vg.lvs.map(({ name, uuid }) =>
    publicationTask({ vg: 'vg1', name, uuid }, { want: 'clear-marks' }),
  );
  return [vg, tasks];
}

const tagsOfAll = (host: TinyHost) => host.state.vgs[0]?.lvs.map(({ tags }) => tags.join());

test('marks of many volumes go in one command, and each is told to whoever asked', async () => {
  const [vg, tasks] = marked('a', 'b', 'c');
  const { host, events, submit } = world(vg);
  const outcomes = await Promise.all(tasks.map((task) => submit(task)));
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['settled', 'settled', 'settled'],
  );
  assert.deepEqual(host.changes, ['lvchange a b c']);
  assert.deepEqual(tagsOfAll(host), [ownerTag, ownerTag, ownerTag]);
  assert.deepEqual(
    events.map(({ volume }) => volume),
    ['a b c'],
  );
});

test('what the kernel bears out of many together needs no look after it', async () => {
  const [vg, tasks] = marked('a', 'b');
  const { host, submit } = seeingWorld(vg);
  await Promise.all(tasks.map((task) => submit(task)));
  assert.deepEqual([host.looks, host.changes], [1, ['lvchange a b']]);
});

test('those with other tags are not changed by the way', async () => {
  const [vg, tasks] = marked('a', 'b', 'c');
  const noted = { ...vg, lvs: vg.lvs.map((lv) => (lv.name === 'b' ? withNote(lv) : lv)) };
  const { host, submit } = world(noted);
  await Promise.all(tasks.map((task) => submit(task)));
  assert.deepEqual(host.changes, ['lvchange a c', 'lvchange b']);
  assert.deepEqual(tagsOfAll(host), [ownerTag, ownerTag, ownerTag]);
});

const withNote = (lv: ObservedLv) => ({ ...lv, tags: [...lv.tags, tagOf('zeroed', '4096')] });

test('when a command for many fails, each is tried by itself and fails alone', async () => {
  const [vg, tasks] = marked('a', 'b', 'c');
  const { host, submit } = world(vg);
  host.behave = (name) => (name.includes('b') ? { exitCode: 5, hasEffect: false } : {});
  const ends = await Promise.allSettled(tasks.map((task) => submit(task)));
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled'],
  );
  assert.deepEqual(host.changes, ['lvchange a b c', 'lvchange a', 'lvchange b', 'lvchange c']);
  assert.deepEqual(tagsOfAll(host), [ownerTag, `${ownerTag},${pendingTag}`, ownerTag]);
});

test('a command for many that was killed half-way is not run again for those it did', async () => {
  const [vg, tasks] = marked('a', 'b');
  const { host, submit } = world(vg);
  host.behave = (name) => {
    if (name !== 'lvchange a b') return {};
    const lvs = vg.lvs.map((lv) => (lv.name === 'a' ? { ...lv, tags: [ownerTag] } : lv));
    host.state = { vgs: [{ ...vg, lvs }], orphanPvs: [] };
    return { isKilled: true, hasEffect: false };
  };
  const outcomes = await Promise.all(tasks.map((task) => submit(task)));
  assert.deepEqual(
    outcomes.map(({ kind }) => kind),
    ['settled', 'settled'],
  );
  assert.deepEqual(host.changes, ['lvchange a b', 'lvchange b']);
});

test('who makes a volume comes before who takes a mark off, but not for ever', async () => {
  const [vg, tasks] = marked('x', 'y');
  const { host, submit } = world(vg);
  const slow = gate();
  host.behave = (name) => (name === 'lvcreate v0' ? { until: slow.passed } : {});
  const first = submit(volume('v0'));
  await settle();
  const marks = tasks.map((task) => submit(task));
  const later = Array.from({ length: 2 * limits.passedByMax }, (_, at) =>
    submit(volume(`v${at + 1}`)),
  );
  slow.open();
  await Promise.all([first, ...marks, ...later]);
  const at = host.changes.indexOf('lvchange x y');
  assert.ok(at > 1, 'whoever came later and makes something comes first');
  assert.ok(at <= limits.passedByMax + 1, `after ${at} others`);
});

test('no more than the limit come before a mark, however they come', async () => {
  const [vg, tasks] = marked('x');
  const { host, submit } = world(vg);
  const gates = new Map(['lvcreate v0', 'lvcreate w1'].map((name) => [name, gate()]));
  host.behave = (name) => ({ until: gates.get(name)?.passed ?? Promise.resolve() });
  const many = (letter: string, count: number) =>
    Array.from({ length: count }, (_, at) => submit(volume(`${letter}${at + 1}`)));
  const first = submit(volume('v0'));
  await settle();
  const marks = tasks.map((task) => submit(task));
  const some = many('w', limits.passedByMax - 1);
  gates.get('lvcreate v0')?.open();
  await settle();
  const more = many('y', limits.burstLengthMax);
  gates.get('lvcreate w1')?.open();
  await Promise.all([first, ...marks, ...some, ...more]);
  const passedBy = host.changes.indexOf('lvchange x') - 1;
  assert.ok(passedBy > 0 && passedBy <= limits.passedByMax, `${passedBy} came before it`);
});

test('what can be mended is mended for those too who were first tried together', async () => {
  const [vg, tasks] = marked('a', 'b');
  const { host, submit } = world(vg);
  const part = 'logical volume vg1/a_rmeta_0 is active.';
  const stderr = `  Activation of logical volume vg1/a is prohibited while ${part}`;
  let isMended = false;
  host.behave = (name) => {
    if (name === 'dmsetup status') isMended = true;
    const isStopped = name.startsWith('lvchange a') && !isMended;
    return isStopped ? { exitCode: 5, hasEffect: false, stderr } : {};
  };
  const ends = await Promise.all(tasks.map((task) => submit(task)));
  assert.deepEqual(
    ends.map(({ kind }) => kind),
    ['settled', 'settled'],
  );
});

test('what many together did is known of each, though the devices cannot be flushed', async () => {
  const [vg, tasks] = marked('a', 'b');
  const { host, model, submit } = seeingWorld(vg);
  await model.refresh();
  // The first flush is that of what an earlier life did.
  let flushes = 0;
  host.flush = async () => {
    flushes += 1;
    if (flushes > 1) throw new OperationError('DeviceFailed', 'no');
  };
  const ends = await Promise.allSettled(tasks.map((task) => submit(task)));
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  const known = model.newest?.host.vgs[0]?.lvs.map(({ tags }) => tags.join());
  assert.deepEqual(known, [ownerTag, ownerTag]);
});
