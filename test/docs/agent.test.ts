import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { agentUsage } from '../../src/agent/agent-arguments.ts';
import { agentLimits } from '../../src/agent/limits.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/guides/agent.md'), 'utf8');

test('the guide of the agent has the flags that there are, with their defaults', () => {
  const flags = [...agentUsage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = '']) => flag);
  const told = [...page.matchAll(/^\| `(--[a-z-]+)` \|/gm)].map(([, flag = '']) => flag);
  assert.deepEqual(told.toSorted(), [...flags, '--help'].toSorted());
  for (const [, value = ''] of agentUsage.matchAll(/\(default (\/?[\w./:-]+)\)/g)) {
    assert.ok(page.includes(`\`${value}\``), value);
  }
});

test('the times in the guide are those of the code', () => {
  assert.ok(page.includes(`has ${agentLimits.stopGraceMs / 1000} seconds to end`));
  assert.equal(agentLimits.nodeWriteMs, 60_000);
  assert.equal(agentLimits.retryLongestMs, 60_000);
});
