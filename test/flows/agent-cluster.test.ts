import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { Admin } from '../world/admin.ts';
import { AgentClusterScene } from './agent-cluster-scene.ts';
import { thin } from './standalone-scene.ts';

test('from an object to a mounted volume', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  await scene.start();
  const uid = scene.volume('pvc-1');
  await scene.until('made', () => scene.status('pvc-1')['volumeID'] === uid);
  assert.equal(await scene.publish(uid, '/pods/a'), 'published');
  assert.equal(scene.stage.world.machine.table.mounts.length, 1);
});

test('where fields cannot be selected the label finds our own, and only these', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  scene.api.selectable.clear();
  scene.volume('other', { nodeName: 'n2' }, 'n2');
  await scene.start();
  const uid = scene.volume('pvc-1');
  await scene.until('made', () => scene.status('pvc-1')['volumeID'] === uid);
  const asked = scene.api.requests
    .map(({ url }) => decodeURIComponent(url))
    .filter((url) => url.startsWith(`${collections.logicalVolumes}?`));
  assert.ok(asked.every((url) => url.includes('nodeName=n1') || url.includes('io/node=n1')));
  assert.deepEqual(scene.status('other'), {});
});

test('kubelet is told where the CSI socket is, after that socket answers', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  await scene.start();
  assert.deepEqual(await scene.register(), {
    ...{ type: 'CSIPlugin', name: 'topolvm.io', endpoint: '/host/csi.sock' },
    supportedVersions: ['1.0.0'],
  });
  const served = scene.log.map(({ message }) => message.split(' on ')[0]?.split(' at ')[0]);
  assert.ok(served.indexOf('serving CSI') < served.indexOf('kubelet finds us'));
});

test('a kubelet that empties its directory finds us again', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  await scene.start();
  await scene.register();
  await rm(scene.registration);
  await scene.until('back', () => existsSync(scene.registration));
  assert.equal((await scene.register())['name'], 'topolvm.io');
  await rm(dirname(scene.registration), { recursive: true });
  await mkdir(dirname(scene.registration), { recursive: true });
  await scene.agent.lookForKubelet();
  assert.equal((await scene.register())['name'], 'topolvm.io');
});

test('a directory of kubelet that is none for a moment ends nothing', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  await scene.start();
  await scene.register();
  const directory = dirname(scene.registration);
  // At once, or the agent is there before.
  rmSync(directory, { recursive: true });
  writeFileSync(directory, 'in between');
  await scene.agent.lookForKubelet();
  assert.ok(scene.log.some(({ message }) => message.startsWith('kubelet cannot find us')));
  rmSync(directory);
  mkdirSync(directory);
  await scene.agent.lookForKubelet();
  assert.equal((await scene.register())['name'], 'topolvm.io');
});

test('a kubelet that refuses us ends the process', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  const agent = await scene.start();
  await scene.register(false);
  await assert.rejects(agent.failed, { code: 'RegistrationRefused', message: /no such topology/ });
});

test('at the end the socket goes, unless it is somebody else by then', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  const agent = await scene.start();
  await agent.stop();
  assert.equal(existsSync(scene.registration), false);
  assert.equal(existsSync(scene.path('csi.sock')), false);
  const again = await scene.start();
  await rm(scene.registration);
  await writeFile(scene.registration, 'theirs');
  await again.stop();
  assert.equal(existsSync(scene.registration), true);
});

test('the Node says what each class has free, and is written at most once a minute', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  await scene.start();
  const writes = () => scene.api.writesTo(collections.nodes);
  await scene.until('told', () => scene.annotations()['capacity.topolvm.io/thick'] !== undefined);
  const { annotations, finalizers } = scene.node.metadata as Json;
  assert.deepEqual(finalizers, ['topolvm.io/node']);
  assert.equal((annotations as Json)['theirs'], 'x');
  assert.equal(
    (annotations as Json)['capacity.topolvm.io/00default'],
    (annotations as Json)['capacity.topolvm.io/thin'],
  );
  assert.equal(writes(), 1);
  const nowMs = () => scene.stage.world.clock.nowMs();
  const beganMs = nowMs();
  for (const name of ['a', 'b', 'c']) scene.volume(name);
  await scene.until('made', () => scene.status('c')['volumeID'] !== undefined);
  const before = Number((annotations as Json)['capacity.topolvm.io/thick']);
  const left = String(before - 3 * 104857600);
  await scene.until('told', () => scene.annotations()['capacity.topolvm.io/thick'] === left);
  assert.ok(nowMs() - beganMs > 30_000, 'a minute after the last write');
  assert.equal(writes(), 2);
});

test('where somebody schedules by the Node it is written at once, and old keys go', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  scene.options = { hasSchedulerExtender: true };
  const old = { 'capacity.topolvm.io/removed': '5', theirs: 'x' };
  scene.api.put(collections.nodes, { metadata: { name: 'n1', annotations: old } });
  await scene.start();
  const at = (name: string) => scene.annotations()[`capacity.topolvm.io/${name}`];
  await scene.until('told', () => at('thick') !== undefined);
  const before = Number(at('thick'));
  const beganMs = scene.stage.world.clock.nowMs();
  scene.volume('pvc-1');
  await scene.until('told', () => Number(at('thick')) < before);
  assert.ok(scene.stage.world.clock.nowMs() - beganMs < 20_000);
  assert.equal(at('removed'), undefined);
  assert.equal(scene.annotations()['theirs'], 'x');
});

test('each StorageClass of the driver has one object with what fits here, written on change only', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  scene.storageClass('slow', { 'topolvm.io/device-class': 'thick' });
  scene.storageClass('elsewhere', { 'topolvm.io/device-class': 'nowhere' });
  scene.storageClass('foreign', {}, 'somebody.else');
  await scene.start();
  const byClass = () =>
    new Map(scene.capacities().map((object) => [String(object['storageClassName']), object]));
  await scene.until('told', () => byClass().size === 3);
  assert.deepEqual([...byClass().keys()].toSorted(), ['elsewhere', 'fast', 'slow']);
  assert.equal(byClass().get('elsewhere')?.capacity, '0');
  const before = byClass().get('slow')?.capacity;
  assert.equal(scene.api.writesTo(collections.capacities), 3);
  scene.volume('pvc-1');
  await scene.until('told', () => byClass().get('slow')?.capacity !== before);
  assert.equal(scene.api.writesTo(collections.capacities), 4, 'thin has what it had');
  scene.api.delete(collections.classes, 'slow');
  await scene.until('gone', () => !byClass().has('slow'));
});

test('trap 26: what a provisioner left for this node is adopted, for others left alone', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  const stock = (name: string, node: string) =>
    scene.api.put(collections.capacities, {
      metadata: {
        ...{ name, namespace: 'ns' },
        labels: {
          'csi.storage.k8s.io/drivername': 'topolvm.io',
          'csi.storage.k8s.io/managed-by': 'external-provisioner',
        },
      },
      storageClassName: 'fast',
      nodeTopology: { matchLabels: { 'topology.topolvm.io/node': node } },
      capacity: '900Gi',
    });
  stock('csisc-a', 'n1');
  stock('csisc-b', 'n1');
  stock('csisc-c', 'n2');
  await scene.start();
  await scene.until('adopted', () => scene.capacities().length === 2);
  const [mine, other] = scene
    .capacities()
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  assert.equal(mine?.metadata.name, 'csisc-a');
  assert.equal(mine?.metadata.labels?.['quarry.io/node'], 'n1');
  assert.notEqual(mine?.capacity, '900Gi');
  assert.equal(other?.capacity, '900Gi');
});

test('objects of the DaemonSet go with it, where it was named', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  scene.options = { daemonSet: 'agent' };
  const path = '/apis/apps/v1/daemonsets';
  const { uid } = scene.api.put(path, { metadata: { name: 'agent', namespace: 'ns' } }).metadata;
  await scene.start();
  await scene.until('told', () => scene.capacities().length === 1);
  const owners = scene.capacities().flatMap(({ metadata }) => {
    return (metadata as Json)['ownerReferences'] as readonly Json[];
  });
  assert.deepEqual(
    owners.map((owner) => owner['uid']),
    [uid],
  );
});

test('without an API server volumes are mounted, and work goes on when it is back', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  const first = await scene.start();
  const uid = scene.volume('pvc-1');
  await scene.until('made', () => scene.status('pvc-1')['volumeID'] === uid);
  await first.stop();
  for (let nth = 0; nth < 400; nth += 1) scene.transport.faults.push('unreachable');
  await scene.start();
  assert.equal(await scene.publish(uid, '/pods/a'), 'published');
  const late = scene.volume('pvc-2');
  scene.transport.faults.length = 0;
  await scene.until('made', () => scene.status('pvc-2')['volumeID'] === late);
});

test('a new lvmd.yaml is in force without a restart', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  await scene.configure(thin);
  const agent = await scene.start();
  const uid = scene.volume('pvc-1', { deviceClass: 'thin' });
  await scene.until('made', () => scene.status('pvc-1')['volumeID'] === uid);
  const more = '- {name: thick, volume-group: data, spare-gb: 0}';
  await scene.configure(thin, more);
  await agent.standalone.configuration.reread();
  const { classes } = agent.standalone.configuration;
  assert.equal(classes.length, 2);
  const thick = scene.volume('pvc-2');
  await scene.until('made', () => scene.status('pvc-2')['volumeID'] === thick);
});

test('a volume of ours that no object names is told, once, and left alone', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  const agent = await scene.start();
  const uid = scene.volume('pvc-1');
  await scene.until('made', () => scene.status('pvc-1')['volumeID'] === uid);
  scene.api.delete(collections.logicalVolumes, 'pvc-1');
  const told = () =>
    scene.log.filter(({ message }) => message.startsWith('no LogicalVolume names'));
  await scene.until('told', async () => {
    await agent.standalone.engine.observe();
    return told().length > 0;
  });
  await agent.standalone.engine.observe();
  assert.equal(told().length, 1);
  assert.ok(told()[0]?.message.includes(`data/${uid}`));
  assert.notEqual(scene.stage.world.lv('data', uid), undefined);
});

test('what no object names is told on the Node and counted, and no more when it is gone', async (t) => {
  const scene = await AgentClusterScene.begin(t);
  const agent = await scene.start();
  const uid = scene.volume('pvc-1');
  await scene.until('made', () => scene.status('pvc-1')['volumeID'] === uid);
  const annotation = () =>
    scene.api.one(collections.nodes, 'n1')?.metadata.annotations?.['quarry.io/stray-volumes'];
  const count = () => {
    const families = agent.standalone.figures();
    return families.find(({ name }) => name === 'quarry_stray_volumes')?.samples[0]?.value;
  };
  await scene.until('known', () => count() === 0);
  assert.equal(annotation(), undefined);
  scene.api.delete(collections.logicalVolumes, 'pvc-1');
  const told = JSON.stringify({ ours: [`data/${uid}`], others: [] });
  await scene.until('told', () => annotation() === told);
  assert.equal(count(), 1);
  new Admin(scene.stage.world.machine).run('lvm', 'lvremove', '--yes', `data/${uid}`);
  await agent.standalone.engine.observe();
  await scene.until('taken off', () => annotation() === undefined && count() === 0);
});
