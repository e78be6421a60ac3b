import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { lvmsCrds } from '../../../src/api/crds/lvms.ts';
import type { LvmClusterSpec, LvmDeviceClass } from '../../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupSpec } from '../../../src/api/objects/lvm-volume-group.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { type Kind, type KubeObject, metadataShape } from '../../../src/kube/kind.ts';
import {
  lvmClusterKind,
  lvmNodeStatusKind,
  lvmVolumeGroupKind,
} from '../../../src/kube/lvms-kinds.ts';
import { served } from './kinds.ts';
import { adminOf, type Plane, startPlane } from './plane.ts';

/** What a real kube-apiserver makes of our definitions of LVMS' kinds. */

type Crd = KubeObject & {
  readonly status?: {
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly message: string;
    }[];
  };
};

const crdKind: Kind<Crd> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition' },
  ...{ plural: 'customresourcedefinitions', isNamespaced: false },
  shape: {
    metadata: metadataShape,
    status: { conditions: [{ type: true, status: true, message: true }] },
  },
};

const namespace = 'default';
let plane: Plane;
let admin: KubeClient;
let close = () => {};

before(async () => {
  plane = await startPlane();
  ({ admin, close } = adminOf(plane));
  for (const { metadata, spec } of lvmsCrds) await admin.create(crdKind, { metadata, spec });
  await served(admin, lvmClusterKind);
  await served(admin, lvmVolumeGroupKind);
  await served(admin, lvmNodeStatusKind);
});

after(async () => {
  close();
  await plane?.stop();
});

let count = 0;

async function makeClass(changes: Omit<LvmDeviceClass, 'name'>) {
  count += 1;
  const spec = { storage: { deviceClasses: [{ name: 'vg1', ...changes }] } };
  return admin.create(lvmClusterKind, { metadata: { name: `c${count}`, namespace }, spec });
}

const external = { configurationPolicy: 'ExternalConfiguration' } as const;

async function make(spec: LvmClusterSpec | undefined) {
  count += 1;
  return admin.create(lvmClusterKind, { metadata: { name: `c${count}`, namespace }, spec });
}

/** Made one way, then written as a whole. */
async function rewrite(was: LvmClusterSpec | undefined, is: LvmClusterSpec | undefined) {
  const { metadata } = await make(was);
  return admin.update(lvmClusterKind, { metadata, spec: is });
}

async function changeGroup(was: LvmVolumeGroupSpec, is: LvmVolumeGroupSpec) {
  count += 1;
  const group = { metadata: { name: `g${count}`, namespace }, spec: was };
  const { metadata } = await admin.create(lvmVolumeGroupKind, group);
  return admin.update(lvmVolumeGroupKind, { metadata, spec: is });
}

/** Made one way, then changed. */
async function change(
  was: Omit<LvmDeviceClass, 'name'>,
  is: Omit<LvmDeviceClass, 'name'>,
): Promise<unknown> {
  const { metadata } = await makeClass(was);
  const { name } = metadata;
  const spec = { storage: { deviceClasses: [{ name: 'vg1', ...is }] } };
  return admin.patch(lvmClusterKind, { namespace, name }, { type: 'merge', body: { spec } });
}

test('the definitions are taken as they are', async () => {
  for (const { metadata } of lvmsCrds) {
    const { status } = await admin.get(crdKind, { name: metadata.name });
    const bad = (status?.conditions ?? []).filter(
      ({ type, status: is }) =>
        (type === 'Established') !== (is === 'True') && type !== 'NamesAccepted',
    );
    assert.deepEqual(bad, [], metadata.name);
  }
});

test('what is left out is filled in as LVMS does it', async () => {
  const made = await makeClass({ thinPoolConfig: { name: 'pool', overprovisionRatio: 10 } });
  assert.deepEqual(made.spec?.storage?.deviceClasses, [
    {
      name: 'vg1',
      thinPoolConfig: {
        ...{ name: 'pool', overprovisionRatio: 10, sizePercent: 90 },
        ...{ chunkSizeCalculationPolicy: 'Static', metadataSizeCalculationPolicy: 'Host' },
      },
      storageClassOptions: {
        ...{ reclaimPolicy: 'Delete', volumeBindingMode: 'WaitForFirstConsumer' },
        additionalParameters: {},
      },
    },
  ]);
});

test('nothing that may be written gets lost', async () => {
  const matchExpressions = [{ key: 'disk', operator: 'In', values: ['ssd'] }];
  const spec = {
    ...{ default: true, deviceAccessPolicy: 'nodeLocal', deviceDiscoveryPolicy: 'Static' },
    nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] },
    deviceSelector: {
      ...{ paths: ['/dev/a'], optionalPaths: ['/dev/b'] },
      forceWipeDevicesAndDestroyAllData: true,
    },
    raidConfig: { type: 'raid10', mirrors: 1, stripes: 2, stripeSize: '64Ki' },
  } as const;
  const metadata = { name: 'whole', namespace };
  assert.deepEqual((await admin.create(lvmVolumeGroupKind, { metadata, spec })).spec, spec);
  const nodeStatus = [
    {
      ...{ name: 'vg1', status: 'Degraded', reason: 'why', size: '10Gi', free: '5Gi' },
      ...{ warnings: ['soon'], devices: ['/dev/a'], deviceDiscoveryPolicy: 'Preconfigured' },
      excluded: [{ name: '/dev/b', reasons: ['mounted'] }],
      raidStatus: {
        ...{ status: 'Degraded', memberCount: 2, degradedMemberCount: 1, minSyncPercent: 50 },
        lvHealth: [{ name: 'x', raidType: 'raid1', syncPercent: 50, healthStatus: 'partial' }],
      },
    },
  ] as const;
  const report = await admin.create(lvmNodeStatusKind, { metadata, spec: { nodeStatus } });
  assert.deepEqual(report.spec?.nodeStatus, nodeStatus);
  const { metadata: made } = await makeClass({});
  const status = {
    ...{ ready: false, state: 'Degraded' },
    conditions: [
      {
        ...{ type: 'VolumeGroupsReady', status: 'False', reason: 'VGsDegraded', message: 'why' },
        ...{ lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 1 },
      },
    ],
    deviceClassStatuses: [{ name: 'vg1', nodeStatus: [{ node: 'n1', ...nodeStatus[0] }] }],
    drivers: [{ name: 'topolvm.io', nodes: 2, registered: 1, message: 'n2' }],
  };
  const at = { namespace, name: made.name };
  const change = { type: 'merge', body: { status } } as const;
  const told = await admin.patch(lvmClusterKind, at, change, { subresource: 'status' });
  assert.deepEqual(told.status, status);
});

const pool = { name: 'pool', overprovisionRatio: 10 };

const refused: readonly (readonly [string, () => Promise<unknown>, RegExp])[] = [
  ['another file system', () => change({}, { fstype: 'ext4' }), /fstype cannot be changed/],
  [
    'another access policy',
    () => change({ deviceAccessPolicy: 'local' }, { deviceAccessPolicy: 'shared' }),
    /deviceAccessPolicy cannot be changed/,
  ],
  [
    'another raid',
    () => change({ raidConfig: { type: 'raid1' } }, { raidConfig: { type: 'raid5' } }),
    /raidConfig cannot be changed/,
  ],
  [
    'another reclaim policy',
    () => change({}, { storageClassOptions: { reclaimPolicy: 'Retain' } }),
    /reclaimPolicy cannot be changed/,
  ],
  [
    'another binding mode',
    () => change({}, { storageClassOptions: { volumeBindingMode: 'Immediate' } }),
    /volumeBindingMode cannot be changed/,
  ],
  [
    'other parameters',
    () => change({}, { storageClassOptions: { additionalParameters: { a: 'b' } } }),
    /additionalParameters cannot be changed/,
  ],
  [
    'a pool that is too small',
    () => makeClass({ thinPoolConfig: { ...pool, sizePercent: 9 } }),
    /sizePercent: Invalid value/,
  ],
  [
    'a ratio that is too small',
    () => makeClass({ thinPoolConfig: { ...pool, overprovisionRatio: 0 } }),
    /overprovisionRatio: Invalid value/,
  ],
  [
    'a local class out of a shared one',
    () => change({ deviceAccessPolicy: 'shared', fstype: 'xfs' }, { fstype: 'xfs' }),
    /deviceAccessPolicy cannot be changed/,
  ],
  [
    'a shared group out of a local one',
    () => changeGroup({ deviceAccessPolicy: 'nodeLocal' }, { deviceAccessPolicy: 'shared' }),
    /deviceAccessPolicy cannot be changed/,
  ],
  [
    'a thin pool that is shared',
    () => makeClass({ deviceAccessPolicy: 'shared', thinPoolConfig: pool }),
    /a shared device class has no thinPoolConfig/,
  ],
  [
    'another raid of a group',
    () => changeGroup({ raidConfig: { type: 'raid1' } }, { raidConfig: { type: 'raid5' } }),
    /raidConfig cannot be changed/,
  ],
  [
    'classes beside lvmd.yaml of somebody else',
    () => make({ ...external, storage: { deviceClasses: [{ name: 'vg1' }] } }),
    /with configurationPolicy ExternalConfiguration there are no deviceClasses/,
  ],
  [
    'classes in the place of lvmd.yaml',
    () => rewrite(external, { storage: { deviceClasses: [{ name: 'vg1' }] } }),
    /configurationPolicy cannot be changed/,
  ],
  [
    'lvmd.yaml in the place of classes',
    () => rewrite({ storage: { deviceClasses: [{ name: 'vg1' }] } }, external),
    /configurationPolicy cannot be changed/,
  ],
  [
    'a policy that goes',
    () => rewrite(external, undefined),
    /configurationPolicy cannot be changed/,
  ],
  [
    'a word that is none',
    () => makeClass({ deviceDiscoveryPolicy: 'Sometimes' as 'Static' }),
    /Unsupported value: "Sometimes"/,
  ],
  [
    'a group that is thin and on several disks',
    () =>
      admin.create(lvmVolumeGroupKind, {
        metadata: { name: 'both', namespace },
        spec: { thinPoolConfig: pool, raidConfig: { type: 'raid1' } },
      }),
    /raidConfig or thinPoolConfig, not both/,
  ],
];

describe('the API server refuses by itself', () => {
  for (const [name, attempt, message] of refused) {
    test(name, () => assert.rejects(attempt(), { message }));
  }
});

test('other spellings of the same are no change', async () => {
  await change({ fstype: 'xfs' }, {});
  await change({}, { fstype: '' });
  await change({ deviceAccessPolicy: 'local' }, { deviceAccessPolicy: 'nodeLocal' });
  await change({ deviceAccessPolicy: 'nodeLocal' }, {});
  await change({ deviceAccessPolicy: 'shared' }, { deviceAccessPolicy: 'shared', fstype: 'none' });
  await rewrite({ configurationPolicy: 'Managed' }, {});
  await rewrite(undefined, {});
});

test('an LVMCluster that says nothing, as on MicroShift, may say who writes lvmd.yaml', async () => {
  await rewrite(undefined, external);
  await rewrite({}, external);
  await rewrite({ storage: { deviceClasses: [] } }, external);
});

test('a ratio that LVMS took stays as it is', async () => {
  const thinPoolConfig = { ...pool, overprovisionRatio: 200 };
  await change({ thinPoolConfig }, { thinPoolConfig, default: true });
});
