import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { buildLvms, lvmsSide, namespace } from '../../bench/kube/lvms.ts';
import type { Side } from '../../bench/kube/side.ts';
import { GiB } from '../../lab/index.ts';
import { groups, logicalVolumeCrd } from '../../src/api/crds/logical-volume.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { registrationName } from '../../src/core/cluster/installed.ts';
import { collectionOf } from './api.ts';
import type { Claim } from './audit/look.ts';
import { E2eStage } from './stage.ts';

const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 2n * GiB }));
const path = `/apis/lvm.topolvm.io/v1alpha1/namespaces/${namespace}/lvmclusters/lvms`;

/** LVMS' own programs, before us and after us. */
describe('a cluster that LVMS made', { timeout: 1_800_000 }, () => {
  let stage: E2eStage;
  let install: () => Promise<void>;
  let side: Side;

  before(async () => {
    const program = await buildLvms((line) => process.stderr.write(`lab: ${line}\n`));
    ({ stage, install } = await E2eStage.openFor(disks, { namespace }));
    const ours = logicalVolumeCrd({ group: groups.current, hasSelectableFields: true });
    await stage.cluster.apply([ours]); // LVMS' own has fewer fields
    side = lvmsSide(stage.cluster, program, 'a', [await thinClass(stage)]);
    await side.install();
    await hasGroups(stage);
    await stage.claim('thick', { className: 'lvms-thick', size: '400Mi' });
    await stage.claim('thin', { className: 'lvms-thin', size: '400Mi' });
    await stage.pod('theirs', ['thick', 'thin']);
    await stage.exec('theirs', 'echo one > /data/thick/word; echo two > /data/thin/word; sync');
  });

  after(async () => {
    await stage?.close();
  });

  test('is taken over, and nothing moves', async () => {
    const seen = await picture(stage);
    const { uid } = (await clusterOf(stage)).metadata;
    await side.uninstall();
    await withoutTheirs(stage);
    await install();
    await stage.hasDriver();
    await stage.until('it is ours', async () => {
      const { status } = await clusterOf(stage);
      return status?.state === 'Ready' && status.drivers !== undefined;
    });
    assert.deepEqual(await picture(stage), seen);
    assert.equal((await clusterOf(stage)).metadata.uid, uid);
    assert.equal(await words(stage, 'theirs'), 'one\ntwo\n');
  });

  test('its volumes grow, and stand beside ours', async () => {
    for (const name of ['thick', 'thin']) await grow(stage, name, '500Mi');
    await stage.claim('new-thick', { className: 'lvms-thick', size: '100Mi' });
    await stage.claim('new-thin', { className: 'lvms-thin', size: '400Mi' });
    await stage.pod('ours', ['new-thick', 'new-thin']);
    await stage.exec('ours', 'echo ours > /data/new-thin/word && sync');
  });

  test('is handed back, and LVMS serves its volumes and ours', async () => {
    await withoutOurs(stage);
    await side.install();
    await hasGroups(stage);
    await stage.remove('pod', 'theirs', 'ours');
    await stage.pod('again', ['thick', 'thin', 'new-thick', 'new-thin']);
    assert.equal(await words(stage, 'again'), 'one\ntwo\n');
    assert.equal(await stage.exec('again', 'cat /data/new-thin/word'), 'ours\n');
    await grow(stage, 'new-thin', '600Mi');
    await stage.remove('pod', 'again');
    await stage.remove('pvc', 'thick', 'thin', 'new-thick', 'new-thin');
    await stage.until('nothing is left', async () => (await stage.lvs()).length === 0);
    await side.uninstall();
  });
});

/** The other one is thick. */
async function thinClass({ cluster }: E2eStage): Promise<object> {
  const [first] = cluster.nodes;
  assert.ok(first !== undefined);
  return {
    ...{ name: 'thin', fstype: 'xfs' },
    deviceSelector: { paths: [await first.devicePath('b')] },
    thinPoolConfig: { name: 'pool', sizePercent: 80, overprovisionRatio: 5 },
  };
}

async function clusterOf({ cluster }: E2eStage): Promise<LvmCluster> {
  const found = await cluster.api.get<LvmCluster>(path);
  assert.ok(found !== undefined);
  return found;
}

/** LVMS waits for its DaemonSet for ever: its programs are processes of the nodes here. */
async function hasGroups(stage: E2eStage): Promise<void> {
  await stage.until('its groups are ready', async () => {
    const { conditions = [] } = (await clusterOf(stage)).status ?? {};
    return conditions.some(({ type, status }) => type === 'VolumeGroupsReady' && status === 'True');
  });
}

/** Its programs go; the LVMCluster and all that it made stays. */
async function withoutTheirs({ cluster }: E2eStage): Promise<void> {
  const inNamespace = `--namespace=${namespace}`;
  await cluster.kubectl(['delete', 'deployment', 'lvms-operator', inNamespace]);
  await cluster.kubectl(['delete', 'daemonset', 'vg-manager', inNamespace, '--ignore-not-found']);
  await cluster.kubectl(['delete', 'clusterrolebinding', namespace]);
}

async function withoutOurs({ cluster }: E2eStage): Promise<void> {
  const inNamespace = `--namespace=${namespace}`;
  const words = ['deployment/lvms-operator', 'daemonset/vg-manager', inNamespace];
  await cluster.kubectl(['delete', ...words, '--wait']);
  for (const kind of ['validating', 'mutating']) {
    await cluster.kubectl(['delete', `${kind}webhookconfiguration`, registrationName]);
  }
}

async function grow(stage: E2eStage, name: string, size: string): Promise<void> {
  const claim = `${collectionOf('pvc')}/${name}`;
  const body = { spec: { resources: { requests: { storage: size } } } };
  const patch = `--patch=${JSON.stringify(body)}`;
  await stage.cluster.kubectl(['patch', 'pvc', name, patch]);
  await stage.until(`${name} has grown to ${size}`, async () => {
    const found = await stage.cluster.api.get<Claim>(claim);
    return found?.status.capacity?.storage === size;
  });
}

function words(stage: E2eStage, pod: string): Promise<string> {
  return stage.exec(pod, 'cat /data/thick/word /data/thin/word');
}

/** What must not change while one goes and the other comes. */
async function picture({ cluster }: E2eStage): Promise<object> {
  const names = ['get', 'pod', 'theirs', '--output=jsonpath={.status.containerStatuses}'];
  const nodes = await Promise.all(
    cluster.nodes.map(async (node) => ({
      mounts: await node.sh("grep 'kubernetes.io~csi' /proc/self/mountinfo || true"),
      groups: await node.sh('lvm vgs --noheadings --options vg_name,vg_uuid,vg_tags,pv_count'),
      volumes: await node.sh(
        'lvm lvs --all --noheadings --options vg_name,lv_name,lv_uuid,lv_size',
      ),
    })),
  );
  return { nodes, container: await cluster.kubectl(names) };
}
