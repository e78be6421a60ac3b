import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { GiB } from '../../lab/index.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { defaultLvmd } from '../../src/core/edge/desired.ts';
import { checksumAnnotation, socketAnnotation } from '../../src/core/edge/plan.ts';
import { auditedBy } from './audited.ts';
import { EdgeHost, lvmdPath, namespace } from './edge-host.ts';
import type { Place } from './layout.ts';
import { send } from './send.ts';
import type { E2eStage } from './stage.ts';

const disks = [
  { name: 'a', sizeBytes: 16n * GiB },
  { name: 'b', sizeBytes: 2n * GiB },
  { name: 'c', sizeBytes: 2n * GiB },
];
const rhel: Place = { group: 'rhel', spareBytes: 10n * GiB, foreign: ['root'] };

/** MicroShift's design has these, to the letter. */
const custom = `deviceClasses:
- default: true
  name: "user-provided-config"
  volume-group: rhel
  spare-gb: 10 # in GB
socket-name: /run/lvmd/lvmd.sock
`;
const malformed = custom.replace('rhel', 'non_existent_volume_group');
const workload = `kind: PersistentVolumeClaim
apiVersion: v1
metadata:
  name: my-lv-pvc
  namespace: default
spec:
  accessModes:
  - ReadWriteOnce
  resources:
    requests:
      storage: 1G
---
apiVersion: v1
kind: Pod
metadata:
  name: my-pod
  namespace: default
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: quarry.lab/busybox:1
    imagePullPolicy: Never
    command: [sh, -c]
    args: [sleep 1000000]
    volumeMounts:
    - mountPath: /mnt
      name: my-volume
  volumes:
    - name: my-volume
      persistentVolumeClaim:
        claimName: my-lv-pvc
`;

/** One after the other: each goes on where the one before ended. */
describe('a device whose owner has a file', { timeout: 1_800_000 }, () => {
  let host: EdgeHost;
  let stage: E2eStage;
  /** What must be the same in the end. */
  let born = '';
  const story = auditedBy(() => stage);

  before(async () => {
    host = await EdgeHost.open(disks);
    ({ stage } = host);
  });

  after(async () => {
    await stage?.close();
  });

  test('no file and no such group: nothing is deployed, and that is well', async () => {
    const app = '/etc/microshift/manifests.d/app';
    await host.write(`${app}/kustomization.yaml`, 'resources: [workload.yaml]\n');
    await host.write(`${app}/workload.yaml`, workload);
    await host.lay();
    const { code, text } = await host.restart();
    assert.equal(code, 0, text);
    assert.match(text, /there is no \/etc\/microshift\/lvmd\.yaml, and no volume group rhel/);
    assert.match(text, /Nothing is deployed/);
    assert.equal(await host.configMap(), undefined);
    assert.equal(await host.daemonSet(), undefined);
    assert.equal((await host.greenboot()).code, 0);
    // A scheduler that has just started may choose the node before it has read of the driver.
    await stage.waitsFor('my-pod', /did not have enough free storage|unbound immediate/);
    born = await identityOf(stage);
  });

  story(
    'no file, and the group is there: the default, and who waited is bound untouched',
    async () => {
      const path = await host.node.devicePath('a');
      await host.node.sh(
        `vgcreate --yes rhel ${path} && lvcreate --yes --size 1g --name root rhel`,
      );
      stage.layout = { '': rhel };
      const before = await host.edge('health --timeout 3');
      assert.equal(before.code, 1, before.text);
      assert.match(before.text, /there is no ConfigMap .*quarry edge apply/);
      assert.equal((await host.restart()).code, 0);
      await isInForce(host, defaultLvmd('rhel'));
      const { code, text } = await host.greenboot();
      assert.equal(code, 0, text);
      await stage.ready('my-pod');
      assert.equal(await identityOf(stage), born);
      await stage.exec('my-pod', 'echo first > /mnt/word && sync');
      assert.equal((await stage.lvOf('my-lv-pvc')).group, 'rhel');
      assert.equal(await stateOf(stage), 'Ready');
    },
  );

  story('the same again changes nothing', async () => {
    const life = await host.life();
    const version = (await host.daemonSet())?.metadata.resourceVersion;
    const { code, text } = await host.restart();
    assert.equal(code, 0);
    assert.match(text, /Nothing has changed \(sha256 [0-9a-f]{64}\)/);
    assert.equal((await host.daemonSet())?.metadata.resourceVersion, version);
    assert.equal(await host.life(), life);
  });

  story('a file of the owner: its class is served by another pod, and volumes stay', async () => {
    const life = await host.life();
    await host.write(lvmdPath, custom);
    const early = await host.edge('health --timeout 3');
    assert.equal(early.code, 1);
    assert.match(early.text, /ConfigMap .* has another text than .*lvmd\.yaml/);
    assert.equal((await host.restart()).code, 0);
    await isInForce(host, custom);
    stage.layout = { '': rhel, 'user-provided-config': rhel };
    await stage.storageClass('user', { deviceClass: 'user-provided-config', fsType: 'xfs' });
    const { code, text } = await host.greenboot();
    assert.equal(code, 0, text);
    await anotherLife(host, life);
    await serves(stage, 'custom', 'user');
    assert.equal(await stage.exec('my-pod', 'cat /mnt/word'), 'first\n');
  });

  story('a file with a fault: nothing changes, and who runs goes on', async () => {
    const life = await host.life();
    await host.write(lvmdPath, malformed);
    const { code, text } = await host.restart();
    assert.equal(code, 2, text);
    assert.match(text, /lvmd\.yaml:4: .*volume-group is "non_existent_volume_group": there is no/);
    assert.match(text, /name one that is here: rhel/);
    await isInForce(host, custom);
    assert.equal(await host.life(), life);
    const health = await host.edge('health --timeout 10');
    assert.equal(health.code, 1);
    assert.match(health.text, /non_existent_volume_group/);
    await serves(stage, 'meanwhile', 'user');
    assert.equal(await stage.exec('my-pod', 'cat /mnt/word'), 'first\n');
    assert.equal(await host.life(), life);
  });

  story('corrected it is rolled out', async () => {
    const life = await host.life();
    const corrected = custom.replace('spare-gb: 10', 'spare-gb: 9');
    await host.write(lvmdPath, corrected);
    assert.equal((await host.restart()).code, 0);
    await isInForce(host, corrected);
    const nine = { ...rhel, spareBytes: 9n * GiB };
    stage.layout = { '': nine, 'user-provided-config': nine };
    assert.equal((await host.greenboot()).code, 0);
    await anotherLife(host, life);
    await serves(stage, 'corrected', 'user');
  });

  story('a text that is edited under an agent is read again in place', async () => {
    const path = await host.node.devicePath('b');
    await host.node.sh(`vgcreate --yes extra ${path}`);
    const life = await host.life();
    const more = `${custom}- {name: extra, volume-group: extra, spare-gb: 0}\n`;
    const edited = more.replace('socket-name: /run/lvmd/lvmd.sock\n', '');
    await editText(stage, edited);
    stage.layout = { '': rhel, 'user-provided-config': rhel, extra: { group: 'extra' } };
    await stage.until('the new class is told', async () => {
      const node = await stage.cluster.kubectl(['get', 'node', 'n1', '--output=yaml']);
      return node.includes('capacity.topolvm.io/extra');
    });
    await stage.storageClass('extra', { deviceClass: 'extra', fsType: 'ext4' });
    await serves(stage, 'extra', 'extra');
    assert.equal(await host.life(), life);
    await stage.audit();

    await editText(stage, edited.replaceAll('rhel', 'nowhere'));
    await stage.until('the fault is told', async () => (await stateOf(stage)) === 'Degraded');
    await serves(stage, 'edited', 'extra');
    assert.equal(await host.life(), life);
    const health = await host.edge('health --timeout 10');
    assert.equal(health.code, 1);
    assert.match(health.text, /LVMCluster lvms is Degraded: .*nowhere/);

    await host.write(lvmdPath, edited);
    assert.equal((await host.restart()).code, 0);
    await isInForce(host, edited);
    assert.equal((await host.greenboot()).code, 0);
    await anotherLife(host, life);
  });

  story('a host that loses its power comes back with all of it', async () => {
    await stage.cutPower('n1');
    await host.lay();
    assert.equal((await host.restart()).code, 0);
    const { code, text } = await host.greenboot();
    assert.equal(code, 0, text);
    await stage.ready('my-pod');
    assert.equal(await identityOf(stage), born);
    assert.equal(await stage.exec('my-pod', 'cat /mnt/word'), 'first\n');
  });

  story('what the guide says to look at can be looked at', async () => {
    const told = await host.runGuide('## When something is wrong');
    const text = told.map((one) => one.text).join('');
    assert.match(text, /Storage is well\./);
    assert.match(text, /VGsUnmanaged/);
  });

  story('an agent that is started with a fault and serves nothing yet ends with 2', async () => {
    await stage.remove('pod', 'my-pod');
    await stage.remove('pvc', 'my-lv-pvc');
    await stage.until('no volume is left', async () => (await stage.lvs()).length === 1);
    await host.remove('/etc/microshift/manifests.d/app/kustomization.yaml');
    await host.remove('/etc/microshift/manifests.d/app/workload.yaml');
    await host.node.sh('rmdir /etc/microshift/manifests.d/app');
    await editText(stage, malformed);
    await stage.until('the fault is told', async () => (await stateOf(stage)) === 'Degraded');
    await host.node.sh('rm -rf /var/lib/quarry/*');
    await stage.killOurs();
    await stage.until('it crashes', async () => {
      const [agent] = await host.agents();
      const [container] = agent?.status?.containerStatuses ?? [];
      const { state, lastState } = container ?? {};
      return state?.waiting?.reason === 'CrashLoopBackOff' && lastState?.terminated?.exitCode === 2;
    });
    const words = ['logs', 'daemonset/vg-manager', `--namespace=${namespace}`];
    // Between two lives the newest log is empty.
    await stage.until('its log says why', async () =>
      (await stage.cluster.kubectl(words)).includes('non_existent_volume_group'),
    );
    const health = await host.edge('health --timeout 5');
    assert.equal(health.code, 1);
    assert.match(health.text, /it ended with 2: .*non_existent_volume_group/s);

    await host.write(lvmdPath, custom);
    assert.equal((await host.restart()).code, 0);
    const { code, text } = await host.greenboot();
    assert.equal(code, 0, text);
    stage.layout = { '': rhel, 'user-provided-config': rhel };
    await stage.remove('storageclass', 'extra');
    await serves(stage, 'last', 'user');
    await stage.until('no volume is left', async () => (await stage.lvs()).length === 1);
  });

  story('an LVMCluster with classes and a file: refused; without the file it works', async () => {
    const life = await host.life();
    const cluster = ['lvmcluster', 'lvms', `--namespace=${namespace}`];
    await stage.cluster.kubectl(['delete', ...cluster, '--timeout=300s']);
    const manifest = managed(await host.node.devicePath('c'));
    await host.write('/etc/microshift/manifests.d/quarry/storage.yaml', manifest);
    const both = await host.restart();
    assert.equal(both.code, 2, both.text);
    assert.match(both.text, /it has device classes \(vg1\), and .*lvmd\.yaml is there, too/);
    assert.equal(await host.life(), life);

    await host.remove(lvmdPath);
    const { code, text } = await host.restart();
    assert.equal(code, 0, text);
    assert.match(text, /LVMCluster mine has device classes: agents write lvmd\.yaml/);
    const health = await host.greenboot();
    assert.equal(health.code, 0, health.text);
    await stage.remove('storageclass', 'user', 'topolvm-provisioner');
    stage.layout = { vg1: { group: 'vg1' }, '': rhel };
    await serves(stage, 'from-bare', 'lvms-vg1');
    assert.match(await host.node.sh('cat /etc/topolvm/lvmd.yaml'), /vg1/);
    await anotherLife(host, life);
    await stage.until('no volume is left', async () => (await stage.lvs()).length === 1);
  });
});

/** In the place of the empty one. */
function managed(path: string): string {
  return `apiVersion: lvm.topolvm.io/v1alpha1
kind: LVMCluster
metadata:
  name: mine
  namespace: ${namespace}
spec:
  storage:
    deviceClasses:
      - name: vg1
        default: true
        fstype: xfs
        deviceSelector:
          paths: [${path}]
`;
}

/** The text, and a DaemonSet for it. */
async function isInForce(host: EdgeHost, text: string): Promise<void> {
  assert.equal(await host.configMap(), text);
  const marks = (await host.daemonSet())?.spec.template.metadata?.annotations ?? {};
  assert.equal(marks[checksumAnnotation], createHash('sha256').update(text).digest('hex'));
  const socket = /^socket-name: (.*)$/m.exec(text)?.[1] ?? '/run/topolvm/lvmd.sock';
  assert.equal(marks[socketAnnotation], socket);
}

/** One pod in the place of another. */
async function anotherLife(host: EdgeHost, life: string): Promise<void> {
  const [before = ''] = life.split(' ');
  const now = await host.life();
  assert.match(now, /^[^;]* 0;$/, 'one pod that was started once');
  assert.ok(!now.includes(before), 'it is another one');
}

/** A claim of the class is bound, written to and removed. */
async function serves(stage: E2eStage, name: string, className: string): Promise<void> {
  await stage.claim(name, { className, size: '400Mi' });
  await stage.pod(name, [name]);
  await stage.exec(name, `echo ${name} > /data/${name}/word && sync`);
  await stage.remove('pod', name);
  await stage.remove('pvc', name);
}

/** Of claim and pod: nobody made them anew. */
function identityOf({ cluster }: E2eStage): Promise<string> {
  const words = ['get', 'pod/my-pod', 'pvc/my-lv-pvc'];
  return cluster.kubectl([...words, '--output=jsonpath={.items[*].metadata.uid}']);
}

/** By hand, past `quarry edge`. */
async function editText(stage: E2eStage, text: string): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/configmaps/lvmd`;
  await send(stage, 'PATCH', path, { data: { 'lvmd.yaml': text } });
}

async function stateOf({ cluster }: E2eStage): Promise<string | undefined> {
  const path = `/apis/lvm.topolvm.io/v1alpha1/namespaces/${namespace}/lvmclusters/lvms`;
  return (await cluster.api.get<LvmCluster>(path))?.status?.state;
}
