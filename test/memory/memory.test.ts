import assert from 'node:assert/strict';
import test from 'node:test';
import { budget, measureMemory, showMemory } from '../../bench/memory.ts';

test('the driver stays within its memory budget', { timeout: 600_000 }, async (t) => {
  const { idle, afterCalls, soak } = await measureMemory({ soak: true });
  assert.ok(soak !== undefined);
  t.diagnostic(`idle: ${showMemory(idle)}; after ${budget.afterCalls}: ${showMemory(afterCalls)}`);
  t.diagnostic(`${budget.soakFrom} calls: ${showMemory(soak.early)}`);
  t.diagnostic(`${budget.soakTo} calls: ${showMemory(soak.late)}`);
  assert.ok(idle.rssMiB <= budget.idleRssMiB, `idle: ${showMemory(idle)}`);
  assert.ok(idle.anonMiB <= budget.idleAnonMiB, `idle: ${showMemory(idle)}`);
  assert.ok(afterCalls.rssMiB <= budget.afterCallsRssMiB, showMemory(afterCalls));
  const most = soak.early.rssMiB * (1 + budget.soakGrowthPercent / 100);
  assert.ok(soak.late.rssMiB <= most, `${showMemory(soak.early)}, then ${showMemory(soak.late)}`);
});
