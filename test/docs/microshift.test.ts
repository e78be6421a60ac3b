import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { edgeFlags, edgeUsage } from '../../src/cli/edge.ts';
import { defaultLvmd } from '../../src/core/edge/desired.ts';
import { checksumAnnotation, socketAnnotation } from '../../src/core/edge/plan.ts';
import { names } from '../../tools/manifests-settings.ts';
import { surroundings } from '../samples/surroundings.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/guides/microshift.md'), 'utf8');

test('the guide has the flags that there are, with their defaults', () => {
  const flags = [...edgeUsage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = '']) => flag);
  const told = [...page.matchAll(/^\| `(--[a-z-]+)` \|/gm)].map(([, flag = '']) => flag);
  assert.deepEqual(told.toSorted(), [...flags, '--help'].toSorted());
  const { values } = edgeFlags([], surroundings);
  for (const value of Object.values(values)) {
    if (typeof value === 'string') assert.ok(page.includes(`\`${value}\``), value);
  }
});

test('every call of quarry edge in the guide is one', () => {
  const calls = [...page.matchAll(/(?:^|\/|=|exec )(?:\S*\/)?quarry edge ([a-z][^`\n]*)/gm)];
  assert.ok(calls.length >= 3, `${calls.length}`);
  for (const [, words = ''] of calls) {
    const { positionals } = edgeFlags(words.split(' '), surroundings);
    assert.match(positionals.join(' '), /^(apply|health)$/);
  }
});

test('what the guide names is there', () => {
  for (const [, name = ''] of page.matchAll(/`(\w+\.yaml)`(?=.*of `deploy\/microshift`)/g)) {
    assert.ok(existsSync(join(root, 'deploy/microshift', name)), name);
  }
  for (const word of [checksumAnnotation, socketAnnotation, names.agent, names.operator]) {
    assert.ok(page.includes(`\`${word}\``), word);
  }
});

test('the default in the guide is the default', () => {
  const [, block = ''] = /```yaml lvmd\n([\s\S]*?)```/.exec(page) ?? [];
  assert.equal(block.replaceAll(/^ {3}/gm, '').trimEnd(), defaultLvmd('rhel').trimEnd());
});
