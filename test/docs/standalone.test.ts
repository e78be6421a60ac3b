import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { usage } from '../../src/agent/arguments.ts';
import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import { showFinding } from '../../src/api/lvmd-file/findings.ts';
import { decideConfiguration } from '../../src/core/configuration.ts';
import { hostOf, sampleVg } from '../samples/observed.ts';

const root = join(import.meta.dirname, '../..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const page = read('docs/guides/standalone.md');

/** The first cells of the table whose head begins with this word. */
function firstCells(head: string): readonly string[] {
  const [, table = ''] = page.split(`| ${head} |`);
  const [rows = ''] = table.split('\n\n');
  return [...rows.matchAll(/^\| `([^`]+)` \|/gm)].map(([, cell = '']) => cell).toSorted();
}

test('the guide has the flags that there are, with their defaults', () => {
  const flags = [...usage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = '']) => flag);
  assert.deepEqual(firstCells('flag'), [...flags, '--help'].toSorted());
  for (const [, value = ''] of usage.matchAll(/\(default (\/?[\w./:-]+)\)/g)) {
    assert.ok(page.includes(`\`${value}\``), value);
  }
});

test('the guide has every metric', () => {
  const source = read('src/agent/metrics.ts');
  const named = [...source.matchAll(/'((?:quarry|topolvm|process)_\w+)'/g)].map(
    ([, name = '']) => name,
  );
  const raid = [...source.matchAll(/family\('(\w+)'/g)].map(([, name]) => `lvms_raid_${name}`);
  assert.deepEqual(firstCells('metric'), [...named, ...raid].toSorted());
});

test('the refusal in the guide is what is said', () => {
  const file = '/etc/topolvm/lvmd.yaml';
  const text = 'device-classes:\n- name: ssd\n  volume-group: ssd-vg\n  spare-gb: "10"\n';
  const decision = decideConfiguration({
    ...{ file, decoded: decodeLvmdFile({ file, text }), last: undefined, mounts: [] },
    ...{ host: hostOf(sampleVg({ name: 'data' })), isServing: false },
  });
  for (const problem of decision.problems) assert.ok(page.includes(`  ${showFinding(problem)}\n`));
  assert.equal(decision.problems.length, 2);
});
