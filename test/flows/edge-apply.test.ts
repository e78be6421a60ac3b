import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { OperationError } from '../../src/base/failures.ts';
import { isContained } from '../../src/core/edge/plan.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { readRelease } from '../../tools/manifests.ts';
import { microShiftSettings } from '../../tools/manifests-objects.ts';
import { allDaemonSet } from '../../tools/manifests-workloads.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { EdgeScene, file, namespace } from './edge-scene.ts';

const own = [
  'device-classes:',
  '- default: true',
  '  name: "user-provided-config"',
  '  volume-group: data',
  '  spare-gb: 1 # in GB',
  'socket-name: /run/lvmd/lvmd.sock',
  '',
].join('\n');

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

test('the file goes into the ConfigMap as it stands, and the DaemonSet bears its checksum', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  const { code, text } = await scene.apply();
  assert.equal(code, 0, text);
  assert.equal(scene.lvmd, own);
  assert.equal(scene.checksum, sha256(own));
  assert.deepEqual(scene.writes, ['create configmaps', 'create daemonsets']);
  const { annotations } = scene.daemonSet?.spec.template.metadata ?? {};
  assert.equal(annotations?.['quarry.io/lvmd-socket'], '/run/lvmd/lvmd.sock');
  assert.match(text, /lvmd\.yaml gives user-provided-config/);
});

test('the DaemonSet is that of the manifests, with the ConfigMap in the place of the file', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  const manifest = allDaemonSet(microShiftSettings(readRelease()));
  assert.ok(isContained(manifest, { ...manifest, ...scene.daemonSet }));
  const pod = JSON.stringify(scene.daemonSet?.spec.template.spec);
  assert.match(pod, /\{"name":"lvmd","configMap":\{"name":"lvmd"\}\}/);
});

test('a second run writes nothing at all, whatever the server filled in', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  const set = scene.daemonSet;
  assert.ok(set !== undefined);
  const { template } = set.spec;
  const containers = (template.spec?.containers ?? []).map((container) => ({
    ...container,
    imagePullPolicy: 'IfNotPresent',
    env: (container['env'] as { readonly name: string; readonly value?: string }[]).map((one) =>
      one.value === '' ? { name: one.name } : one,
    ),
  }));
  const spec = { ...template.spec, containers, dnsPolicy: 'ClusterFirst' };
  const metadata = { ...set.metadata, annotations: { ...set.metadata.annotations, theirs: 'x' } };
  const filled = { ...set.spec, revisionHistoryLimit: 10, template: { ...template, spec } };
  scene.put(collections.daemonSets, { ...set, metadata, spec: filled });
  const [before, { length }] = [scene.template, scene.writes];
  const { code, text } = await scene.apply();
  assert.equal(code, 0);
  assert.match(text, /Nothing has changed/);
  assert.deepEqual(scene.writes.slice(length), []);
  assert.equal(scene.template, before);
});

test('pods start anew when the content changed, and what others noted stays', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  const set = scene.daemonSet;
  assert.ok(set !== undefined);
  const metadata = { ...set.metadata, annotations: { theirs: 'x' } };
  scene.put(collections.daemonSets, { ...set, metadata });
  const before = scene.template;
  scene.files.set(file, `${own}# a word more\n`);
  const { code } = await scene.apply();
  assert.equal(code, 0);
  assert.notEqual(scene.template, before);
  assert.equal(scene.checksum, sha256(`${own}# a word more\n`));
  assert.deepEqual(scene.writes.slice(2), ['patch configmaps', 'update daemonsets']);
  assert.equal(scene.daemonSet?.metadata.annotations?.['theirs'], 'x');
});

test('another version of the manifests changes the DaemonSet, and the text stays', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  const [template] = scene.api.all(collections.podTemplates);
  assert.ok(template !== undefined);
  const text = JSON.stringify(template).replace('"quarry:0.1.0@', '"quarry:0.2.0@');
  scene.put(collections.podTemplates, JSON.parse(text) as object);
  assert.equal((await scene.apply()).code, 0);
  assert.match(scene.template, /quarry:0\.2\.0@/);
  assert.deepEqual(scene.writes.slice(2), ['update daemonsets']);
});

test('what another version of the manifests leaves out goes from the DaemonSet', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  const [found] = scene.api.all(collections.podTemplates);
  assert.ok(found !== undefined);
  const text = JSON.stringify(found).replace('"terminationGracePeriodSeconds":150,', '');
  assert.match(scene.template, /terminationGracePeriodSeconds/);
  scene.put(collections.podTemplates, JSON.parse(text) as object);
  assert.equal((await scene.apply()).code, 0);
  assert.doesNotMatch(scene.template, /terminationGracePeriodSeconds/);
  assert.match((await scene.apply()).text, /Nothing has changed/);
});

test('killed after any write, the next run comes to the same end', async () => {
  const ends = new Set<string>();
  for (const isFirst of [true, false]) {
    for (const lives of [[1], [2], [1, 1]]) {
      const scene = await EdgeScene.begin();
      if (!isFirst) {
        scene.files.set(file, own.replace('spare-gb: 1', 'spare-gb: 2'));
        await scene.apply();
      }
      scene.files.set(file, own);
      for (const writes of lives) {
        const { code } = await scene.apply({ writes });
        assert.equal(code, undefined, 'it was killed');
        const isTold = scene.checksum === sha256(own);
        assert.ok(!isTold || scene.lvmd === own, 'no pod is told of a text that is not there');
      }
      assert.equal((await scene.apply()).code, 0);
      ends.add(JSON.stringify([scene.lvmd, scene.daemonSet?.spec]));
      const { length } = scene.writes;
      assert.equal((await scene.apply()).code, 0);
      assert.equal(scene.writes.length, length);
    }
  }
  assert.equal(ends.size, 1);
});

test('an answer that is lost leaves nothing half done', async () => {
  for (const lost of [1, 2]) {
    const scene = await EdgeScene.begin();
    scene.files.set(file, own);
    const { code } = await scene.apply({ lost });
    assert.ok(code instanceof KubeError);
    assert.equal((await scene.apply()).code, 0);
    assert.deepEqual(scene.writes, ['create configmaps', 'create daemonsets']);
    assert.deepEqual([scene.lvmd, scene.checksum], [own, sha256(own)]);
  }
});

const faults: readonly (readonly [string, string, RegExp])[] = [
  [
    'a volume group that is not there',
    own.replace('volume-group: data', 'volume-group: non_existent_volume_group'),
    /lvmd\.yaml:4: device-classes\[0\]\.volume-group is "non_existent_volume_group": there is no such volume group on this node: create it with `vgcreate non_existent_volume_group DEVICE`, or name one that is here: data/,
  ],
  [
    'a thin pool that is not there',
    own.replace('spare-gb: 1', 'type: thin\n  thin-pool: {name: nopool, overprovision-ratio: 1}'),
    /nopool.*there is no such thin pool in data: create it/,
  ],
  [
    'a value that is none',
    own.replace('spare-gb: 1', 'spare-gb: "1"'),
    /lvmd\.yaml:5: device-classes\[0\]\.spare-gb is "1": write a whole number/,
  ],
  ['no YAML', 'device-classes: [', /lvmd\.yaml:\d+: /],
  ['nothing', '', /device-classes is missing: list at least one device class/],
];

for (const [what, text, words] of faults) {
  test(`a file with ${what} changes nothing, and it is said where and what to do`, async () => {
    const scene = await EdgeScene.begin();
    scene.files.set(file, text);
    const first = await scene.apply();
    assert.ok(first.code instanceof OperationError, first.text);
    assert.equal(first.code.code, 'InvalidConfiguration');
    assert.match(first.text, /lvmd\.yaml cannot be used, and nothing was changed:\n/);
    assert.match(first.text, words);
    assert.deepEqual(scene.writes, []);
    scene.files.set(file, own);
    await scene.apply();
    const [before, { length }] = [scene.template, scene.writes];
    scene.files.set(file, text);
    assert.ok((await scene.apply()).code instanceof OperationError);
    assert.deepEqual([scene.lvmd, scene.template], [own, before]);
    assert.equal(scene.writes.length, length);
  });
}

test('without a file the documented default is used where its group is', async () => {
  const scene = await EdgeScene.begin();
  scene.defaultGroup = 'data';
  const { code, text } = await scene.apply();
  assert.equal(code, 0, text);
  assert.equal(
    scene.lvmd,
    [
      'device-classes:',
      '  - name: default',
      '    volume-group: "data"',
      '    default: true',
      '    spare-gb: 10',
      'socket-name: /run/lvmd/lvmd.sock',
      '',
    ].join('\n'),
  );
  assert.equal(scene.checksum, sha256(scene.lvmd ?? ''));
  assert.match(text, /There is no \/etc\/microshift\/lvmd\.yaml: the default gives class default/);
});

test('without a file and without that group nothing is deployed, and it says why', async () => {
  const scene = await EdgeScene.begin();
  const { code, text } = await scene.apply();
  assert.equal(code, 0);
  assert.match(text, /there is no \/etc\/microshift\/lvmd\.yaml, and no volume group rhel on this/);
  assert.match(text, /Nothing is deployed\.$/);
  assert.deepEqual(scene.writes, []);
});

test('a file that was taken away takes nothing away', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  scene.files.delete(file);
  const { code, text } = await scene.apply();
  assert.equal(code, 0);
  assert.match(text, /What was deployed before stays as it is\.$/);
  assert.equal(scene.lvmd, own);
  assert.equal(scene.writes.length, 2);
});

test('before the manifests are there nothing is written, and it is tried again later', async () => {
  const scene = await EdgeScene.begin();
  scene.api.delete(collections.podTemplates, 'vg-manager', namespace);
  scene.files.set(file, own);
  const { code, text } = await scene.apply();
  assert.equal(code, 75);
  assert.match(text, /there is no PodTemplate openshift-storage\/vg-manager yet: apply deploy/);
  assert.deepEqual(scene.writes, []);
  scene.install();
  assert.equal((await scene.apply()).code, 0);
});

test('somebody else’s DaemonSet is not touched', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  const labels = { 'app.kubernetes.io/name': 'vg-manager' };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'vg-manager' }] } };
  const metadata = { name: 'vg-manager', namespace };
  scene.put(collections.daemonSets, {
    ...{ metadata, spec: { selector: { matchLabels: labels }, template } },
  });
  const { code, text } = await scene.apply();
  assert.equal(code, 1);
  assert.match(text, /selects pods by .*somebody else made it.*Delete it, which touches no volume/);
  assert.deepEqual(scene.writes, []);
});

test('a kind that is not served is told, and nothing is written', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  scene.api.missing.add(collections.daemonSets);
  const { code } = await scene.apply();
  assert.ok(code instanceof KubeError);
  assert.deepEqual(scene.writes, []);
});

test('lvm is run as the file wants it', async () => {
  const scene = await EdgeScene.begin();
  const prefix = ['/usr/bin/nsenter', '-t', '1', '/usr/sbin/lvm'];
  scene.files.set(file, `${own}lvm-command-prefix: ${JSON.stringify(prefix)}\n`);
  assert.equal((await scene.apply()).code, 0);
  assert.deepEqual(scene.lvm, prefix);
});

test('what is odd in a file is told and stops nothing', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own.replace('device-classes', 'deviceClasses'));
  const { code, text } = await scene.apply();
  assert.equal(code, 0);
  assert.match(text, /deviceClasses.*it is read as device-classes/);
});

function putCluster(scene: EdgeScene, classes: readonly string[]): void {
  const storage = { deviceClasses: classes.map((name) => ({ name })) };
  const metadata = { name: 'mine', namespace };
  scene.put(collections.lvmClusters, { metadata, spec: { storage } });
}

test('an LVMCluster with classes gets agents that can write lvmd.yaml, and no text', async () => {
  const scene = await EdgeScene.begin();
  putCluster(scene, ['vg1']);
  const { code, text } = await scene.apply();
  assert.equal(code, 0, text);
  assert.match(text, /LVMCluster mine has device classes: agents write lvmd\.yaml of this host/);
  assert.deepEqual(scene.writes, ['create daemonsets']);
  assert.match(scene.template, /"name":"lvmd","hostPath":\{"path":"\/etc\/topolvm"/);
  assert.match((await scene.apply()).text, /Nothing has changed\./);
});

test('an LVMCluster with classes beside a file is refused until one of them goes', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  await scene.apply();
  putCluster(scene, ['vg1']);
  const { length } = scene.writes;
  const both = await scene.apply();
  assert.ok(both.code instanceof OperationError);
  assert.match(both.text, /LVMCluster mine cannot be used, and nothing was changed:/);
  assert.match(both.text, /it has device classes \(vg1\), and .*lvmd\.yaml is there, too/);
  assert.equal(scene.writes.length, length);
  scene.files.delete(file);
  assert.equal((await scene.apply()).code, 0);
  assert.equal(scene.checksum, undefined);
  assert.equal(scene.lvmd, own, 'it stays for whoever wants to know');
  scene.api.delete(collections.lvmClusters, 'mine', namespace);
  scene.files.set(file, own);
  assert.equal((await scene.apply()).code, 0);
  assert.equal(scene.checksum, sha256(own));
  assert.match(scene.template, /"configMap":\{"name":"lvmd"\}/);
});

test('TopoLVM is taken away when that is asked for, one program at a time, and then comes ours', async () => {
  const scene = await EdgeScene.begin();
  scene.files.set(file, own);
  scene.put(collections.deployments, { metadata: { name: 'topolvm-controller', namespace } });
  const spec = { template: {} };
  scene.put(collections.daemonSets, { metadata: { name: 'topolvm-node', namespace }, spec });
  scene.put(collections.pods, { metadata: { name: 'topolvm-node-x7k2p', namespace } });
  const asked = await scene.apply();
  assert.equal(asked.code, 1);
  assert.match(asked.text, /topolvm-controller is there, and two cannot serve one node: delete it/);
  assert.deepEqual(scene.writes, []);
  const replacesTopolvm = true;
  assert.equal((await scene.apply({ replacesTopolvm, writes: 1 })).code, undefined, 'killed');
  const { code, text } = await scene.apply({ replacesTopolvm });
  assert.equal(code, 75);
  assert.match(text, /TopoLVM is still ending: topolvm-node-x7k2p/);
  assert.deepEqual(scene.writes, ['delete deployments', 'delete daemonsets']);
  scene.api.delete(collections.pods, 'topolvm-node-x7k2p', namespace);
  assert.equal((await scene.apply({ replacesTopolvm })).code, 0);
  assert.equal(scene.lvmd, own);
});
