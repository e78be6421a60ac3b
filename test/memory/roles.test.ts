import assert from 'node:assert/strict';
import test from 'node:test';
import { budgets, showMemory } from '../../bench/memory.ts';
import { measureRole, type RoleName } from '../../bench/memory-roles.ts';
import { collections } from '../kube/fake-api-rules.ts';

/** At rest a role writes its leases and what an agent tells of its node, and touches no volume. */
const told: readonly string[] = [collections.leases, collections.nodes, collections.capacities];

for (const role of ['agent', 'all', 'operator'] as const satisfies readonly RoleName[]) {
  test(`quarry ${role} stays within its memory budget`, { timeout: 300_000 }, async (t) => {
    const { volumes, idleRssMiB, idleAnonMiB } = budgets[role];
    const { idle, storm, writes } = await measureRole(role);
    t.diagnostic(`${role}, ${volumes} volumes: ${showMemory(idle)}`);
    assert.deepEqual(
      writes.filter((collection) => !told.includes(collection)),
      [],
      'nobody had anything to do',
    );
    assert.ok(idle.rssMiB <= idleRssMiB, `idle: ${showMemory(idle)}`);
    if (idleAnonMiB !== undefined) assert.ok(idle.anonMiB <= idleAnonMiB, showMemory(idle));
    if (storm === undefined) return;
    t.diagnostic(`${role} in a storm: ${showMemory(storm)}`);
    assert.ok(storm.rssMiB <= budgets.all.stormRssMiB, `in a storm: ${showMemory(storm)}`);
  });
}
