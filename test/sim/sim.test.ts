import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import { mutants } from './mutants/list.ts';
import { shrink } from './shrink.ts';
import { simulate } from './simulate.ts';
import { storyOf } from './story.ts';

const seeds = 100;

test(`no violation in ${seeds} random worlds`, { timeout: 120_000 }, async (t) => {
  let commands = 0;
  let lives = 0;
  for (let seed = 1; seed <= seeds; seed += 1) {
    const verdict = await simulate(storyOf(seed));
    assert.deepEqual(verdict.violations, [], `SEED=${seed}: replay it with make sim SEED=${seed}`);
    commands += verdict.commands;
    lives += verdict.lives;
  }
  t.diagnostic(`${seeds} worlds, ${commands} commands, ${lives} lives`);
});

test('a seed tells the same story twice, to the last command', async () => {
  const [first, second] = [await simulate(storyOf(5)), await simulate(storyOf(5))];
  assert.deepEqual(first, second);
});

test('a planted bug gives a seed, and the seed shows it again', { timeout: 60_000 }, async () => {
  const index = mutants.findIndex(({ name }) => name === 'activation is forgotten');
  const hunt = async () => {
    const args = ['--import', join(import.meta.dirname, 'mutants/mutate.ts')];
    const script = join(import.meta.dirname, 'mutants/hunt.ts');
    const env = { ...process.env, QUARRY_MUTANT: String(index) };
    const run = promisify(execFile);
    return (await run(process.execPath, [...args, script, '200'], { env })).stdout;
  };
  const found = JSON.parse(await hunt()) as { seed?: number; violation?: string };
  assert.ok(found.seed !== undefined, 'the bug must be found');
  assert.match(found.violation ?? '', /inactive/);
  assert.deepEqual(JSON.parse(await hunt()), found);
});

test('every mutant changes what is in the code today', () => {
  for (const { name, edits } of mutants) {
    for (const { file, find } of edits) {
      const code = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
      assert.equal(code.split(find).length, 2, `${name}: "${find}" must stand once in ${file}`);
    }
  }
});

test('a story is made shorter only as long as it still goes wrong', async () => {
  const story = storyOf(3);
  // Somebody deletes a disk's worth of rules: a world without its foreign group is always wrong.
  const broken = { ...story, foreign: ['/dev/sda', ...story.foreign.slice(1)] };
  const short = await shrink(broken);
  assert.ok((await simulate(short)).violations.length > 0);
  assert.ok(short.events.length < story.events.length);
});
