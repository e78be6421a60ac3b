import assert from 'node:assert/strict';
import { test } from 'node:test';
import { extents, sampleDevice, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import type { LvmCluster, LvmDeviceClass } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../../api/objects/lvm-volume-group.ts';
import type { Metadata } from '../../api/objects/metadata.ts';
import type { Node } from '../../api/objects/storage.ts';
import { diskId } from '../device/wipeable.ts';
import type { Wipes } from '../device/wipes.ts';
import type { ObservedNode } from '../observed.ts';
import { stepText } from '../step-text.ts';
import { foreseeCluster } from './foresee.ts';
import { inventoryAnnotation, inventoryText } from './inventory.ts';
import { groupFinalizer } from './marks.ts';
import { nodePlans } from './node-plans.ts';
import { volumeGroupsOf } from './objects.ts';
import type { ClusterView } from './plan.ts';
import { planLines } from './plan-lines.ts';

const namespace = 'ns';
const vg1: LvmDeviceClass = {
  ...{ name: 'vg1', default: true, deviceSelector: { paths: ['/dev/sda'] } },
  thinPoolConfig: { name: 'pool', sizePercent: 90, overprovisionRatio: 10 },
};
const vg2: LvmDeviceClass = { name: 'vg2', deviceSelector: { optionalPaths: ['/dev/sdb'] } };

function metadata(name: string, changes: Partial<Metadata> = {}): Metadata {
  return { name, namespace, uid: `uid-${name}`, resourceVersion: '1', ...changes };
}

function cluster(classes: readonly LvmDeviceClass[], changes: Partial<Metadata> = {}): LvmCluster {
  return {
    metadata: metadata('mine', changes),
    spec: { storage: { deviceClasses: classes } },
  };
}

function nodeWith(
  observed: Partial<ObservedNode>,
  known: readonly (readonly [string, string])[],
  wipes: Wipes = new Map(),
) {
  const node = { devices: [], vgs: [], orphanPvs: [], ...observed };
  const text = inventoryText({ node, known: new Map(known), givenUp: new Set(), wipes }) ?? '';
  return { metadata: metadata('n1', { annotations: { [inventoryAnnotation]: text } }) };
}

const bare = ['/dev/sda', '/dev/sdb', '/dev/sdc'].map((path) =>
  sampleDevice({ path, sizeBytes: extents(1000) }),
);

function viewOf(of: LvmCluster, nodes: readonly Node[], changes: Partial<ClusterView> = {}) {
  return {
    ...{ cluster: of, nodes, groups: [], reports: [], classes: [], snapshotClasses: [] },
    ...{ claims: [], volumes: [], logicalVolumes: [], driver: 'topolvm.io', ...changes },
  } satisfies ClusterView;
}

function planned(view: ClusterView) {
  return nodePlans(foreseeCluster(view)).map(({ node, isTold, devices, steps, blocks }) => ({
    ...{ node, isTold, steps: steps.map(stepText), blocks: blocks.map(({ code }) => code) },
    devices: devices.map(({ group, path, state }) => `${group} ${path} ${state}`),
  }));
}

test('of bare disks groups and pools are made, and it says what is left alone', () => {
  const [plan] = planned(viewOf(cluster([vg1, vg2]), [nodeWith({ devices: bare }, [])]));
  assert.deepEqual(plan?.steps.slice(0, 2), [
    'create volume group vg1 on /dev/sda',
    'create volume group vg2 on /dev/sdb',
  ]);
  assert.match(plan?.steps[2] ?? '', /^create thin pool vg1\/pool of /);
  assert.deepEqual(plan?.devices, [
    ...['vg1 /dev/sda chosen', 'vg1 /dev/sdb left-alone', 'vg1 /dev/sdc left-alone'],
    ...['vg2 /dev/sda left-alone', 'vg2 /dev/sdb chosen', 'vg2 /dev/sdc left-alone'],
  ]);
  assert.deepEqual(plan?.blocks, []);
});

test('what cannot be says why, and nothing is half done', () => {
  const [plan] = planned(viewOf(cluster([vg1]), [nodeWith({ devices: bare.slice(1) }, [])]));
  assert.deepEqual(plan?.steps, []);
  assert.deepEqual(plan?.blocks, ['DeviceNotFound', 'VolumeGroupMissing']);
});

test('a disk that was wiped once is not wiped by any plan', () => {
  const signatures = { kind: 'found', types: ['ext4'] } as const;
  const devices = [sampleDevice({ path: '/dev/sdb', serial: 'B', fileSystem: 'ext4', signatures })];
  const deviceSelector = { paths: ['/dev/sdb'], forceWipeDevicesAndDestroyAllData: true };
  const wiping = cluster([{ ...vg2, deviceSelector }]);
  const steps = (wipes?: Wipes) =>
    planned(viewOf(wiping, [nodeWith({ devices }, [], wipes)]))[0]?.steps;
  assert.deepEqual(steps(), [
    'wipe /dev/sdb: everything on it is lost',
    'create volume group vg2 on /dev/sdb',
  ]);
  const id = diskId(devices[0] ?? sampleDevice());
  assert.deepEqual(steps(new Map([[id, { found: [], isDone: true }]])), []);
});

test('a node that has not told of its disks is named, and one that is not meant is not', () => {
  const silent: Node = { metadata: metadata('n2') };
  const elsewhere: Node = { ...silent, metadata: metadata('n3') };
  const only = {
    nodeSelectorTerms: [
      { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1', 'n2'] }] },
    ],
  } as const;
  const nodes = [elsewhere, silent, nodeWith({ devices: bare }, [])];
  const plans = planned(viewOf(cluster([{ ...vg2, nodeSelector: only }]), nodes));
  assert.deepEqual(
    plans.map(({ node, isTold }) => [node, isTold]),
    [
      ['n1', true],
      ['n2', false],
    ],
  );
});

/** As it is when vg2 is there. */
function served(of: LvmCluster): Partial<ClusterView> {
  const [made] = volumeGroupsOf(cluster([vg2]), []);
  const group: LvmVolumeGroup = {
    metadata: metadata('vg2', {
      finalizers: [groupFinalizer('n1')],
      ownerReferences: [
        {
          ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'mine' },
          uid: of.metadata.uid,
        },
      ],
    }),
    spec: made?.spec ?? {},
  };
  return { groups: [group], reports: [{ metadata: metadata('n1'), spec: {} }] };
}

const withVg2 = nodeWith(
  {
    devices: bare.map((device) =>
      device.path === '/dev/sdb' ? { ...device, holders: [], fileSystem: 'LVM2_member' } : device,
    ),
    vgs: [sampleVg({ name: 'vg2', uuid: 'U2', pvs: [samplePv({ device: '/dev/sdb' })] })],
  },
  [['vg2', 'U2']],
);

test('a device more is added, and what is there stays', () => {
  const grown = { ...vg2, deviceSelector: { optionalPaths: ['/dev/sdb', '/dev/sdc'] } };
  const wanted = cluster([{ ...grown, default: true }]);
  const [plan] = planned(viewOf(wanted, [withVg2], served(wanted)));
  assert.deepEqual(plan?.steps, ['add /dev/sdc to volume group vg2']);
});

test('a cluster that goes takes its groups with it', () => {
  const going = cluster([vg2], {
    ...{ deletionTimestamp: 'now', finalizers: ['lvmcluster.topolvm.io'] },
  });
  const [plan] = planned(viewOf(going, [withVg2], served(going)));
  assert.deepEqual(plan?.steps, ['remove volume group vg2', 'clear the LVM label of /dev/sdb']);
});

for (const { what, vgs, code } of [
  { what: 'is away', vgs: [], code: 'VolumeGroupLost' },
  { what: 'has another one its name', vgs: [{ uuid: 'U9' }], code: 'VolumeGroupLost' },
  { what: 'was renamed', vgs: [{ name: 'vg9', uuid: 'U2' }], code: 'VolumeGroupRenamed' },
]) {
  test(`a group that goes and ${what} is left alone, and the plan says so`, () => {
    const going = cluster([vg2], {
      ...{ deletionTimestamp: 'now', finalizers: ['lvmcluster.topolvm.io'] },
    });
    const pvs = [samplePv({ device: '/dev/sdb' })];
    const seen = vgs.map((vg) => sampleVg({ name: 'vg2', pvs, ...vg }));
    const node = nodeWith({ devices: bare, vgs: seen }, [['vg2', 'U2']]);
    const [plan] = planned(viewOf(going, [node], served(going)));
    assert.deepEqual([plan?.steps, plan?.blocks], [[], [code]]);
  });
}

test('all writes of the operator are foreseen, in order', () => {
  const { deeds, troubles, waits } = foreseeCluster(
    viewOf(cluster([vg1]), [nodeWith({ devices: bare }, [])]),
  );
  assert.deepEqual(
    deeds.map(({ kind }) => kind),
    ['mark-cluster', 'make-group', 'apply-class', 'apply-snapshot-class', 'make-report'],
  );
  assert.deepEqual([troubles, waits], [[], []]);
});

test('the lines for many nodes end where an API server would cut them off', () => {
  const nodes = Array.from(
    { length: 40 },
    (_, index): Node => ({ metadata: metadata(`n${index}`) }),
  );
  const lines = planLines(foreseeCluster(viewOf(cluster([vg1]), nodes)));
  assert.equal(lines.at(-1), 'and 25 more: `quarry plan` shows all of it');
  assert.ok(lines.join('').length < 4096);
});

test('disks that were told of before a group was made are not taken for lost', () => {
  const told = { name: 'vg1', deviceDiscoveryPolicy: 'Preconfigured' as const };
  const reportOf = (status: 'Ready' | 'Failed') => [
    {
      metadata: metadata('n1'),
      spec: { nodeStatus: [{ ...told, status, devices: ['/dev/sda'] }] },
    },
  ];
  const reports = reportOf('Ready');
  const before = viewOf(cluster([vg1]), [nodeWith({ devices: bare }, [])], { reports });
  const [plan] = planned(before);
  assert.deepEqual([plan?.isTold, plan?.blocks, plan?.steps], [false, [], []]);

  const [away] = planned({ ...before, reports: reportOf('Failed') });
  assert.equal(away?.blocks[0], 'VolumeGroupLost');
});
