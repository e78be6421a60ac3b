import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { simulateCluster } from './cluster.ts';
import { clusterMutants } from './cluster-mutants-list.ts';
import { clusterStoryOf } from './cluster-story.ts';

const seeds = Number(process.env['SEEDS'] ?? 40);

test(`no violation in ${seeds} random clusters`, { timeout: 6_000 * seeds }, async (t) => {
  let [claims, requests, commands] = [0, 0, 0];
  for (let seed = 1; seed <= seeds; seed += 1) {
    const verdict = await simulateCluster(clusterStoryOf(seed));
    const how = `replay it with node test/sim/cluster-main.ts --seed ${seed}`;
    assert.deepEqual(verdict.violations, [], `SEED=${seed}: ${how}`);
    claims += verdict.claims;
    requests += verdict.requests;
    commands += verdict.commands;
  }
  t.diagnostic(`${seeds} clusters, ${claims} claims, ${requests} requests, ${commands} commands`);
});

test('a seed tells the same story of a cluster twice, to the last request', async () => {
  const [first, second] = [
    await simulateCluster(clusterStoryOf(8)),
    await simulateCluster(clusterStoryOf(8)),
  ];
  assert.deepEqual(first, second);
  assert.ok(first.requests > 100);
});

test('every broken role changes what is in the code today', () => {
  for (const { name, edits } of clusterMutants) {
    for (const { file, find } of edits) {
      const code = readFileSync(join(import.meta.dirname, '../..', file), 'utf8');
      assert.equal(code.split(find).length, 2, `${name}: "${find}" must stand once in ${file}`);
    }
  }
});
