import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import { LvmWorld, namespace } from './lvm-world.ts';

const vg1 = { name: 'vg1', default: true, deviceSelector: { paths: ['/dev/a'] } };
const vg2 = { name: 'vg2', deviceSelector: { paths: ['/dev/b', '/dev/c'] } };
const { lvmClusters, lvmVolumeGroups, lvmNodeStatuses, classes, claims } = collections;

/** Its first events were heard already. */
async function settled(effects?: number): Promise<LvmWorld> {
  const world = await begun(effects);
  world.events.splice(0);
  return world;
}

async function begun(effects?: number): Promise<LvmWorld> {
  const world = new LvmWorld();
  world.apply(vg1, vg2);
  world.start(effects);
  await world.pass(5_000);
  if (effects !== undefined) {
    world.stop();
    world.start();
    await world.pass(5_000);
  }
  await world.playAgents();
  await world.pass(5_000);
  return world;
}

function isReady(world: LvmWorld): void {
  assert.equal(world.cluster?.status?.state, 'Ready', JSON.stringify(world.cluster?.status));
  assert.deepEqual(world.names(classes), ['lvms-vg1', 'lvms-vg2']);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1', 'vg2']);
  assert.deepEqual(world.names(lvmNodeStatuses), ['n1', 'n2']);
  assert.deepEqual(world.cluster?.metadata.finalizers, ['lvmcluster.topolvm.io']);
}

test('an LVMCluster becomes Ready, and then nothing is written for an hour', async () => {
  const world = await settled();
  isReady(world);
  const before = world.api.writes.length;
  await world.pass(3_600_000 / 100);
  assert.deepEqual(world.api.writes.slice(before), []);
  world.stop();
});

test('an operator that dies after any write leaves nothing half done', async () => {
  const whole = new LvmWorld();
  whole.apply(vg1, vg2);
  whole.start();
  await whole.pass(5_000);
  const writes = whole.api.writes.length;
  whole.stop();
  assert.ok(writes >= 8, `${writes} writes`);
  for (let effects = 1; effects <= writes; effects += 1) {
    const world = await settled(effects);
    isReady(world);
    world.stop();
  }
});

test('somebody’s StorageClass is not touched, and told of', async () => {
  const world = new LvmWorld();
  world.put(classes, { metadata: { name: 'lvms-vg1' }, provisioner: 'other' });
  world.apply(vg1);
  world.start();
  await world.pass(5_000);
  const condition = world.cluster?.status?.conditions?.find(
    ({ type }) => type === 'ResourcesAvailable',
  );
  assert.equal(condition?.reason, 'ResourcesSyncIncomplete');
  assert.match(condition?.message ?? '', /^StorageClass lvms-vg1 has another provisioner/);
  assert.equal(world.api.one(classes, 'lvms-vg1')?.['provisioner'], 'other');
  assert.deepEqual(
    world.events.map(({ reason }) => reason),
    ['ResourceReconciliationIncomplete'],
  );
  world.stop();
});

test('a StorageClass that somebody deleted is made again', async () => {
  const world = await settled();
  await world.remove(classes, 'lvms-vg1');
  await world.pass(5_000);
  assert.deepEqual(world.names(classes), ['lvms-vg1', 'lvms-vg2']);
  world.stop();
});

test('a label that is left out goes from the StorageClass, and that of somebody else stays', async () => {
  const world = await settled();
  const put = async (additionalLabels: Readonly<Record<string, string>>) => {
    const deviceClasses = [vg1, { ...vg2, storageClassOptions: { additionalLabels } }];
    await world.edit(lvmClusters, 'mine', { spec: { storage: null } }, namespace);
    await world.edit(lvmClusters, 'mine', { spec: { storage: { deviceClasses } } }, namespace);
    await world.pass(5_000);
  };
  const labels = () => {
    const all = Object.entries(world.api.one(classes, 'lvms-vg2')?.metadata.labels ?? {});
    return Object.fromEntries(all.filter(([key]) => !key.startsWith('owned-by.')));
  };
  await put({ team: 'a', tier: 'gold' });
  await world.edit(classes, 'lvms-vg2', { metadata: { labels: { theirs: 'x' } } });
  await world.pass(5_000);
  assert.deepEqual(labels(), { team: 'a', tier: 'gold', theirs: 'x' });
  await put({ team: 'a' });
  assert.deepEqual(labels(), { team: 'a', theirs: 'x' });
  const before = world.api.writes.length;
  await world.pass(60_000);
  await world.edit(lvmNodeStatuses, 'n1', { metadata: { labels: { a: 'b' } } }, namespace);
  await world.pass(60_000);
  const applies = world.api.writes.slice(before).filter(({ collection }) => collection === classes);
  assert.deepEqual(applies, []);
  world.stop();
});

test('a class goes when its last claim has gone, and only its own objects', async () => {
  const world = await settled();
  const spec = { storageClassName: 'lvms-vg2', resources: { requests: { storage: '1Gi' } } };
  world.put(claims, { metadata: { name: 'data', namespace: 'app', finalizers: [] }, spec });
  await world.pass(1_000);
  await world.edit(lvmClusters, 'mine', { spec: { storage: { deviceClasses: [vg1] } } }, namespace);
  await world.pass(30_000);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1', 'vg2']);
  assert.deepEqual(
    world.events.map(({ reason, message }) => `${reason}: ${message}`),
    ['DeletionPending: device class vg2 stays while it holds claim app/data'],
  );
  await world.edit(claims, 'data', { metadata: { finalizers: [] } }, 'app');
  await world.remove(claims, 'data', 'app');
  await world.pass(5_000);
  await world.playAgents();
  await world.pass(5_000);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1']);
  assert.deepEqual(world.names(classes), ['lvms-vg1']);
  world.stop();
});

test('a class that comes back in the last moment keeps its group', async () => {
  const world = await settled();
  world.meanwhile = ({ method, path }) => {
    const isLastLook = method === 'GET' && /logicalvolumes\?limit/.test(path);
    if (!isLastLook || !world.names(lvmVolumeGroups).includes('vg2')) return;
    world.apply(vg1, vg2);
  };
  await world.edit(lvmClusters, 'mine', { spec: { storage: { deviceClasses: [vg1] } } }, namespace);
  await world.pass(30_000);
  const vg2Group = world.groups.find(({ metadata }) => metadata.name === 'vg2');
  assert.equal(vg2Group?.metadata.deletionTimestamp, undefined);
  isReady(world);
  world.stop();
});

test('nodes that have a group are told which device shall leave it, and no others', async () => {
  const world = await settled();
  const notes = () => {
    const { annotations = {} } =
      world.groups.find(({ metadata }) => metadata.name === 'vg2')?.metadata ?? {};
    const all = Object.entries(annotations);
    return Object.fromEntries(all.filter(([key]) => key.startsWith('release.')));
  };
  const put = async (...names: readonly string[]) => {
    const deviceClasses = [vg1, { ...vg2, deviceSelector: { paths: names } }];
    await world.edit(lvmClusters, 'mine', { spec: { storage: { deviceClasses } } }, namespace);
    await world.pass(5_000);
  };
  await put('/dev/b');
  const note = { 'release.devices.quarry.io/n1': '{"/dev/c":""}' };
  assert.deepEqual(notes(), {
    ...note,
    'release.devices.quarry.io/n2': '{"/dev/c":""}',
  });
  world.addNode('n3');
  await world.remove(collections.nodes, 'n2');
  await world.pass(5_000);
  await world.playAgents();
  await world.pass(5_000);
  assert.deepEqual(notes(), note);
  await put('/dev/b', '/dev/c');
  assert.deepEqual(notes(), {}, 'it is named again');
  world.stop();
});

test('a cluster that is deleted takes along what it made, after the agents', async () => {
  const world = await settled();
  await world.remove(lvmClusters, 'mine', namespace);
  await world.pass(5_000);
  assert.deepEqual(world.names(classes), [], 'nobody can ask for more');
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1', 'vg2'], 'agents clean up first');
  await world.playAgents();
  await world.pass(5_000);
  assert.deepEqual(world.names(lvmVolumeGroups), []);
  await world.pass(15_000);
  assert.deepEqual(world.names(lvmNodeStatuses), []);
  assert.equal(world.cluster, undefined);
  world.stop();
});

test('a node that is gone keeps nothing from going', async () => {
  const world = await settled();
  await world.remove(collections.nodes, 'n2');
  await world.pass(5_000);
  assert.deepEqual(world.names(lvmNodeStatuses), ['n1']);
  for (const { metadata } of world.groups) {
    assert.deepEqual(metadata.finalizers, ['cleanup.vgmanager.node.topolvm.io/n1']);
  }
  assert.equal(world.cluster?.status?.state, 'Ready');
  world.addNode('n3');
  await world.pass(5_000);
  assert.deepEqual(world.names(lvmNodeStatuses), ['n1', 'n3']);
  assert.equal(world.cluster?.status?.state, 'Progressing');
  world.stop();
});

test('it is Ready when kubelet has heard of the driver on every node, and not before', async () => {
  const world = await settled();
  await world.edit(collections.csiNodes, 'n2', { spec: { drivers: [] } });
  await world.pass(5_000);
  assert.equal(world.cluster?.status?.state, 'Progressing');
  assert.match(JSON.stringify(world.cluster?.status?.conditions), /kubelet of n2/);
  const drivers = [{ name: 'topolvm.io', nodeID: 'n2' }];
  await world.edit(collections.csiNodes, 'n2', { spec: { drivers } });
  await world.pass(5_000);
  isReady(world);
  world.stop();
});

test('what is wrong with a group is an event once, wherever somebody looks for it', async () => {
  const world = await settled();
  const tell = async (status: string, reason?: string) => {
    const nodeStatus = ['vg1', 'vg2'].map((name) => ({
      ...{ name, status: 'Ready', deviceDiscoveryPolicy: 'Preconfigured' },
      ...(name === 'vg1' ? { status, reason } : {}),
    }));
    await world.edit(lvmNodeStatuses, 'n1', { spec: { nodeStatus } }, namespace);
    await world.pass(5_000);
  };
  const heard = () => world.events.splice(0).map(({ about, reason }) => `${reason} ${about}`);
  await tell('Failed', 'DeviceNotFound: /dev/a: there is no such device');
  const missing = ['LVMVolumeGroupNodeStatus/n1', 'LVMVolumeGroup/vg1', 'LVMCluster/mine'].map(
    (about) => `DevicePathCheckFailed ${about}`,
  );
  assert.deepEqual(heard(), missing);
  await world.edit(lvmClusters, 'mine', { metadata: { labels: { a: 'b' } } }, namespace);
  await world.pass(5_000);
  world.stop();
  world.start();
  await world.pass(5_000);
  assert.deepEqual(heard(), [], 'neither a look nor a new life is a change');
  await tell('Degraded', 'NoUsableDevices: none');
  assert.equal(heard().length, 3);
  await tell('Ready');
  assert.deepEqual(
    heard(),
    missing.map((line) => line.replace('DevicePathCheckFailed', 'VolumeGroupReady')),
  );
  await tell('Failed', 'DeviceNotFound: /dev/a: there is no such device');
  assert.deepEqual(heard(), missing, 'again, because it was well in between');
  world.stop();
});

test('good news is told once, wherever somebody looks for it, and not in a new life', async () => {
  const world = await begun();
  const heard = () =>
    world.events.splice(0).map(({ about, type, reason }) => `${type} ${reason} ${about}`);
  const everywhere = (reason: string) =>
    ['LVMVolumeGroupNodeStatus/n1', 'LVMVolumeGroup/vg1', 'LVMCluster/mine'].map(
      (about) => `Normal ${reason} ${about}`,
    );
  const first = heard();
  for (const line of everywhere('VolumeGroupReady')) assert.ok(first.includes(line), line);
  const success = 'Normal ResourceReconciliationSuccess LVMCluster/mine';
  assert.equal(first.filter((line) => line === success).length, 1);
  const tell = async (devices: readonly string[]) => {
    const nodeStatus = ['vg1', 'vg2'].map((name) => ({
      ...{ name, status: 'Ready', deviceDiscoveryPolicy: 'Preconfigured' },
      ...(name === 'vg1' ? { devices } : {}),
    }));
    await world.edit(lvmNodeStatuses, 'n1', { spec: { nodeStatus } }, namespace);
    await world.pass(5_000);
  };
  await tell(['/dev/a', '/dev/b']);
  assert.deepEqual(heard(), everywhere('DeviceAdded'));
  await tell(['/dev/a']);
  assert.deepEqual(heard(), everywhere('DeviceRemoved'));
  await world.pass(60_000);
  world.stop();
  world.start();
  await world.pass(60_000);
  assert.deepEqual(heard(), []);
  world.stop();
});

test('of two LVMClusters the older one counts, and the other is told so', async () => {
  const world = await settled();
  world.put(lvmClusters, {
    metadata: { name: 'second', namespace },
    spec: { storage: { deviceClasses: [{ name: 'vg3', deviceSelector: { paths: ['/dev/z'] } }] } },
  });
  await world.pass(5_000);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1', 'vg2']);
  const second = world.api.one(lvmClusters, 'second', namespace);
  assert.match(JSON.stringify(second?.['status']), /there can be one LVMCluster only/);
  isReady(world);
  world.stop();
});

test('kinds that are installed later are served then', async () => {
  const world = new LvmWorld();
  for (const name of ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses']) {
    await world.remove(collections.definitions, `${name}.lvm.topolvm.io`);
  }
  world.start();
  await world.pass(5_000);
  for (const name of ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses']) {
    world.install(`${name}.lvm.topolvm.io`, 'v1alpha1');
  }
  world.apply(vg1, vg2);
  await world.pass(10_000);
  await world.playAgents();
  await world.pass(5_000);
  isReady(world);
  world.stop();
});

test('a cluster with volumes in several classes waits for all of them', async () => {
  const world = await settled();
  for (const name of ['lvms-vg1', 'lvms-vg2']) {
    const spec = { storageClassName: name, resources: { requests: { storage: '1Gi' } } };
    world.put(claims, { metadata: { name: `of-${name}`, namespace: 'app', finalizers: [] }, spec });
  }
  await world.pass(1_000);
  await world.remove(lvmClusters, 'mine', namespace);
  await world.pass(30_000);
  assert.deepEqual(world.names(classes), ['lvms-vg1', 'lvms-vg2']);
  assert.deepEqual(world.names(lvmVolumeGroups), ['vg1', 'vg2']);
  assert.deepEqual(
    world.events.map(({ message }) => message),
    ['device class vg1 holds claim app/of-lvms-vg1; device class vg2 holds claim app/of-lvms-vg2'],
  );
  world.stop();
});
