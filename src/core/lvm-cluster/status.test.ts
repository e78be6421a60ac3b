import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  LvmCluster,
  LvmClusterStatus,
  LvmDeviceClass,
} from '../../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../../api/objects/lvm-volume-group.ts';
import type { CsiNode, Node } from '../../api/objects/storage.ts';
import { type ClusterSight, clusterStatus } from './status.ts';

function metadata(name: string) {
  return { name, uid: name, resourceVersion: '1' };
}

function cluster(classes: readonly LvmDeviceClass[], status: LvmClusterStatus = {}): LvmCluster {
  return { metadata: metadata('mine'), spec: { storage: { deviceClasses: classes } }, status };
}

function node(name: string, labels: Readonly<Record<string, string>> = {}): Node {
  return { metadata: { ...metadata(name), labels } };
}

function report(
  name: string,
  ...groups: readonly Partial<LvmVolumeGroupStatus>[]
): LvmVolumeGroupNodeStatus {
  const nodeStatus = groups.map(
    (group): LvmVolumeGroupStatus => ({
      ...{ name: 'vg1', status: 'Ready', deviceDiscoveryPolicy: 'Preconfigured' },
      ...group,
    }),
  );
  return { metadata: metadata(name), spec: { nodeStatus } };
}

function csiNode(name: string, driver = 'topolvm.io'): CsiNode {
  return { metadata: metadata(name), spec: { drivers: [{ name: driver, nodeID: name }] } };
}

const well: ClusterSight = {
  cluster: cluster([{ name: 'vg1' }]),
  nodes: [node('n1'), node('n2')],
  reports: [report('n1', {}), report('n2', {})],
  csiNodes: [csiNode('n1'), csiNode('n2')],
  driver: 'topolvm.io',
  troubles: [],
  nowText: '2026-01-01T00:00:00Z',
};

/** State, then reason and message of each condition that does not hold. */
function told(changes: Partial<ClusterSight>): readonly (string | undefined)[] {
  const { state, conditions = [] } = clusterStatus({ ...well, ...changes });
  const bad = conditions.filter(({ status }) => status === 'False');
  return [state, ...bad.map(({ reason, message }) => `${reason}: ${message}`)];
}

test('a cluster that is well is Ready', () => {
  const status = clusterStatus(well);
  assert.deepEqual(status, {
    ready: true,
    state: 'Ready',
    conditions: [
      {
        type: 'ResourcesAvailable',
        ...{ status: 'True', reason: 'ResourcesAvailable', message: 'all that it needs is there' },
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'VolumeGroupsReady',
        ...{ status: 'True', reason: 'VGsReady', message: 'all volume groups are ready' },
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
    deviceClassStatuses: [
      {
        name: 'vg1',
        nodeStatus: ['n1', 'n2'].map((name) => ({
          ...{ node: name, name: 'vg1', status: 'Ready', deviceDiscoveryPolicy: 'Preconfigured' },
        })),
      },
    ],
    drivers: [{ name: 'topolvm.io', nodes: 2, registered: 2 }],
  });
});

test('nothing changes by itself: neither order nor times', () => {
  const first = clusterStatus(well);
  const later = clusterStatus({
    ...well,
    cluster: cluster([{ name: 'vg1' }], first),
    nodes: well.nodes.toReversed(),
    reports: well.reports.toReversed(),
    nowText: '2026-01-02T00:00:00Z',
  });
  assert.deepEqual(later, first);
});

test('of one that goes every group that is left says why, and no class says what it lacks', () => {
  const { metadata: named, ...rest } = cluster([{ name: 'vg1' }, { name: 'vg2' }]);
  const going = { ...rest, metadata: { ...named, deletionTimestamp: 'now' } };
  const stays = { name: 'vg0', status: 'Degraded', reason: 'VolumeGroupNotEmpty: it holds x' };
  const reports = [report('n2', { name: 'vg1' }, stays), report('n1', stays)];
  assert.deepEqual(told({ cluster: going, reports }), [
    'Degraded',
    'VGsDegraded: vg0 on n1: VolumeGroupNotEmpty: it holds x\n' +
      'vg0 on n2: VolumeGroupNotEmpty: it holds x',
  ]);
  assert.deepEqual(
    told({ cluster: going }),
    ['Ready'],
    'volumes are in the way, and told elsewhere',
  );
  const gone = [report('n1'), report('n2')];
  assert.deepEqual(told({ cluster: going, reports: gone }), [
    'Progressing',
    'VGReadinessInProgress: no volume group is left',
  ]);
});

test('the worst group says how the cluster is', () => {
  const groups = (one: Partial<LvmVolumeGroupStatus>, other: Partial<LvmVolumeGroupStatus>) =>
    told({ reports: [report('n1', one), report('n2', other)] });
  const failed = { status: 'Failed', reason: 'DeviceNotFound: no /dev/sdb' };
  const degraded = { status: 'Degraded', reason: 'VolumeGroupPartial: one is missing' };
  const few = { status: 'Degraded', reason: 'LayoutNeedsDevices: raid1 needs 2 devices' };
  const going = { status: 'Progressing' };
  assert.deepEqual(groups(degraded, failed), [
    'Failed',
    'VGsFailed: vg1 on n2: DeviceNotFound: no /dev/sdb',
  ]);
  assert.deepEqual(groups(degraded, going), [
    'Degraded',
    'VGsDegraded: vg1 on n1: VolumeGroupPartial: one is missing',
  ]);
  assert.deepEqual(groups({}, few), [
    'Degraded',
    'VGsDegraded: vg1 on n2: LayoutNeedsDevices: raid1 needs 2 devices',
  ]);
  assert.deepEqual(groups({}, going), [
    'Progressing',
    'VGReadinessInProgress: vg1 on n2: Progressing',
  ]);
  assert.deepEqual(told({ reports: [report('n1', {})] }), [
    'Progressing',
    'VGReadinessInProgress: vg1 on n2: its agent has not told of it yet',
  ]);
});

test('a class that no node is meant by is not Ready', () => {
  const matchExpressions = [{ key: 'disk', operator: 'Exists' }];
  const nodeSelector = { nodeSelectorTerms: [{ matchExpressions }] };
  const [state, text] = told({ cluster: cluster([{ name: 'vg1', nodeSelector }]) });
  assert.equal(state, 'Progressing');
  assert.match(text ?? '', /^VGReadinessInProgress: vg1: no node is meant/);
  const labelled = {
    nodes: [node('n1', { disk: 'ssd' }), node('n2')],
    reports: [report('n1', {})],
  };
  assert.deepEqual(told({ cluster: cluster([{ name: 'vg1', nodeSelector }]), ...labelled }), [
    'Ready',
  ]);
});

test('what could not be made is told', () => {
  assert.deepEqual(told({ troubles: ['StorageClass lvms-vg1: forbidden', 'more'] }), [
    'Progressing',
    'ResourcesSyncIncomplete: StorageClass lvms-vg1: forbidden\nmore',
  ]);
  assert.deepEqual(told({ troubles: undefined }), [
    'Progressing',
    'ReconciliationInProgress: what the LVMCluster needs is being made',
  ]);
});

test('without classes the groups are their administrator’s', () => {
  const { state, conditions = [] } = clusterStatus({ ...well, cluster: cluster([]) });
  assert.equal(state, 'Ready');
  assert.deepEqual(
    conditions.map(({ reason }) => reason),
    ['ResourcesAvailable', 'VGsUnmanaged'],
  );
});

test('without classes a node is as well as its lvmd.yaml, and unknown before it told of it', () => {
  const file = '/etc/topolvm/lvmd.yaml';
  const external = (...reports: readonly LvmVolumeGroupNodeStatus[]) =>
    told({ cluster: cluster([]), reports });
  const missing = report('n2', { name: file, status: 'Failed', reason: 'there is no such file' });
  assert.deepEqual(external(report('n1', {}), missing), [
    'Failed',
    `VGsFailed: ${file} on n2: there is no such file`,
  ]);
  const faulty = report('n2', { name: file, status: 'Degraded', reason: 'line 3' }, {});
  assert.deepEqual(external(report('n1', {}), faulty), [
    'Degraded',
    `VGsDegraded: ${file} on n2: line 3`,
  ]);
  for (const silent of [[], [report('n2')]]) {
    assert.deepEqual(external(report('n1', {}), ...silent), [
      'Progressing',
      'VGReadinessInProgress: n2: its agent has not told of its lvmd.yaml yet; \
it needs --lvm-clusters',
    ]);
  }
});

test('a driver tells which nodes do not have it', () => {
  const { drivers } = clusterStatus({ ...well, csiNodes: [csiNode('n1'), csiNode('n2', 'other')] });
  const message = 'kubelet of n2 does not know it yet';
  assert.deepEqual(drivers, [{ name: 'topolvm.io', nodes: 2, registered: 1, message }]);
});

test('it is not Ready before every kubelet knows the driver', () => {
  const csiNodes = [csiNode('n1'), csiNode('n2', 'other')];
  assert.deepEqual(told({ csiNodes }), [
    'Progressing',
    'ResourcesSyncIncomplete: topolvm.io: kubelet of n2 does not know it yet',
    'VGReadinessInProgress: vg1 on n2: kubelet does not know topolvm.io yet',
  ]);
  assert.deepEqual(told({ csiNodes: [], cluster: cluster([]), reports: [] }).slice(0, 2), [
    'Progressing',
    'ResourcesSyncIncomplete: topolvm.io: kubelet of n1 and n2 does not know it yet',
  ]);
  const going = [report('n1', {}), report('n2', { status: 'Failed', reason: 'no disk' })];
  assert.equal(told({ csiNodes, reports: going })[2], 'VGsFailed: vg1 on n2: no disk');
});

test('messages stay short enough to be written', () => {
  const nodes = Array.from({ length: 500 }, (_, at) => node(`n${at}`));
  const reason = 'x'.repeat(5_000);
  const reports = nodes.map(({ metadata: { name } }) => report(name, { status: 'Failed', reason }));
  const troubles = Array.from({ length: 500 }, () => reason);
  const csiNodes = nodes.map(({ metadata: { name } }) => csiNode(name));
  const { conditions = [] } = clusterStatus({ ...well, nodes, reports, csiNodes, troubles });
  for (const { message } of conditions) {
    assert.ok(message.length < 32_768, `${message.length}`);
    assert.match(message, /and 480 more$/);
  }
});
