import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Lab } from '../lab.ts';
import { type TrialLab, umlVerdict } from '../self-test.ts';

/** A lab whose guests never come up. */
const start = (): Promise<Lab> => Promise.reject(new Error('no guest came up'));

test('what cannot be set up says nothing of the machine, and is tried again', async () => {
  await inOwnCache(async (kept) => {
    const setUp = () => Promise.reject(new Error('apt is busy'));
    await assert.rejects(verdictOf({ setUp, start }), /apt is busy/);
    assert.deepEqual(await kept(), []);
  });
});

test('a guest that never comes up is a verdict, which is kept', async () => {
  await inOwnCache(async (kept) => {
    const verdict = await verdictOf({ setUp: () => Promise.resolve(), start });
    assert.equal(verdict.works, false);
    assert.match(verdict.reason, /no guest came up/);
    assert.deepEqual(await kept(), [verdict.keptIn]);
  });
});

function verdictOf(lab: TrialLab): ReturnType<typeof umlVerdict> {
  return umlVerdict('of-this-test', lab);
}

async function inOwnCache(
  story: (kept: () => Promise<readonly string[]>) => Promise<void>,
): Promise<void> {
  const before = process.env['XDG_CACHE_HOME'];
  const directory = await mkdtemp(join(tmpdir(), 'quarry-verdict-'));
  process.env['XDG_CACHE_HOME'] = directory;
  const cache = join(directory, 'quarry');
  try {
    await story(async () => (await readdir(cache)).map((name) => join(cache, name)));
  } finally {
    if (before === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = before;
    await rm(directory, { recursive: true });
  }
}
