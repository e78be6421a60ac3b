import assert from 'node:assert/strict';
import test from 'node:test';
import { askedAnnotation } from '../../src/api/lvm-cluster/asked.ts';
import type { LvmClusterSpec, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { LvmWorld, namespace } from './lvm-world.ts';

/** Nobody judges here, as on a cluster whose webhook is away: the operator does it by itself. */

const { lvmClusters, lvmVolumeGroups, lvmNodeStatuses, classes } = collections;

const vg1: LvmDeviceClass = { name: 'vg1', default: true, deviceSelector: { paths: ['/dev/a'] } };
const vg2: LvmDeviceClass = { name: 'vg2', deviceSelector: { paths: ['/dev/b'] } };

async function settled(...deviceClasses: readonly LvmDeviceClass[]): Promise<LvmWorld> {
  const world = new LvmWorld(['n1']);
  world.apply(...deviceClasses);
  world.start();
  await world.pass(5_000);
  await world.playAgents();
  await world.pass(5_000);
  assert.equal(world.cluster?.status?.state, 'Ready', told(world));
  return world;
}

function told(world: LvmWorld): string {
  return (world.cluster?.status?.conditions ?? []).map(({ message }) => message).join();
}

function specOf(world: LvmWorld, name: string) {
  return world.groups.find(({ metadata }) => metadata.name === name)?.spec;
}

async function write(world: LvmWorld, spec: LvmClusterSpec): Promise<void> {
  await world.edit(lvmClusters, 'mine', { spec: null }, namespace);
  await world.edit(lvmClusters, 'mine', { spec }, namespace);
  await world.pass(5_000);
}

function change(world: LvmWorld, ...deviceClasses: readonly LvmDeviceClass[]): Promise<void> {
  return write(world, { storage: { deviceClasses } });
}

test('a class that takes every disk takes none that is plugged in later', async () => {
  const world = await settled({ name: 'vg1' });
  assert.equal(specOf(world, 'vg1')?.deviceDiscoveryPolicy, 'Static');
  const before = world.api.writes.length;
  await world.pass(60_000);
  assert.deepEqual(world.api.writes.slice(before), [], 'and the LVMCluster stays as it is');
  await change(world, { name: 'vg1', deviceDiscoveryPolicy: 'Dynamic' });
  assert.equal(specOf(world, 'vg1')?.deviceDiscoveryPolicy, 'Dynamic');
  world.stop();
});

test('a group that LVMS made without the field takes the disks that it always took', async () => {
  const world = new LvmWorld(['n1']);
  world.apply({ name: 'vg1', default: true });
  const { uid = '' } = world.cluster?.metadata ?? {};
  const owner = { apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'mine', uid };
  const metadata = { name: 'vg1', namespace, ownerReferences: [owner] };
  world.put(lvmVolumeGroups, { metadata, spec: { default: true } });
  world.start();
  await world.pass(5_000);
  assert.deepEqual(specOf(world, 'vg1'), { default: true });
  world.stop();
});

test('a class that took every disk is not given names that leave one of them out', async () => {
  const world = await settled({ name: 'vg1', default: true });
  const has = (...devices: readonly string[]) => {
    const one = { name: 'vg1', status: 'Ready', deviceDiscoveryPolicy: 'RuntimeStatic', devices };
    return world.edit(lvmNodeStatuses, 'n1', { spec: { nodeStatus: [one] } }, namespace);
  };
  await has('/dev/a', '/dev/z');
  const before = specOf(world, 'vg1');
  await change(world, vg1);
  assert.deepEqual(specOf(world, 'vg1'), before);
  assert.match(
    told(world),
    /name exactly the devices that it has, .* n1 has \/dev\/a and \/dev\/z/,
  );
  await change(world, { ...vg1, deviceSelector: { paths: ['/dev/a', '/dev/z'] } });
  assert.deepEqual(specOf(world, 'vg1')?.deviceSelector?.paths, ['/dev/a', '/dev/z']);
  assert.equal(world.cluster?.status?.state, 'Ready', told(world));
  world.stop();
});

test('the default class stays until another one is the default', async () => {
  const world = await settled(vg1, vg2);
  await change(world, vg2);
  assert.deepEqual(world.names(classes), ['lvms-vg1', 'lvms-vg2']);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1', 'vg2']);
  assert.equal(specOf(world, 'vg2')?.default, undefined, 'nothing is half done');
  assert.match(told(world), /deviceClasses\[vg1\] is missing: leave it, or let another class be/);
  await change(world, { ...vg1, default: false }, { ...vg2, default: true });
  await change(world, { ...vg2, default: true });
  await world.playAgents();
  await world.pass(5_000);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg2']);
  world.stop();
});

test('Managed without classes is no other word for ExternalConfiguration', async () => {
  const world = new LvmWorld(['n1']);
  const metadata = { name: 'mine', namespace };
  world.put(lvmClusters, { metadata, spec: { configurationPolicy: 'Managed' } });
  world.start();
  await world.pass(5_000);
  assert.match(told(world), /deviceClasses is missing: name at least one class, or write External/);
  assert.equal(world.cluster?.status?.ready, false);
  assert.deepEqual(world.names(lvmNodeStatuses), [], 'no agent is told that lvmd.yaml is not ours');
  await change(world, vg1);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1']);
  world.stop();
});

test('an LVMCluster that says nothing leaves all to lvmd.yaml, as MicroShift has it', async () => {
  const world = new LvmWorld(['n1']);
  world.put(lvmClusters, { metadata: { name: 'mine', namespace } });
  world.start();
  await world.pass(5_000);
  const devices = { name: 'default', status: 'Ready', deviceDiscoveryPolicy: 'Preconfigured' };
  await world.edit(lvmNodeStatuses, 'n1', { spec: { nodeStatus: [devices] } }, namespace);
  await world.pass(5_000);
  assert.equal(world.cluster?.status?.state, 'Ready', told(world));
  assert.match(JSON.stringify(world.cluster?.status), /VGsUnmanaged/);
  assert.deepEqual([...world.names(lvmVolumeGroups), ...world.names(classes)], []);
  world.stop();
});

test('a group that somebody altered is set right, whatever it was', async () => {
  const world = await settled(vg1, vg2);
  const right = specOf(world, 'vg1');
  const matchExpressions = [{ key: 'a', operator: 'Exists' }];
  for (const altered of [
    { nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] } },
    { raidConfig: { type: 'raid1' } },
    { deviceSelector: null },
    { thinPoolConfig: { name: 'pool', overprovisionRatio: 2 } },
  ]) {
    await world.edit(lvmVolumeGroups, 'vg1', { spec: altered }, namespace);
    await world.pass(5_000);
    assert.deepEqual(specOf(world, 'vg1'), right, JSON.stringify(altered));
    assert.equal(world.cluster?.status?.state, 'Ready', told(world));
  }
  await world.edit(
    lvmVolumeGroups,
    'vg1',
    { spec: { deviceSelector: { paths: ['/dev/a', '/dev/z'] } } },
    namespace,
  );
  await world.pass(5_000);
  assert.deepEqual(specOf(world, 'vg1'), right);
  const { annotations } =
    world.groups.find(({ metadata: { name } }) => name === 'vg1')?.metadata ?? {};
  assert.equal(annotations?.['release.devices.quarry.io/n1'], '{"/dev/z":""}', 'it is given back');
  world.stop();
});

test('a group that cannot be set right is blamed, and not the class', async () => {
  const world = await settled(vg1);
  world.meanwhile = ({ method, path }) => {
    if (method !== 'PATCH' || !path.includes('lvmvolumegroups/vg1')) return;
    throw new KubeError('Invalid', 'raidConfig cannot be changed: make another device class');
  };
  await world.edit(lvmVolumeGroups, 'vg1', { spec: { raidConfig: { type: 'raid1' } } }, namespace);
  await world.pass(5_000);
  assert.match(
    told(world),
    /^LVMVolumeGroup vg1 was altered, and is not set right: .*raidConfig cannot/,
  );
  assert.doesNotMatch(told(world), /spec.storage/);
  world.stop();
});

test('of a group that says not what was asked both are named', async () => {
  const world = await settled(vg1);
  const metadata = { annotations: { [askedAnnotation]: null } };
  const spec = { raidConfig: { type: 'raid1' } };
  await world.edit(lvmVolumeGroups, 'vg1', { metadata, spec }, namespace);
  await world.pass(5_000);
  assert.match(told(world), /deviceClasses\[vg1\].raidConfig is missing: keep it at/);
  assert.match(
    told(world),
    /LVMVolumeGroup vg1 spec is .*: if somebody altered it, and not the class/,
  );
  await world.edit(lvmVolumeGroups, 'vg1', { spec: { raidConfig: null } }, namespace);
  await world.pass(5_000);
  assert.equal(world.cluster?.status?.state, 'Ready', told(world));
  world.stop();
});
