import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeOf, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import { decodeLvmdFile } from '../../api/lvmd-file/decode.ts';
import { type ConfigurationView, decideConfiguration } from '../configuration.ts';
import { lvmdDeviceClasses } from '../lvmd.ts';
import type { ObservedVg } from '../observed.ts';
import { externalReport, type LvmdSight } from './external-report.ts';

const file = '/etc/topolvm/lvmd.yaml';
const data = sampleVg({ name: 'data', pvs: [samplePv({ device: '/dev/sdb' })] });

function classesOf(...names: readonly string[]) {
  const lines = names.map(
    (name) => `  - {name: ${name}, volume-group: data, type: thin,\
 thin-pool: {name: ${name}, overprovision-ratio: 1}}`,
  );
  const text = ['device-classes:', ...lines].join('\n');
  const decoded = decodeLvmdFile({ file, text, mayBeEmpty: true });
  assert.ok(decoded.kind === 'lvmd');
  return lvmdDeviceClasses(decoded.spec);
}

const well: LvmdSight = {
  ...{ file, isMissing: false, source: 'file', problems: [], refused: [], retired: [] },
  classes: classesOf('b', 'a'),
};

function told(changes: Partial<LvmdSight>, ...vgs: readonly ObservedVg[]) {
  return externalReport({ ...well, ...changes }, nodeOf([], { vgs }));
}

function words(changes: Partial<LvmdSight>, ...vgs: readonly ObservedVg[]) {
  return told(changes, ...vgs).map(({ name, status, reason }) =>
    [name, status, ...(reason === undefined ? [] : [reason])].join(' '),
  );
}

test('classes are told in one order, with their groups, and the file is not when it is well', () => {
  const [a, b, ...more] = told({}, data);
  assert.deepEqual(more, []);
  assert.deepEqual([a?.name, b?.name], ['a', 'b']);
  assert.deepEqual(
    [a?.status, a?.devices, a?.deviceDiscoveryPolicy],
    ['Ready', ['/dev/sdb'], 'Preconfigured'],
  );
  assert.match(a?.size ?? '', /^\d+[KMG]i$/);
  assert.match(a?.free ?? '', /^\d+[KMG]i$/);
});

test('without a file a node is Failed, by the path that was looked at', () => {
  assert.deepEqual(words({ isMissing: true, classes: [] }), [
    `${file} Failed there is no such file: write it, it says what this node has`,
  ]);
  const [first, ...others] = words({ isMissing: true, source: 'last-good' }, data);
  assert.match(first ?? '', /Failed there is no such file, and what it said last stays in force/);
  assert.deepEqual(others, ['a Ready', 'b Ready']);
});

test('a file without classes fails the node, too', () => {
  assert.deepEqual(words({ classes: [] }), [
    `${file} Failed it has no device class: list at least one`,
  ]);
});

test('a file that is not in force is told with all that is wrong in it', () => {
  const problems = ['lvmd.yaml:3: x is 1: write 2', 'lvmd.yaml:4: y is 1: write 2'];
  const [first] = words({ source: 'last-good', problems }, data);
  const faults = problems.join('; ');
  assert.equal(first, `${file} Degraded it is not in force, and what it said last is: ${faults}`);
  const [part] = words({ source: 'sound-part', problems }, data);
  assert.match(part ?? '', /^\S+ Degraded only its classes without a fault are in force: /);
});

test('a class without its group is Failed, and one that lacks something is Degraded', () => {
  const refused = [{ name: 'a', reason: 'there is no thin pool data/a' }];
  assert.deepEqual(words({ refused }, data), [
    'a Degraded there is no thin pool data/a',
    'b Ready',
  ]);
  assert.deepEqual(words({}), [
    'a Failed there is no volume group data',
    'b Failed there is no volume group data',
  ]);
  const lost = sampleVg({ ...data, pvs: [samplePv({ device: '[unknown]', isMissing: true })] });
  assert.match(words({}, lost)[0] ?? '', /^a Degraded a device of data is missing/);
});

test('what the administrator took out of the file is no fault', () => {
  const refused = [{ name: 'a', reason: 'it is no longer in lvmd.yaml' }];
  const [a] = told({ refused, retired: ['a'] }, data);
  assert.equal(a?.status, 'Ready');
  assert.deepEqual(a?.warnings, ['it is no longer in lvmd.yaml']);
});

test('a name that no class can have stands for the file', () => {
  const text = `device-classes: [{name: ${file}, volume-group: data}]`;
  const view: ConfigurationView = {
    ...{ file, decoded: decodeLvmdFile({ file, text }), last: undefined, mounts: [] },
    ...{ host: nodeOf([], { vgs: [data] }), isServing: false },
  };
  assert.equal(decideConfiguration(view).kind, 'refuse');
});
