import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { buildTopolvm } from '../../bench/kube/topolvm.ts';
import { GiB } from '../../lab/index.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { collectionOf } from './api.ts';
import type { Claim } from './audit/look.ts';
import { auditedBy } from './audited.ts';
import { EdgeHost, namespace } from './edge-host.ts';
import { raid1 } from './layout.ts';
import { layouts, OldMicroShift } from './old-microshift.ts';
import { send } from './send.ts';
import type { E2eStage } from './stage.ts';

const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 6n * GiB }));
const file = `device-classes:
- {name: default, volume-group: rhel, spare-gb: 1, default: true}
- {name: mirror, volume-group: mirrored, spare-gb: 0, lvcreate-options: [--type=raid1]}
socket-name: /run/lvmd/lvmd.sock
`;

type Step = {
  readonly name: string;
  readonly go: (host: EdgeHost, old: OldMicroShift) => Promise<void>;
};

/** From TopoLVM to us; each of them may be the last before something happens. */
const steps: readonly Step[] = [
  { name: 'the files are on the host', go: (host) => update(host) },
  { name: 'the manifests are applied', go: (host) => host.applyManifests() },
  {
    name: 'the old programs are gone',
    go: async (host, old) => {
      const { text } = await host.edge('apply --replace-topolvm');
      assert.match(text, /DaemonSet openshift-storage\/topolvm-node of TopoLVM is deleted/);
      await old.stop();
    },
  },
  {
    name: 'the DaemonSet is there',
    go: async (host) => {
      const { code, text } = await host.run('systemctl restart quarry-edge.service');
      assert.equal(code, 0, text);
    },
  },
  {
    name: 'the agent serves',
    go: async (host) => {
      const { code, text } = await host.greenboot();
      assert.equal(code, 0, text);
    },
  },
];

/** One after the other: each goes on where the one before ended. */
describe('from the TopoLVM that MicroShift brought', { timeout: 2_700_000 }, () => {
  let host: EdgeHost;
  let stage: E2eStage;
  let old: OldMicroShift;
  let born: object;
  const story = auditedBy(() => stage);

  before(async () => {
    await buildTopolvm((line) => process.stderr.write(`lab: ${line}\n`));
    host = await EdgeHost.open(disks);
    ({ stage } = host);
    const [a, b, c] = await Promise.all(disks.map(({ name }) => host.node.devicePath(name)));
    await host.node.sh(`vgcreate --yes rhel ${a} && vgcreate --yes mirrored ${b} ${c}`);
    stage.layout = {
      '': { group: 'rhel', spareBytes: GiB },
      mirror: { group: 'mirrored', raid: raid1 },
    };
    old = new OldMicroShift(host, file);
    await old.start(layouts[0]);
    await stage.claim('plain', { className: 'topolvm-provisioner', size: '400Mi' });
    await stage.claim('mirrored', { className: 'mirror', size: '400Mi' });
    await stage.pod('app', ['plain', 'mirrored']);
    await stage.exec(
      'app',
      'for one in plain mirrored; do echo $one > /data/$one/word; done; sync',
    );
    born = await identity(stage);
  });

  after(async () => {
    await stage?.close();
  });

  const ends = steps.flatMap(({ name }, index) => [
    { name, index, isCut: true },
    { name, index, isCut: false },
  ]);
  for (const [round, { name, index, isCut }] of ends.entries()) {
    const how = isCut ? 'the power is cut' : 'it is left';
    test(`${name} and ${how}: TopoLVM is back, and pods have what they had`, async () => {
      const pod = await containerOf(stage);
      for (const step of steps.slice(0, index + 1)) await step.go(host, old);
      if (isCut) {
        await stage.cutPower('n1');
        old.lost();
        await update(host);
      }
      await goBack(host);
      if (index < 2 && !isCut) await old.stop();
      await old.start(layouts[(round + 1) % 2] ?? layouts[0]);
      await stage.ready('app');
      if (!isCut) assert.equal(await containerOf(stage), pod, 'the pod did not notice');
      assert.equal(await words(stage), 'plain\nmirrored\n');
      assert.deepEqual(await identity(stage), born);
      await grow(stage, 'plain', `${401 + round * 8}Mi`);
      await grow(stage, 'mirrored', `${401 + round * 8}Mi`);
      await stage.audit(toldByThem);
    });
  }

  story('all of it in one start, while a pod writes', async () => {
    const pod = await containerOf(stage);
    await stage.exec('app', `(${writer}) > /dev/null 2>&1 &`);
    await update(host);
    const going = host.restart();
    await stage.until('the old programs are gone', async () => (await oldPrograms(stage)) === '');
    await old.stop();
    const { code, text } = await going;
    assert.equal(code, 0, text);
    const health = await host.greenboot();
    assert.equal(health.code, 0, health.text);
    assert.equal(await containerOf(stage), pod, 'the pod did not notice');
    assert.deepEqual(await identity(stage), born);
    assert.equal(await host.configMap(), file);
    const gap = 'NR != $1 { print "line " NR " is missing"; exit 1 } END { exit NR < 10 }';
    await stage.exec('app', `awk '${gap}' /data/mirrored/log`);
    const { state, conditions = [] } = (await clusterOf(stage)).status ?? {};
    assert.equal(state, 'Ready');
    assert.ok(conditions.some(({ reason }) => reason === 'VGsUnmanaged'));
  });

  story('everything works on: old volumes grow, and new ones are made, mirrored too', async () => {
    for (const name of ['plain', 'mirrored']) await grow(stage, name, '500Mi');
    await stage.claim('new-plain', { className: 'topolvm-provisioner', size: '400Mi' });
    await stage.claim('new-mirrored', { className: 'mirror', size: '400Mi' });
    await stage.pod('new', ['new-plain', 'new-mirrored']);
    await stage.exec('new', 'echo new > /data/new-mirrored/word && sync');
    assert.match((await stage.lvOf('new-mirrored')).attributes, /^r/);
    assert.match((await stage.lvOf('mirrored')).attributes, /^r/);
  });

  story('an LVMCluster without a word, as MicroShift makes it, means the same', async () => {
    await stage.cluster.kubectl(['delete', 'lvmcluster', 'lvms', `--namespace=${namespace}`]);
    const metadata = { name: 'lvms', namespace };
    await stage.cluster.apply([
      { apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', metadata },
    ]);
    await stage.until('it is Ready', async () => {
      const { state, conditions = [] } = (await clusterOf(stage)).status ?? {};
      return state === 'Ready' && conditions.some(({ reason }) => reason === 'VGsUnmanaged');
    });
    assert.equal((await host.greenboot()).code, 0);
    assert.equal(await words(stage), 'plain\nmirrored\n');
  });

  story('logs are where they are said to be', async () => {
    const { spec } = await stage.boundClaim('new-mirrored');
    const words = ['logs', 'daemonset/vg-manager', '--container=vg-manager'];
    const text = await stage.cluster.kubectl([...words, `--namespace=${namespace}`]);
    assert.match(text, new RegExp(`${spec.volumeName}`), 'what the controller says');
    assert.match(text, /serving CSI on/, 'what the node says');
    const described = ['describe', 'lvmcluster', 'lvms', `--namespace=${namespace}`];
    assert.match(await stage.cluster.kubectl(described), /VGsUnmanaged/);
  });

  test('back again, and TopoLVM serves what was made meanwhile', async () => {
    const pod = await containerOf(stage);
    await goBack(host);
    await old.start(layouts[1]);
    assert.equal(await containerOf(stage), pod);
    await stage.remove('pod', 'app', 'new');
    await stage.pod('all', ['plain', 'mirrored', 'new-plain', 'new-mirrored']);
    const said = 'cat /data/plain/word /data/mirrored/word /data/new-mirrored/word';
    assert.equal(await stage.exec('all', said), 'plain\nmirrored\nnew\n');
    await grow(stage, 'new-mirrored', '450Mi');
    await stage.remove('pod', 'all');
    await stage.remove('pvc', 'plain', 'mirrored', 'new-plain', 'new-mirrored');
    await stage.until('nothing is left', async () => (await stage.lvs()).length === 0);
    await stage.audit(toldByThem);
    await old.stop();
  });
});

/** Capacities of the stock provisioner are its own. */
const toldByThem = /^capacity of /;

const writer = 'n=0; while n=$((n + 1)); do echo $n >> /data/mirrored/log && sync; sleep 0.1; done';

/** The next image of the host. */
async function update(host: EdgeHost): Promise<void> {
  await host.lay();
  await host.runGuide('## From the TopoLVM that MicroShift brought');
}

async function goBack(host: EdgeHost): Promise<void> {
  await host.runGuide('## Back to TopoLVM');
}

function oldPrograms({ cluster }: E2eStage): Promise<string> {
  const words = ['get', 'deployments,daemonsets', `--namespace=${namespace}`, '--output=name'];
  return cluster.kubectl([...words, '--selector=app.kubernetes.io/name=topolvm-csi-driver']);
}

function words(stage: E2eStage): Promise<string> {
  return stage.exec('app', 'cat /data/plain/word /data/mirrored/word');
}

async function grow(stage: E2eStage, name: string, size: string): Promise<void> {
  const claim = `${collectionOf('pvc')}/${name}`;
  await send(stage, 'PATCH', claim, { spec: { resources: { requests: { storage: size } } } });
  await stage.until(`${name} has grown to ${size}`, async () => {
    const found = await stage.cluster.api.get<Claim>(claim);
    const { capacity, conditions = [] } = found?.status ?? {};
    const given = Number.parseInt(capacity?.storage ?? '', 10);
    return given >= Number.parseInt(size, 10) && conditions.length === 0;
  });
}

/** The container as it was started. */
function containerOf({ cluster }: E2eStage): Promise<string> {
  const path = '{.status.containerStatuses[0].containerID}';
  return cluster.kubectl(['get', 'pod', 'app', `--output=jsonpath=${path}`]);
}

/** What is kept: kinds and classes, objects of volumes, and the LVs themselves. */
async function identity({ cluster }: E2eStage): Promise<object> {
  const uids = async (...kinds: readonly string[]) =>
    cluster.kubectl(['get', ...kinds, '--output=jsonpath={.items[*].metadata.uid}']);
  const [node] = cluster.nodes;
  return {
    classes: await uids('storageclasses'),
    kinds: await cluster.kubectl([
      ...['get', 'crd', 'logicalvolumes.topolvm.io', '--output=jsonpath={.metadata.uid}'],
    ]),
    volumes: await uids('pv,pvc,logicalvolumes.topolvm.io'),
    lvs: await node?.sh('lvm lvs --noheadings --options vg_name,lv_name,lv_uuid,lv_layout'),
  };
}

async function clusterOf({ cluster }: E2eStage): Promise<LvmCluster> {
  const path = `/apis/lvm.topolvm.io/v1alpha1/namespaces/${namespace}/lvmclusters/lvms`;
  const found = await cluster.api.get<LvmCluster>(path);
  assert.ok(found !== undefined);
  return found;
}
