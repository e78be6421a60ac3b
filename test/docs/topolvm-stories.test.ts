import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

/** The page of TopoLVM's stories against ours: a story that is gone would be missed by nobody. */
const root = join(import.meta.dirname, '../..');
const page = 'docs/reference/topolvm-stories.md';

/** What TopoLVM's own suite tries, context by context. It is fixed: the page has to have it all. */
const scenarios = [
  'scheduling: enough room',
  'scheduling: not enough room',
  'scheduling: room in another class only',
  "metrics: kubelet's, of a volume",
  'metrics: of volume groups',
  "metrics: ports of the node's sidecars",
  "metrics: ports of the controller's sidecars",
  'metrics: port of lvmd',
  'mount options of a StorageClass',
  'ReadWriteOncePod',
  'mounted at its path: xfs',
  'mounted at its path: btrfs',
  'smallest size: xfs',
  'smallest size: btrfs',
  'generic ephemeral volume',
  'VolumeConditionAbnormal on a failing device',
  'block device',
  'block device: smallest size',
  'Immediate: the node with most room',
  'Immediate: the pod follows',
  'placement by topolvm-scheduler',
  'growth with its pod: xfs',
  'growth with its pod: btrfs',
  'growth without a pod: xfs',
  'growth without a pod: btrfs',
  "growth after the node's pod was started anew",
  'growth over what there is: xfs',
  'growth over what there is: btrfs',
  'growth of a block device',
  'multiple-vg: the class is honoured',
  'multiple-vg: a class that nobody has',
  'multiple-vg: the default class',
  'lvcreate-options: by device class',
  'lvcreate-options: by option class',
  'thin: a volume',
  'thin: more than the pool has',
  'thin: the limit of that',
  'restore: equal size',
  'restore: larger',
  'restore: independent, xfs',
  'restore: independent, btrfs',
  'clone',
  'clone: independent',
  '`status.currentSize`: set',
  '`status.currentSize`: set again when it is missing',
  '`status.currentSize`: rounded',
  'a claim with an empty StorageClass',
  'csi-sanity: thick',
  'csi-sanity: thin',
] as const;

type Row = { readonly scenario: string; readonly cell: string };

function rows(): readonly Row[] {
  const text = readFileSync(join(root, page), 'utf8');
  const [, , ...found] = [...text.matchAll(/^\| ?(.*?) ?\| ?(.*?) ?\|$/gm)];
  return found.map(([, scenario = '', cell = '']) => ({ scenario, cell }));
}

test('every scenario of TopoLVM has its row, and no row has another', () => {
  assert.deepEqual(
    rows().map(({ scenario }) => scenario),
    scenarios,
  );
});

test('every row names a story that is told, or says why there is none', () => {
  const wrong = rows().filter(({ cell }) => {
    const [, name, file] = /^\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\)$/.exec(cell) ?? [];
    if (name === undefined || file === undefined) return !/^dropped( here)?: \S.{20,}$/.test(cell);
    const text = readFileSync(join(root, file), 'utf8');
    return ![`  '${name}': `, `  test('${name}', `].some((line) => text.includes(line));
  });
  assert.deepEqual(wrong, []);
});
