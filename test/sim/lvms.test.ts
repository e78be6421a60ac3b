import assert from 'node:assert/strict';
import test from 'node:test';
import { simulateLvms } from './lvms.ts';
import { lvmsStoryOf } from './lvms-story.ts';

const seeds = Number(process.env['SEEDS'] ?? 20);

test(`no violation in ${seeds} random LVMClusters`, { timeout: 6_000 * seeds }, async (t) => {
  let [claims, requests, commands] = [0, 0, 0];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const verdict = await simulateLvms(lvmsStoryOf(seed));
    const how = `replay it with make sim-lvms SEED=${seed}`;
    assert.deepEqual(verdict.violations, [], `SEED=${seed}: ${how}`);
    claims += verdict.claims;
    requests += verdict.requests;
    commands += verdict.commands;
  }
  t.diagnostic(
    `${seeds} LVMClusters, ${claims} claims, ${requests} requests, ${commands} commands`,
  );
});

test('a seed tells the same story of an LVMCluster twice, to the last request', async () => {
  const [first, second] = [await simulateLvms(lvmsStoryOf(5)), await simulateLvms(lvmsStoryOf(5))];
  assert.deepEqual(first, second);
  assert.ok(first.requests > 100);
});
