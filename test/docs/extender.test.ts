import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { extenderUsage } from '../../src/operator/extender-command.ts';

const root = join(import.meta.dirname, '../..');

test('the guide for upgrades has every flag of the extender, and no other', () => {
  const guide = readFileSync(join(root, 'docs/guides/upgrade-from-topolvm.md'), 'utf8');
  const told = [...guide.matchAll(/^\| `(--[a-z-]+)` \|/gm)].map(([, flag = '']) => flag);
  const flags = [...extenderUsage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = '']) => flag);
  assert.deepEqual(told.toSorted(), [...flags, '--help'].toSorted());
});

test('names of ours in the guide are those of the manifests', () => {
  const guide = readFileSync(join(root, 'docs/guides/upgrade-from-topolvm.md'), 'utf8');
  const manifests = readFileSync(join(root, 'deploy/quarry.yaml'), 'utf8');
  for (const name of ['lvms-operator', 'vg-manager']) {
    assert.ok(guide.includes(name) && manifests.includes(`name: ${name}\n`), name);
  }
  const extender = readFileSync(join(root, 'deploy/extender.yaml'), 'utf8');
  assert.ok(guide.includes('quarry-extender') && extender.includes('name: quarry-extender\n'));
});
