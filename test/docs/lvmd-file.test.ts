import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import { showFinding } from '../../src/api/lvmd-file/findings.ts';
import { readSilently } from '../samples/lvmd-files.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/guides/lvmd-file.md'), 'utf8');

test('the lvmd.yaml of the guide is read in silence', () => {
  const [, text = ''] = /^```yaml lvmd\n([\s\S]*?)^```$/m.exec(page) ?? [];
  assert.deepEqual(
    readSilently(text).deviceClasses.map(({ name }) => name),
    ['ssd', 'ssd-thin', 'safe'],
  );
});

test('the errors of the guide are what is said', () => {
  const text = `device-classes:
- name: ssd
  volume-group: ssd vg
  spare-gb: "10"
  strip: 2
- name: thin
  volume-group: vg1
  thin-pool: {name: pool0, overprovision-ratio: 0.5}
  type: thin
`;
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text });
  assert.ok(decoded.kind === 'problems');
  const block = (findings: typeof decoded.problems) =>
    ['```', ...findings.map(showFinding), '```'].join('\n');
  assert.ok(page.includes(block(decoded.problems)), block(decoded.problems));
  assert.ok(page.includes(block(decoded.warnings)), block(decoded.warnings));
});
