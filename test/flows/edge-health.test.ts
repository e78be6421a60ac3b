import assert from 'node:assert/strict';
import test from 'node:test';
import { collections } from '../kube/fake-api-rules.ts';
import { EdgeScene, file, namespace } from './edge-scene.ts';

const own = [
  'device-classes:',
  '  - {name: one, volume-group: data, default: true}',
  '  - {name: two, volume-group: data, type: thin, thin-pool: {name: pool, overprovision-ratio: 2}}',
  '',
].join('\n');

async function applied(): Promise<EdgeScene> {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  assert.equal((await scene.apply()).code, 0);
  scene.play();
  return scene;
}

/** What is not well, a line for each. */
async function complaints(scene: EdgeScene): Promise<string> {
  const { code, text } = await scene.health();
  assert.equal(code, 1, text);
  return text;
}

test('storage that is well is found so in seconds, with 0, and nothing is written', async () => {
  const scene = await applied();
  const startMs = scene.stage.world.clock.nowMs();
  const { length } = scene.writes;
  assert.deepEqual(await scene.health(), { code: 0, text: 'Storage is well.' });
  assert.ok(scene.stage.world.clock.nowMs() - startMs < 6_000);
  assert.equal(scene.writes.length, length);
});

test('it waits until storage is well, and no longer than it may', async () => {
  const scene = await applied();
  scene.roll({ ready: 0 });
  scene.stage.world.clock.after(10_000, () => scene.roll({ ready: 1 }));
  assert.equal((await scene.health(30_000)).code, 0);
  scene.roll({ ready: 0 });
  const startMs = scene.stage.world.clock.nowMs();
  assert.match(await complaints(scene), /vg-manager: 0 of 1 pods are ready/);
  const tookMs = scene.stage.world.clock.nowMs() - startMs;
  assert.ok(tookMs >= 30_000 && tookMs < 31_000, `${tookMs}`);
});

test('a host without a file and without the group is well as long as nothing is deployed', async () => {
  const scene = await EdgeScene.begin();
  assert.equal((await scene.health()).code, 0);
  const later = await applied();
  later.files.delete(file);
  assert.match(
    await complaints(later),
    /there is no \/etc\/microshift\/lvmd\.yaml, .*What was deployed before is still there/,
  );
});

test('what was never applied is not well', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  const text = await complaints(scene);
  assert.match(text, /there is no ConfigMap openshift-storage\/lvmd: run `quarry edge apply`/);
  assert.match(
    text,
    /there is no DaemonSet openshift-storage\/vg-manager: run `quarry edge apply`/,
  );
});

test('a file that is not the one in force is not well', async () => {
  const scene = await applied();
  scene.files.set(file, `${own}# new\n`);
  assert.match(
    await complaints(scene),
    /ConfigMap \S+lvmd has another text than \S+lvmd\.yaml: run/,
  );
  await scene.apply({ writes: 1 });
  assert.match(await complaints(scene), /DaemonSet \S+vg-manager is for another text than/);
  await scene.apply();
  assert.match(await complaints(scene), /vg-manager has just been changed/);
  scene.roll({ ready: 1, newest: 0 });
  assert.match(await complaints(scene), /vg-manager: 1 of 1 pods are of an older one/);
  scene.roll({ ready: 1 });
  assert.equal((await scene.health()).code, 0);
});

test('a file with a fault is not well, and its faults are told', async () => {
  const scene = await applied();
  scene.files.set(file, own.replace('volume-group: data, default', 'volume-group: gone, default'));
  assert.match(
    await complaints(scene),
    /lvmd\.yaml:2: device-classes\[0\]\.volume-group is "gone": there is no such volume group/,
  );
});

test('a pod that ends again and again is told with its last words', async () => {
  const scene = await applied();
  scene.roll({ ready: 0 });
  const message = 'quarry: InvalidConfiguration: lvmd.yaml cannot be used';
  scene.pod(
    [{ type: 'Ready', status: 'False', message: 'containers with unready status: [vg-manager]' }],
    [
      {
        ...{ name: 'vg-manager', state: { waiting: { reason: 'CrashLoopBackOff' } } },
        lastState: { terminated: { exitCode: 2, message } },
      },
    ],
  );
  assert.match(
    await complaints(scene),
    /pod vg-manager-x7k2p is not ready: Running: CrashLoopBackOff: it ended with 2: quarry: InvalidConfiguration: lvmd\.yaml cannot be used: containers with/,
  );
});

test('what is told of a host that has just started may be from before, and is not believed', async () => {
  const scene = await applied();
  scene.die();
  assert.match(await complaints(scene), /no operator leads: nobody has renewed Lease openshift-/);
  scene.stage.world.clock.after(10_000, () => scene.lead());
  assert.equal((await scene.health()).code, 0);
  scene.lead('');
  assert.match(await complaints(scene), /no operator leads/);
});

test('a kubelet that does not know the driver is told', async () => {
  const scene = await applied();
  scene.put(collections.csiNodes, { metadata: { name: 'n1' }, spec: { drivers: [] } });
  assert.match(
    await complaints(scene),
    /kubelet of n1 does not know the driver: CSINode n1 has no topolvm\.io/,
  );
});

test('a class that is not served is told', async () => {
  const scene = await applied();
  scene.play(['one']);
  assert.match(await complaints(scene), /n1 does not serve two: its Node has no annotation/);
});

test('an operator in a Deployment of its own has to be there, too', async () => {
  const scene = await applied();
  const [template] = scene.api.all(collections.podTemplates);
  const text = JSON.stringify(template).replace('"args":["all"', '"args":["agent"');
  scene.put(collections.podTemplates, JSON.parse(text) as object);
  await scene.apply();
  scene.play();
  assert.match(await complaints(scene), /there is no Deployment openshift-storage\/lvms-operator/);
  const metadata = { name: 'lvms-operator', namespace };
  scene.put(collections.deployments, { metadata, status: {} });
  assert.match(await complaints(scene), /no pod of Deployment \S+lvms-operator is ready/);
  scene.put(collections.deployments, { metadata, status: { readyReplicas: 1 } });
  assert.equal((await scene.health()).code, 0);
});

test('an LVMCluster that is not Ready is told with what it says', async () => {
  const scene = await applied();
  const metadata = { name: 'lvms', namespace };
  const spec = { configurationPolicy: 'ExternalConfiguration' };
  scene.put(collections.lvmClusters, { metadata, spec });
  assert.match(await complaints(scene), /LVMCluster lvms is new, and nobody has looked at it/);
  const message = '/etc/topolvm/lvmd.yaml on n1: there is no such file';
  const conditions = [{ type: 'VolumeGroupsReady', status: 'False', reason: 'VGsFailed', message }];
  scene.put(collections.lvmClusters, { metadata, spec, status: { state: 'Failed', conditions } });
  assert.match(await complaints(scene), /LVMCluster lvms is Failed: \/etc\/topolvm\/lvmd\.yaml on/);
  scene.put(collections.lvmClusters, { metadata, spec, status: { state: 'Ready' } });
  assert.equal((await scene.health()).code, 0);
});

test('LVMClusters need not be installed', async () => {
  const scene = await applied();
  scene.api.missing.add(collections.lvmClusters);
  assert.equal((await scene.health()).code, 0);
});

test('an API server that does not answer is not well, and is waited for', async () => {
  const scene = await applied();
  scene.api.missing.add(collections.nodes);
  scene.api.missing.add(collections.configMaps);
  assert.match(await complaints(scene), /KindMissing: GET \/api\/v1\/namespaces/);
});

test('an LVMCluster with classes wants pods that can write, and to be Ready', async () => {
  const scene = await applied();
  scene.files.delete(file);
  const storage = { deviceClasses: [{ name: 'vg1' }] };
  const cluster = { metadata: { name: 'mine', namespace }, spec: { storage } };
  scene.put(collections.lvmClusters, { ...cluster, status: { state: 'Ready' } });
  assert.match(
    await complaints(scene),
    /vg-manager is for a text, and LVMCluster mine has device classes: run `quarry edge apply`/,
  );
  assert.equal((await scene.apply()).code, 0);
  scene.play([]);
  assert.equal((await scene.health()).code, 0);
  scene.put(collections.lvmClusters, { ...cluster, status: { state: 'Failed' } });
  assert.match(await complaints(scene), /LVMCluster mine is Failed/);
  scene.files.set(file, own);
  assert.match(await complaints(scene), /LVMCluster mine: it has device classes .*is there, too/);
});
