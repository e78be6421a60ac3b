import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { ownProtocols } from '../../src/core/cluster/protocol.ts';
import { agentBuildAnnotation, operatorBuildAnnotation } from '../../src/core/cluster/skew.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/guides/upgrade.md'), 'utf8');

test('the guide says which protocols this version speaks', () => {
  const { newest, oldest } = ownProtocols;
  assert.ok(page.includes(`| ${manifest.version} | ${newest} | ${oldest} |`));
});

test('its commands name the annotations that there are', () => {
  for (const key of [agentBuildAnnotation, operatorBuildAnnotation]) {
    assert.ok(page.includes(key.replace('.', '\\.')), 'where they are shown');
    assert.ok(page.includes(`${key}-`), 'where they are taken off');
  }
});
