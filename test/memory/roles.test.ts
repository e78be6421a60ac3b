import assert from 'node:assert/strict';
import test from 'node:test';
import { budgets, showMemory } from '../../bench/memory.ts';
import { measureRole } from '../../bench/memory-roles.ts';
import type { RoleName } from '../../bench/role-process.ts';
import { collections } from '../kube/fake-api-rules.ts';

/** At rest a role writes its leases and what an agent tells of its node, and touches no volume. */
function told(hasLvms: boolean): readonly string[] {
  const { leases, nodes, capacities, secrets } = collections;
  // The webhook's certificate is made at the first start.
  return [leases, nodes, capacities, ...(hasLvms ? [secrets] : [])];
}

/** What each role watches at least, once it has read everything. */
const kinds = { agent: 4, all: 11, operator: 7 } as const;

const cases = (['agent', 'all', 'operator'] as const satisfies readonly RoleName[]).flatMap(
  (role) => [false, true].map((hasLvms) => ({ role, hasLvms })),
);

for (const { role, hasLvms } of cases) {
  const what = hasLvms ? `${role} with LVMClusters` : role;
  test(`quarry ${what} stays within its budget`, { timeout: 300_000 }, async (t) => {
    const { volumes, idleRssMiB, idleAnonMiB, idleMillicores: mostMillicores } = budgets[role];
    const { idle, idleMillicores, storm, writes, watches } = await measureRole(role, hasLvms);
    t.diagnostic(`${what}, ${volumes} volumes: ${showMemory(idle)}`);
    t.diagnostic(`${what}, idle: ${idleMillicores.toFixed(1)} millicores`);
    assert.ok(watches >= kinds[role], `it hears of ${watches} kinds`);
    assert.deepEqual(
      writes.filter((collection) => !told(hasLvms).includes(collection)),
      [],
      'nobody had anything to do',
    );
    assert.ok(idle.rssMiB <= idleRssMiB, `idle: ${showMemory(idle)}`);
    assert.ok(idle.anonMiB <= idleAnonMiB, `idle: ${showMemory(idle)}`);
    assert.ok(idleMillicores <= mostMillicores, `idle: ${idleMillicores} millicores`);
    if (storm === undefined) return;
    t.diagnostic(`${what} in a storm: ${showMemory(storm)}`);
    assert.ok(storm.rssMiB <= budgets.all.stormRssMiB, `in a storm: ${showMemory(storm)}`);
  });
}
