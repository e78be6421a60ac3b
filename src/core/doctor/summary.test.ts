import assert from 'node:assert/strict';
import test from 'node:test';
import * as sample from '../../../test/samples/cluster-picture.ts';
import { clusterSummary } from './summary.ts';

const { healthy, image, longAgo } = sample;

test('a cluster is summed up in one order, whatever the order it was read in', () => {
  const summary = clusterSummary(healthy);
  const reversed = Object.fromEntries(
    Object.entries(healthy).map(([key, value]) => [
      key,
      Array.isArray(value) ? value.toReversed() : value,
    ]),
  ) as typeof healthy;
  assert.deepEqual(clusterSummary(reversed), summary);
  assert.deepEqual(
    summary.groups.map(({ node, name }) => `${node}/${name}`),
    ['n1/safe', 'n1/vg1', 'n2/safe', 'n2/vg1'],
  );
  assert.deepEqual(
    summary.pods.map(({ role, name, version }) => `${role} ${name} ${version}`),
    [
      ...['operator lvms-operator-a 0.1.0', 'operator lvms-operator-b 0.1.0'],
      ...['agent vg-manager-1 0.1.0', 'agent vg-manager-2 0.1.0'],
    ],
  );
});

test('every line has the fields that the guide names', () => {
  const { clusters, groups, classes, pods, volumes, ...rest } = clusterSummary(healthy);
  assert.deepEqual(rest, {
    ...{ namespace: 'quarry-system', driver: 'topolvm.io', leader: 'lvms-operator-a', unseen: [] },
  });
  assert.deepEqual(clusters, [
    {
      ...{ namespace: 'quarry-system', name: 'mine', state: 'Ready', isBeingDeleted: false },
      conditions: [],
    },
  ]);
  assert.deepEqual(groups[1], {
    ...{ node: 'n1', name: 'vg1', state: 'Ready', reason: '', size: '100Gi', free: '10Gi' },
    ...{ devices: ['/dev/sdb', '/dev/sdc'], excluded: [sample.systemDisk], warnings: [] },
    raid: undefined,
  });
  assert.deepEqual(classes[1], {
    ...{ name: 'lvms-vg1', deviceClass: 'vg1', isDefault: false, volumes: 1 },
    ...{ bindingMode: 'WaitForFirstConsumer', reclaimPolicy: 'Delete' },
    nodes: ['n1', 'n2'].map((node) => ({ node, available: '10Gi', largest: '10Gi' })),
  });
  assert.deepEqual(pods[0], {
    ...{ role: 'operator', name: 'lvms-operator-a', node: 'n1', isReady: true, restarts: 0 },
    ...{ image, version: '0.1.0', reason: '' },
  });
  assert.deepEqual(volumes, { total: 1, size: '1Gi', snapshots: 0, waiting: [], refused: [] });
});

test('what is not well stands beside its reason', () => {
  const { clusters, pods, volumes } = clusterSummary({
    ...healthy,
    clusters: [sample.lateCluster()],
    pods: [sample.pod('vg-manager-1', 'node', { status: sample.notReady })],
    claims: [sample.claim('idle', { phase: 'Pending' }), sample.claim('new', { phase: 'Pending' })],
    events: [sample.event('new', 'ProvisioningFailed', 'no room')],
    logicalVolumes: [
      sample.logicalVolume('data'),
      sample.logicalVolume('bad', { status: { code: 8, message: 'full' } }),
      sample.logicalVolume('snap', {
        spec: { name: 's', nodeName: 'n1', size: '1Gi', source: 'pv-data', accessType: 'ro' },
      }),
    ],
  });
  assert.deepEqual(clusters[0]?.conditions, [
    {
      ...{ type: 'VolumeGroupsReady', reason: 'VGReadinessInProgress', since: longAgo },
      message: 'vg1 on n1: Progressing',
    },
  ]);
  assert.deepEqual([pods[0]?.isReady, pods[0]?.restarts], [false, 7]);
  assert.match(pods[0]?.reason ?? '', /^CrashLoopBackOff/);
  assert.deepEqual(volumes, {
    ...{ total: 2, size: '2Gi', snapshots: 1 },
    waiting: [
      { namespace: 'default', name: 'idle', reason: '' },
      { namespace: 'default', name: 'new', reason: 'ProvisioningFailed: no room' },
    ],
    refused: [{ namespace: '', name: 'lv-bad', reason: 'full' }],
  });
});
