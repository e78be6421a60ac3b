import assert from 'node:assert/strict';
import test from 'node:test';
import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import { showFinding } from '../../src/api/lvmd-file/findings.ts';
import type { LvmdDeviceClass, LvmdSpec } from '../../src/api/lvmd-file/spec.ts';
import { bytes, GiB, times } from '../../src/base/bytes.ts';

/** Tables of lvmd.yaml files: what each is read as, and every word that is said about it. */

const file = 'lvmd.yaml';

/** A title, a file, and what is told about it, each without the name of the file. */
export type TellingRow = readonly [title: string, text: string, ...told: string[]];

export function refusesEach(rows: readonly TellingRow[]): void {
  for (const [title, text, ...told] of rows) {
    test(`lvmd.yaml: refuses ${title}`, () => {
      const decoded = decodeLvmdFile({ file, text });
      assert.ok(decoded.kind === 'problems', 'the mistake was not found');
      assert.deepEqual(decoded.problems.map(showFinding), told.map(inFile));
    });
  }
}

export function warnsOfEach(rows: readonly TellingRow[]): void {
  for (const [title, text, ...told] of rows) {
    test(`lvmd.yaml: warns of ${title}, and goes on`, () => {
      const decoded = decodeLvmdFile({ file, text });
      const problems = decoded.kind === 'problems' ? decoded.problems.map(showFinding) : [];
      assert.deepEqual(problems, []);
      assert.deepEqual(decoded.warnings.map(showFinding), told.map(inFile));
    });
  }
}

/** A file that is read in silence. */
export function readSilently(text: string): LvmdSpec {
  const decoded = decodeLvmdFile({ file, text });
  const problems = decoded.kind === 'problems' ? decoded.problems : [];
  assert.deepEqual([...problems, ...decoded.warnings].map(showFinding), []);
  assert.ok(decoded.kind === 'lvmd');
  return decoded.spec;
}

/** A good file of one class; the lines given come on line 4 and after it. */
export function oneClass(...lines: readonly string[]): string {
  const all = ['- name: ssd', '  volume-group: vg1', ...lines.map((line) => `  ${line}`)];
  return ['device-classes:', ...all, ''].join('\n');
}

export function thinClass(...lines: readonly string[]): string {
  return oneClass('type: thin', 'thin-pool:', ...lines.map((line) => `  ${line}`));
}

export const plainClass: LvmdDeviceClass = {
  name: 'ssd',
  volumeGroup: 'vg1',
  isDefault: false,
  spareBytes: times(GiB, 10),
  target: { kind: 'thick' },
  lvcreateOptions: [],
  overheadFactor: 1,
};

export const plainSpec: LvmdSpec = {
  socketName: '/run/topolvm/lvmd.sock',
  lvmCommandPrefix: [],
  deviceClasses: [plainClass],
  lvcreateOptionClasses: [],
};

export const kib = (count: number) => bytes(BigInt(count) * 1024n);

function inFile(told: string): string {
  return `${file}:${told}`;
}
