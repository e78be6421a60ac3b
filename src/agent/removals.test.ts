import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogEvent } from './log.ts';
import { Removals } from './removals.ts';

const seenIn = (vgUuid: string) => ({ vgUuid, isRemoved: false });

async function inDirectory(
  work: (directory: string, log: LogEvent[], open: () => Promise<Removals>) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-removals-'));
  const log: LogEvent[] = [];
  try {
    await work(directory, log, () => Removals.open(directory, (event) => log.push(event)));
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

test('what is noted outlives the process', () =>
  inDirectory(async (_directory, log, open) => {
    const first = await open();
    await Promise.all([first.note('a', 'vg-1'), first.note('b', 'vg-2')]);
    const second = await open();
    assert.deepEqual(
      [second.get('a'), second.get('b'), second.get('c')],
      [seenIn('vg-1'), seenIn('vg-2'), undefined],
    );
    second.forget('a');
    await second.note('c', 'vg-1');
    const third = await open();
    assert.deepEqual([third.get('a'), third.get('c')], [undefined, seenIn('vg-1')]);
    assert.deepEqual(log, []);
  }));

test('with a group that was removed nothing comes back', () =>
  inDirectory(async (_directory, log, open) => {
    const first = await open();
    await Promise.all([first.note('a', 'vg-1'), first.note('b', 'vg-2')]);
    await first.groupRemoved('vg-1');
    await first.groupRemoved('vg-3');
    for (const each of [first, await open()]) {
      assert.deepEqual(each.get('a'), { vgUuid: 'vg-1', isRemoved: true });
      assert.deepEqual(each.get('b'), seenIn('vg-2'));
    }
    assert.deepEqual(log, []);
  }));

test('what an older version noted is known, and of its groups nothing is said', () =>
  inDirectory(async (directory, _log, open) => {
    await writeFile(join(directory, 'removals.json'), '{"removals":{"a":"vg-1"}}');
    assert.deepEqual((await open()).get('a'), seenIn('vg-1'));
  }));

test('there are never more notes than can be under way', () =>
  inDirectory(async (directory, _log, open) => {
    const removals = await open();
    for (let count = 0; count < 1_005; count += 1) void removals.note(`v${count}`, 'vg');
    await removals.note('last', 'vg');
    assert.equal(removals.get('v0'), undefined);
    assert.deepEqual(removals.get('last'), seenIn('vg'));
    const text = await readFile(join(directory, 'removals.json'), 'utf8');
    const { removals: kept } = JSON.parse(text) as { removals: object };
    assert.equal(Object.keys(kept).length, 1_000);
  }));

test('a file that cannot be read is as good as none, and told', () =>
  inDirectory(async (directory, log, open) => {
    await writeFile(join(directory, 'removals.json'), 'not json');
    const removals = await open();
    assert.equal(removals.get('a'), undefined);
    assert.equal(log.length, 1);
  }));

test('where nothing can be written a removal goes on', () =>
  inDirectory(async (directory, log, open) => {
    const removals = await open();
    await rm(directory, { recursive: true });
    await writeFile(directory, 'a file');
    await removals.note('a', 'vg');
    assert.deepEqual(removals.get('a'), seenIn('vg'));
    assert.equal(log.length, 1);
  }));

test('what could not be written is written when it is noted again', () =>
  inDirectory(async (directory, log, open) => {
    const removals = await open();
    await removals.note('b', 'vg-2');
    await rm(directory, { recursive: true });
    await writeFile(directory, 'a file');
    await removals.note('a', 'vg-1');
    await removals.groupRemoved('vg-2');
    assert.equal(log.length, 2);
    await rm(directory);
    await removals.note('a', 'vg-1');
    assert.deepEqual((await open()).get('a'), seenIn('vg-1'));
    await rm(directory, { recursive: true });
    await writeFile(directory, 'a file');
    await removals.groupRemoved('vg-1');
    await rm(directory);
    await removals.groupRemoved('vg-1');
    for (const id of ['a', 'b']) assert.equal((await open()).get(id)?.isRemoved, true);
  }));
