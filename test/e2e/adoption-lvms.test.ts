import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { buildLvms, lvmClusterPath, lvmsSide, namespace } from '../../bench/kube/lvms.ts';
import type { Side } from '../../bench/kube/side.ts';
import { GiB } from '../../lab/index.ts';
import { installKinds } from '../../lab/snapshots/index.ts';
import { groups, logicalVolumeCrd } from '../../src/api/crds/logical-volume.ts';
import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { collectionOf } from './api.ts';
import type { Claim } from './audit/look.ts';
import { byNameAlone, Guide } from './guide.ts';
import type { Layout } from './layout.ts';
import { leaveOldThings, oldThings } from './lvms-old-things.ts';
import { picture } from './lvms-picture.ts';
import { snapshotParts } from './snapshots.ts';
import { E2eStage } from './stage.ts';

const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 2n * GiB }));
const layout: Layout = {
  thick: { group: 'thick' },
  thin: { group: 'thin', pool: { name: 'pool', ratio: 5n } },
  more: { group: 'more' },
};
const theirs = ['thick', 'thin'] as const;
const ours = ['new-thick', 'new-thin', 'new-more'] as const;

/** LVMS' own programs, before us and after us, while a pod writes to both of its volumes. */
describe('a cluster that LVMS made', { timeout: 1_800_000 }, () => {
  let stage: E2eStage;
  let guide: Guide;
  let side: Side;

  before(async () => {
    const program = await buildLvms((line) => process.stderr.write(`lab: ${line}\n`));
    stage = await E2eStage.openFor(disks);
    stage.layout = layout;
    const { cluster } = stage;
    const release = byNameAlone(stage.release);
    guide = await Guide.open('docs/guides/upgrade-from-lvms.md', cluster, release);
    await installKinds(cluster, (await snapshotParts()).definitions);
    const superset = logicalVolumeCrd({ group: groups.current, hasSelectableFields: true });
    await cluster.apply([superset]); // LVMS' own has fewer fields
    const moreClasses = [await thinClass(stage)];
    side = lvmsSide(cluster, program, { disk: 'a', moreClasses, keepsLvmd: true });
    await side.install();
    await hasGroups(stage);
    for (const name of theirs) {
      await stage.claim(name, { className: `lvms-${name}`, size: '400Mi' });
    }
    await stage.pod('theirs', theirs, firstOf(stage).name);
    for (const name of theirs) await stage.exec('theirs', writerTo(name));
    await stage.audit();
  });

  after(async () => {
    await guide?.close();
    await stage?.close();
  });

  test('is taken over, and nothing moves', async () => {
    const seen = await picture(stage.cluster, 'theirs');
    await guide.paste('Before');
    await side.uninstall();
    await withoutTheirRights(stage);
    await leaveOldThings(stage.cluster, 'thin');
    await guide.paste('Stop LVMS');
    await guide.paste('Install');
    await guide.paste('What to look at');
    await isOurs(stage);
    assert.deepEqual(await oldThings(stage.cluster), []);
    await writesOn(stage);
    assert.deepEqual(await picture(stage.cluster, 'theirs'), seen);
    await stage.audit();
  });

  test('its volumes grow, and stand beside ours, in a class of ours too', async () => {
    for (const name of theirs) await grow(stage, name, '500Mi');
    const device = await firstOf(stage).devicePath('c');
    const more = { name: 'more', fstype: 'ext4', deviceSelector: { paths: [device] } };
    const operations = [{ op: 'add', path: '/spec/storage/deviceClasses/-', value: more }];
    const patch = ['--type=json', `--patch=${JSON.stringify(operations)}`];
    const target = ['lvmcluster', 'lvms', `--namespace=${namespace}`];
    await stage.cluster.kubectl(['patch', ...target, ...patch]);
    await isOurs(stage, theirs.length + 1);
    for (const name of ['thick', 'thin', 'more']) {
      await stage.claim(`new-${name}`, { className: `lvms-${name}`, size: '400Mi' });
    }
    await stage.pod('ours', ours, firstOf(stage).name);
    await stage.exec('ours', 'echo ours > /data/new-thin/word && sync');
    await writesOn(stage);
    await stage.audit();
  });

  test('is handed back, and nothing moves', async () => {
    const seen = await picture(stage.cluster, 'theirs');
    await guide.paste('Back to LVMS');
    await side.install();
    await hasGroups(stage);
    await writesOn(stage);
    assert.deepEqual(await picture(stage.cluster, 'theirs'), seen);
    await stage.audit();
  });

  test('LVMS serves its volumes and ours', async () => {
    await stage.remove('pod', 'theirs', 'ours');
    await stage.pod('again', [...theirs, ...ours]);
    for (const name of theirs) await stage.exec('again', `awk '${gap}' /data/${name}/log`);
    assert.equal(await stage.exec('again', 'cat /data/new-thin/word'), 'ours\n');
    await grow(stage, 'new-thin', '600Mi');
    await stage.audit();
    await stage.remove('pod', 'again');
    await stage.remove('pvc', ...theirs, ...ours);
    await stage.until('nothing is left', async () => (await stage.lvs()).length === 0);
    await stage.audit();
    await side.uninstall();
  });
});

function firstOf({ cluster }: E2eStage) {
  return cluster.nodes[0] ?? assert.fail();
}

/** The other one is thick. */
async function thinClass(stage: E2eStage): Promise<object> {
  return {
    ...{ name: 'thin', fstype: 'xfs' },
    deviceSelector: { paths: [await firstOf(stage).devicePath('b')] },
    thinPoolConfig: { name: 'pool', sizePercent: 80, overprovisionRatio: 5 },
  };
}

async function clusterOf({ cluster }: E2eStage): Promise<LvmCluster> {
  const found = await cluster.api.get<LvmCluster>(lvmClusterPath);
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

/** LVMS does not tell of drivers. */
async function isOurs(stage: E2eStage, classes: number = theirs.length): Promise<void> {
  await stage.until('it is ours', async () => {
    const { state, drivers, deviceClassStatuses = [] } = (await clusterOf(stage)).status ?? {};
    const isTold = drivers !== undefined && deviceClassStatuses.length === classes;
    return state === 'Ready' && isTold;
  });
}

/** Its accounts have the names of ours, and ours must do with their own rights. */
async function withoutTheirRights({ cluster }: E2eStage): Promise<void> {
  await cluster.kubectl(['delete', 'clusterrolebinding', namespace]);
}

function writerTo(name: string): string {
  const step = `echo $line >> /data/${name}/log && sync; sleep 0.2`;
  return `(line=0; while line=$((line + 1)); do ${step}; done) > /dev/null 2>&1 &`;
}

const gap = 'NR != $1 { print "line " NR " is missing"; exit 1 } END { exit NR < 10 }';

/** Every line is there, and more of them come. */
async function writesOn(stage: E2eStage): Promise<void> {
  for (const name of theirs) {
    const log = `/data/${name}/log`;
    const count = async () => Number(await stage.exec('theirs', `wc -l < ${log}`));
    await stage.exec('theirs', `awk '${gap}' ${log}`);
    const before = await count();
    await stage.until(`the pod writes to ${name}`, async () => (await count()) > before + 2);
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
