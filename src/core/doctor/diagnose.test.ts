import assert from 'node:assert/strict';
import test from 'node:test';
import * as sample from '../../../test/samples/cluster-picture.ts';
import { agent, clusters, report, workloads } from '../../../test/samples/doctor-cases.ts';
import {
  condition,
  groups,
  pending,
  snapshot,
  volumes,
} from '../../../test/samples/doctor-cases-volumes.ts';
import type { VolumeSnapshotContent } from '../../api/objects/snapshot.ts';
import { clusterStatus } from '../lvm-cluster/status.ts';
import { diagnose } from './diagnose.ts';
import { findings, showObject } from './finding.ts';
import type { ClusterPicture, Part } from './picture.ts';

const { healthy, justNow } = sample;

test('a cluster that is well has no findings', () => {
  assert.deepEqual(diagnose(healthy), []);
});

const rows = [...workloads, ...clusters, ...groups, ...volumes];

for (const { title, change, found, details, remedy } of rows) {
  test(`${title}: ${found.map(([code]) => code).join(', ')}`, () => {
    const told = diagnose({ ...healthy, ...change });
    assert.deepEqual(
      told.map(({ code, object }) => [code, showObject(object)]),
      found.map(([code, object]) => [code, object]),
    );
    for (const [at, [, , what]] of found.entries()) assert.match(told[at]?.what ?? '', what);
    for (const [at, detail] of (details ?? []).entries()) {
      const text = told[0]?.details[at] ?? '';
      if (typeof detail === 'string') assert.equal(text, detail);
      else assert.match(text, detail);
    }
    if (details?.every((one) => typeof one === 'string')) {
      assert.equal(told[0]?.details.length, details.length);
    }
    if (remedy !== undefined) assert.match(told[0]?.remedy ?? '', remedy);
  });
}

test('there is a case for everything that is looked for', () => {
  const found = new Set(rows.flatMap(({ found: each }) => each.map(([code]) => code)));
  assert.deepEqual([...found].toSorted(), Object.keys(findings).toSorted());
});

function content(status: VolumeSnapshotContent['status']): VolumeSnapshotContent {
  return {
    metadata: sample.meta('content'),
    spec: {
      ...{ driver: 'topolvm.io', deletionPolicy: 'Delete', source: { volumeHandle: 'data' } },
      volumeSnapshotRef: { name: 'nightly', uid: 's' },
    },
    ...(status === undefined ? {} : { status }),
  };
}

function member() {
  const annotations = { 'quarry.io/snapshot-group': 'g1' };
  return snapshot({ metadata: sample.meta('lv-copy', { annotations }) });
}

/** What is under way, or as it should be, and must not be told. */
const silences: readonly (readonly [string, Partial<ClusterPicture>])[] = [
  [
    'a pod that has just been started',
    {
      csiNodes: [sample.csiNode('n1', 'topolvm.io')],
      pods: agent({
        metadata: { ...sample.pod('vg-manager-2', 'node').metadata, creationTimestamp: justNow },
      }),
    },
  ],
  [
    'one process for both roles',
    {
      deployments: [],
      daemonSets: [
        sample.workload('vg-manager', 'node', {
          args: ['all', '--lvm-clusters'],
          status: { desiredNumberScheduled: 2 },
        }),
      ],
      pods: healthy.pods.slice(2),
    },
  ],
  [
    'a group that is being made',
    {
      clusters: [sample.lateCluster('VGReadinessInProgress', justNow)],
      ...report(sample.groupStatus({ status: 'Progressing' }), sample.raidGroup()),
    },
  ],
  ['a claim that waits for its first pod', { claims: pending() }],
  [
    'a claim that is new',
    {
      claims: pending({
        metadata: sample.meta('new', {
          creationTimestamp: justNow,
          annotations: { 'volume.kubernetes.io/selected-node': 'n1' },
        }),
      }),
    },
  ],
  [
    'an LVMCluster that is new',
    {
      clusters: [
        sample.cluster({
          metadata: sample.meta('mine', { creationTimestamp: justNow }),
          status: {},
        }),
      ],
    },
  ],
  [
    'an LVMCluster that goes and holds nothing',
    {
      ...{ claims: [], volumes: [], logicalVolumes: [] },
      clusters: [sample.cluster({ metadata: sample.meta('mine', { deletionTimestamp: justNow }) })],
    },
  ],
  [
    'a condition that a kubelet does not know the driver yet, which is told by itself',
    {
      clusters: [
        sample.cluster({
          status: clusterStatus({
            ...{ cluster: sample.cluster(), nodes: healthy.nodes, reports: healthy.reports },
            ...{ csiNodes: [sample.csiNode('n1')], driver: 'topolvm.io', troubles: [] },
            nowText: justNow,
          }),
        }),
      ],
    },
  ],
  [
    'a volume that is being mirrored',
    condition('vg1/lv-data: its copies are in step for 40 % only'),
  ],
  [
    'a snapshot that a content has',
    {
      logicalVolumes: [...healthy.logicalVolumes, snapshot()],
      snapshotContents: [content({ snapshotHandle: 'uid-lv-copy' })],
    },
  ],
  [
    'a snapshot that is new',
    {
      logicalVolumes: [
        ...healthy.logicalVolumes,
        snapshot({ metadata: sample.meta('lv-copy', { creationTimestamp: justNow }) }),
      ],
    },
  ],
  [
    'a snapshot where their kinds are not served',
    { logicalVolumes: [...healthy.logicalVolumes, snapshot()], servesSnapshots: false },
  ],
  [
    'a snapshot of a group where their kinds are not served',
    { logicalVolumes: [...healthy.logicalVolumes, member()], servesGroupSnapshots: false },
  ],
  [
    'a snapshot of a group that is there',
    {
      logicalVolumes: [...healthy.logicalVolumes, member()],
      groupContents: [
        {
          metadata: sample.meta('group'),
          spec: {
            ...{ driver: 'topolvm.io', deletionPolicy: 'Delete', source: {} },
            volumeGroupSnapshotRef: { name: 'all', uid: 'gs' },
          },
          status: { volumeGroupSnapshotHandle: 'g1' },
        },
      ],
    },
  ],
  ['no webhook', { webhooks: [], endpoints: [] }],
];

for (const [title, change] of silences) {
  test(`nothing is said of ${title}`, () => {
    assert.deepEqual(diagnose({ ...healthy, ...change }), []);
  });
}

test('of what was not seen nothing is said', () => {
  const parts: readonly Part[] = [
    ...(['clusters', 'groups', 'reports', 'nodes', 'csiNodes', 'csiDrivers', 'classes'] as const),
    ...(['claims', 'volumes', 'logicalVolumes', 'capacities', 'deployments'] as const),
    ...(['daemonSets', 'pods', 'webhooks', 'endpoints', 'events'] as const),
    ...(['snapshotContents', 'groupContents'] as const),
  ];
  for (const part of parts) {
    const picture = { ...healthy, [part]: [], unseen: [{ part, message: 'forbidden' }] };
    assert.deepEqual(diagnose(picture), [], part);
  }
});
