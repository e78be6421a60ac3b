import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleDevice } from '../../test/samples/observed.ts';
import type { Verdict } from '../api/lvm-cluster/admission.ts';
import type { LvmCluster } from '../api/objects/lvm-cluster.ts';
import { MiB, times } from '../base/bytes.ts';
import { inventoryAnnotation, inventoryText } from '../core/lvm-cluster/inventory.ts';
import type { Stores } from './duty.ts';
import { judgePaths, judgesOf } from './judges.ts';
import type { LvmsKinds } from './lvm-clusters-kinds.ts';

const namespace = 'quarry-system';
const named = (name: string) => ({ name, namespace, uid: name, resourceVersion: '1' });
const classOf = (name: string) => ({ name, deviceSelector: { paths: [`/dev/${name}`] } });

function clusterOf(name: string, ...classes: readonly string[]) {
  const deviceClasses = classes.map(classOf);
  return { metadata: named(name), spec: { storage: { deviceClasses } } };
}

const claim = {
  metadata: { ...named('data'), namespace: 'default' },
  spec: { storageClassName: 'lvms-vg1' },
};

type Given = {
  readonly clusters?: readonly object[];
  /** As the server has them, when it is asked. */
  readonly newest?: readonly object[];
  readonly claims?: readonly object[];
  readonly nodes?: readonly object[];
  readonly isKnown?: boolean;
};

type Asked = {
  readonly operation: string;
  readonly object?: object;
  readonly oldObject?: object;
  readonly dryRun?: boolean;
};

function judged(
  path: string,
  question: Asked,
  { clusters = [], newest = clusters, claims = [], nodes = [], isKnown = true }: Given = {},
): Verdict {
  const store = (objects: readonly object[] = []) => ({ values: () => objects, hasSynced: true });
  const kind = (objects: readonly object[] = []) => ({ values: () => objects, isKnown });
  const judges = judgesOf({
    stores: {
      ...{ claims: store(claims), volumes: store(), logicalVolumes: store() },
      ...{ nodes: store(nodes), classes: store() },
    } as unknown as Stores,
    kinds: { clusters: kind(clusters), groups: kind(), reports: kind() } as unknown as LvmsKinds,
    ...{ namespace, driver: 'topolvm.io', isMicroShift: () => false },
    newestClusters: () => newest as readonly LvmCluster[],
  });
  const judge = judges.get(path);
  assert.ok(judge !== undefined);
  return judge({ uid: 'q', ...question }) as Verdict;
}

test('nobody is judged by half of what there is', () => {
  const question = { operation: 'CREATE', object: clusterOf('mine', 'vg1') };
  const { isAllowed, message } = judged(judgePaths.cluster, question, { isKnown: false });
  assert.ok(!isAllowed);
  assert.match(message, /clusters, groups, reports have not been read yet: try again/);
});

test('one LVMCluster is taken, and a second one is not', () => {
  const question = { operation: 'CREATE', object: clusterOf('mine', 'vg1') };
  assert.deepEqual(judged(judgePaths.cluster, question).message, '');
  const { message } = judged(judgePaths.cluster, question, { clusters: [clusterOf('old', 'vg0')] });
  assert.match(message, /change old instead: there can be one LVMCluster only/);
});

test('what holds volumes stays, with its classes and their groups', () => {
  const mine = clusterOf('mine', 'vg1', 'vg2');
  const given = { clusters: [mine], claims: [claim] };
  const going = judged(judgePaths.cluster, { operation: 'DELETE', oldObject: mine }, given);
  assert.match(going.message, /mine cannot be deleted: it holds claim default\/data/);
  const smaller = { operation: 'UPDATE', object: clusterOf('mine', 'vg2'), oldObject: mine };
  assert.match(judged(judgePaths.cluster, smaller, given).message, /claim default\/data/);
  const group = { operation: 'DELETE', oldObject: { metadata: named('vg1'), spec: {} } };
  const alone = judged(judgePaths.group, group, given);
  assert.match(alone.message, /take the device class vg1 out of the LVMCluster instead/);
  const left = { metadata: { ...mine.metadata, deletionTimestamp: 'now' }, spec: mine.spec };
  assert.ok(judged(judgePaths.group, group, { clusters: [left] }).isAllowed);
});

test('a group is what the LVMCluster asks for, as the server has it', () => {
  const mine = clusterOf('mine', 'vg1');
  const { deviceSelector } = classOf('vg1');
  const spec = { deviceSelector, default: true };
  const made = (name: string, of: object) => ({
    ...{ operation: 'CREATE', object: { metadata: named(name), spec: of } },
  });
  const known = { clusters: [mine] };
  assert.ok(judged(judgePaths.group, made('vg1', spec), known).isAllowed);
  const greedy = judged(judgePaths.group, made('x', {}), known);
  assert.match(greedy.message, /name is "x": name it as a device class in the LVMCluster mine/);
  const late = { clusters: [], newest: [mine] };
  assert.ok(judged(judgePaths.group, made('vg1', spec), late).isAllowed, 'we had not heard of it');
  const elsewhere = { ...named('x'), namespace: 'openshift-lvm-storage' };
  const theirs = { operation: 'CREATE', object: { metadata: elsewhere, spec: {} } };
  assert.ok(judged(judgePaths.group, theirs, known).isAllowed, 'nobody of ours looks there');
});

test('what is not acted upon may go, whatever bears its names', () => {
  const mine = { ...clusterOf('mine', 'vg1'), metadata: { ...named('mine'), uid: 'a' } };
  const second = { ...clusterOf('second', 'vg1'), metadata: { ...named('second'), uid: 'b' } };
  const given = { clusters: [mine, second], claims: [claim] };
  const going = (oldObject: object) =>
    judged(judgePaths.cluster, { operation: 'DELETE', oldObject }, given).isAllowed;
  assert.deepEqual([going(mine), going(second)], [false, true]);
  const metadata = { ...named('vg1'), namespace: 'elsewhere' };
  assert.ok(going({ ...mine, metadata }));
  const group = { operation: 'DELETE', oldObject: { metadata, spec: {} } };
  assert.ok(judged(judgePaths.group, group, given).isAllowed);
});

test('what is left out is filled in, when it is made', () => {
  const spec = { storage: { deviceClasses: [{ name: 'vg1' }] } };
  const question = { operation: 'CREATE', object: { metadata: named('mine'), spec } };
  const { isAllowed, patch } = judged(judgePaths.fillIn, question, { isKnown: false });
  assert.ok(isAllowed);
  assert.ok(patch.length > 0, JSON.stringify(patch));
});

test('who only asks is told what would happen to which disk, and nobody else is', () => {
  const sizeBytes = times(MiB, 4096);
  const devices = [sampleDevice({ path: '/dev/vg1', sizeBytes })];
  const node = { devices, vgs: [], orphanPvs: [] };
  const text =
    inventoryText({ node, known: new Map(), givenUp: new Set(), wipes: new Map() }) ?? '';
  const annotations = { [inventoryAnnotation]: text };
  const nodes = [{ metadata: { ...named('n1'), annotations } }, { metadata: named('n2') }];
  const question = { operation: 'CREATE', object: clusterOf('mine', 'vg1') };
  const warnings = (dryRun: boolean) =>
    judged(judgePaths.cluster, { ...question, dryRun }, { nodes }).warnings;
  const told = warnings(true).filter((line) => /^n\d: /.test(line));
  assert.deepEqual(told, [
    'n1: would create volume group vg1 on /dev/vg1',
    'n2: its agent has not told of its disks: nothing can be foreseen',
  ]);
  assert.ok(!warnings(false).some((line) => line.startsWith('n1')));
});
