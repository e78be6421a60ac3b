import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { GiB, MiB } from '../../lab/index.ts';
import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import { registrationName } from '../../src/core/cluster/installed.ts';
import { lookAtNode } from './audit/look.ts';
import { type Layout, raid1 } from './layout.ts';
import { holdAfter, isHeld } from './lvm-cluster-killers.ts';
import { changeRules, creationRules, mirrorOf, nodesWith, warnings } from './lvm-cluster-rules.ts';
import {
  areBare,
  clusterOf,
  disksOf,
  groupOn,
  hasDevices,
  isGoing,
  isReady,
  namespace,
  path,
  refused,
  refusedBy,
  stateOf,
  staysFor,
  takeAway,
  taken,
  warned,
} from './lvm-cluster-scene.ts';
import { E2eStage } from './stage.ts';

const names = ['a', 'b', 'c', 'd'] as const;
const layout: Layout = {
  vg1: { group: 'vg1', pool: { name: 'pool', ratio: 10n } },
  vg2: { group: 'vg2' },
  vg3: { group: 'vg3' },
};

/** What happens to an LVMCluster in its life. Each begins with bare disks, and ends with them. */
describe('days of an LVMCluster', { timeout: 3_000_000 }, () => {
  let stage: E2eStage;
  /** The first is thin and the default. */
  let pool: LvmDeviceClass;
  let plain: LvmDeviceClass;

  before(async () => {
    stage = await E2eStage.openBare(names.map((name) => ({ name, sizeBytes: GiB })));
    pool = {
      ...{ name: 'vg1', default: true, fstype: 'ext4', deviceSelector: await disksOf(stage, 'a') },
      thinPoolConfig: {
        ...{ name: 'pool', sizePercent: 90, overprovisionRatio: 10 },
        ...{ metadataSizeCalculationPolicy: 'Static', metadataSize: '16Mi' },
      },
    };
    plain = { name: 'vg2', fstype: 'ext4', deviceSelector: await disksOf(stage, 'b') };
  });

  afterEach(async () => {
    stage.layout = layout;
    await takeAway(stage, names);
  });

  after(async () => {
    await stage?.close();
  });

  async function made(...classes: readonly LvmDeviceClass[]): Promise<void> {
    stage.layout = layout;
    await taken(stage, clusterOf(classes));
    await isReady(stage);
  }

  test('what is wrong with an LVMCluster is refused, and says why', async () => {
    for (const [what, draft, why] of creationRules) {
      await refused(stage, draft, why).catch(within(what));
    }
    for (const [what, draft, why] of warnings) {
      await warned(stage, draft, why).catch(within(what));
    }
    const mirror = mirrorOf(await disksOf(stage, 'c', 'd'));
    await made(pool, plain, mirror);
    stage.layout = { ...layout, vg3: { group: 'vg3', raid: raid1 } };
    for (const [what, draft, why] of changeRules(pool, plain, mirror)) {
      await refused(stage, draft, why).catch(within(what));
    }
    await isReady(stage);
    await hasDevices(stage, 'vg1', 1);
    await hasDevices(stage, 'vg2', 1);
    await stage.audit();
  });

  test('an LVMVolumeGroup is changed through its class only', async () => {
    await made(pool, plain);
    const group = `${path.replace('lvmclusters', 'lvmvolumegroups')}/vg1`;
    const ask = (method: 'DELETE' | 'PATCH', spec: object) => () =>
      stage.cluster.api.request(group, {
        ...(method === 'DELETE' ? {} : { contentType: 'application/merge-patch+json' }),
        ...(method === 'DELETE' ? {} : { body: { spec } }),
        method,
      });
    await refusedBy(stage, ask('DELETE', {}), [/take the device class vg1 out of the LVMCluster/]);
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{ thinPoolConfig: { sizePercent: 50 } }, /sizePercent is 50: keep it at 90/],
      [{ deviceSelector: { optionalPaths: ['/srv'] } }, /write a path that starts with \/dev\//],
      [{ deviceSelector: null }, /a class with paths never takes every disk/],
      [{ raidConfig: { type: 'raid1' } }, /raidConfig or thinPoolConfig, not both/],
    ];
    for (const [spec, why] of wrong) await refusedBy(stage, ask('PATCH', spec), [why]);
    await stage.audit();
  });

  test('a class comes and goes, and one with volumes stays', async () => {
    await made(pool, plain);
    await stage.claim('kept', { className: 'lvms-vg2' });
    await stage.pod('keeper', ['kept']);
    await refused(stage, clusterOf([]), /leave at least one class/);
    await refused(stage, clusterOf([pool]), /keep it until they are deleted.*claim default\/kept/);
    const third = {
      name: 'vg3',
      fstype: 'ext4',
      deviceSelector: await disksOf(stage, 'c'),
    } as const;
    await taken(stage, clusterOf([pool, plain, third]));
    await hasDevices(stage, 'vg3', 1);
    await isReady(stage);
    await stage.audit();
    await taken(stage, clusterOf([pool, plain]));
    await hasDevices(stage, 'vg3', 0);
    await areBare(stage, ['c']);
    await stage.exec('keeper', 'echo on > /data/kept/file && sync');
    await isReady(stage);
    await stage.audit();
  });

  test('a full thin pool is told, others go on, and a disk makes it well', async () => {
    await made(pool, plain);
    const size = (await poolBytes(stage, 'n1')) / MiB;
    await stage.claim('filler', { className: 'lvms-vg1', size: '2Gi', volumeMode: 'Block' });
    await stage.claims(['thin', 'elsewhere'], { className: 'lvms-vg1' });
    await stage.claim('thick', { className: 'lvms-vg2' });
    await stage.pod('writer', ['thin', 'thick'], { node: 'n1', devices: ['filler'] });
    await stage.pod('other', ['elsewhere'], 'n2');
    await stage.exec('writer', 'echo one > /data/thin/file && sync');
    const most = (size * 83n) / 100n;
    await stage.exec('writer', fill(most));
    await tells(stage, 'vg1', 'n1', ({ status, warnings = [] }) => {
      return status === 'Ready' && warnings.some((text) => /vg1\/pool is filling/.test(text));
    });
    // Whoever writes more than there is waits: a flush of everything would wait with it.
    const rest = `${fill(size - most + 32n)} seek=${most}`;
    await stage.exec('writer', `(${rest}) > /dev/null 2>&1 &`);
    await tells(stage, 'vg1', 'n1', ({ status, reason = '' }) => {
      return status === 'Degraded' && /thin pool vg1\/pool: ThinPoolFull/.test(reason);
    });
    await stage.until('it is Degraded', async () => (await stateOf(stage)) === 'Degraded');
    await stage.exec('writer', 'echo two | dd of=/data/thick/file conv=fsync');
    await stage.exec('other', 'echo three | dd of=/data/elsewhere/file conv=fsync');
    const wider = { ...pool, deviceSelector: await disksOf(stage, 'a', 'c') };
    await taken(stage, clusterOf([wider, plain]));
    await hasDevices(stage, 'vg1', 2);
    await tells(
      stage,
      'vg1',
      'n1',
      ({ status, warnings }) => status === 'Ready' && warnings === undefined,
    );
    await isReady(stage);
    await stage.exec('writer', fill(size + 32n));
    assert.equal(await stage.exec('writer', 'cat /data/thin/file /data/thick/file'), 'one\ntwo\n');
    await stage.audit();
  });

  test('disks that come later are taken where that is wanted, and a class may name its own', async () => {
    const own = { name: 'vg2', default: true, fstype: 'ext4' } as const;
    const { nodes } = stage.cluster;
    await withoutDisks(stage, ['c', 'd'], async (plug) => {
      await made(own);
      await hasDevices(stage, 'vg2', 2);
      await plug('c');
      for (const node of nodes) {
        const device = await node.devicePath('c');
        await tells(stage, 'vg2', node.name, ({ excluded = [] }) =>
          excluded.some(({ name }) => name === device),
        );
      }
      await hasDevices(stage, 'vg2', 2);
      await taken(stage, clusterOf([{ ...own, deviceDiscoveryPolicy: 'Dynamic' }]));
      await hasDevices(stage, 'vg2', 3);
      await plug('d');
      await hasDevices(stage, 'vg2', 4);
    });
    for (const { name } of nodes) {
      await tells(stage, 'vg2', name, ({ devices = [] }) => devices.length === names.length);
    }
    const has = await Promise.all(nodes.map(({ name }) => groupOn(stage, 'vg2', name)));
    const optionalPaths = [...new Set(has.flatMap((group) => group?.devices ?? []))].toSorted();
    const naming = (paths: readonly string[]) =>
      clusterOf([{ ...own, deviceSelector: { optionalPaths: paths } }]);
    await refused(stage, naming(optionalPaths.slice(1)), /name exactly the devices that it has/);
    await taken(stage, naming(optionalPaths));
    for (const { name } of nodes) {
      await tells(stage, 'vg2', name, (group) => group.deviceDiscoveryPolicy === 'Preconfigured');
    }
    await isReady(stage);
    await hasDevices(stage, 'vg2', 4);
    await stage.audit();
  });

  test('a node that leaves and comes back has its groups', async () => {
    await made(pool, plain);
    await stage.claim('kept', { className: 'lvms-vg2' });
    await stage.pod('before', ['kept'], 'n2');
    await stage.exec('before', 'echo one > /data/kept/file && sync');
    const groups = await groupsOf(stage, 'n2');
    await stage.cluster.kubectl(['delete', 'node', 'n2', '--wait=false']);
    const report = `${path.replace('lvmclusters', 'lvmvolumegroupnodestatuses')}/n2`;
    await stage.until('nobody tells of it', async () => {
      const isTold = (await stage.cluster.api.get<object>(report)) !== undefined;
      return !isTold && (await groupOn(stage, 'vg1', 'n2')) === undefined;
    });
    await isReady(stage);
    assert.deepEqual(await groupsOf(stage, 'n2'), groups);
    await stage.remove('pod', 'before');
    await stage.cluster.stopKubelet('n2');
    stage.cluster.startKubelet('n2');
    for (const group of ['vg1', 'vg2']) {
      await tells(stage, group, 'n2', ({ status }) => status === 'Ready');
    }
    await stage.hasDriver();
    await isReady(stage);
    assert.deepEqual(await groupsOf(stage, 'n2'), groups);
    await stage.pod('behind', ['kept'], 'n2');
    assert.equal(await stage.exec('behind', 'cat /data/kept/file'), 'one\n');
    await stage.audit();
  });

  test('a machine that joins gets its groups', async () => {
    await stage.cluster.node('n2').cutPower({ loseUnflushed: false });
    await stage.cluster.kubectl(['delete', 'node', 'n2', '--wait=false']);
    await stage.until('there is one node', async () => {
      return (await stage.cluster.api.get<object>('/api/v1/nodes/n2')) === undefined;
    });
    await made(pool, plain);
    assert.equal(await groupOn(stage, 'vg1', 'n2'), undefined);
    await stage.cluster.startNode('n2');
    assert.deepEqual(await groupsOf(stage, 'n2'), []);
    for (const group of ['vg1', 'vg2']) {
      await tells(stage, group, 'n2', ({ status }) => status === 'Ready');
    }
    await isReady(stage);
    await stage.hasDriver();
    await stage.claim('new', { className: 'lvms-vg2' });
    await stage.pod('new', ['new'], 'n2');
    await stage.exec('new', 'echo new > /data/new/file && sync');
    await stage.audit();
  });

  test('a node that is meant later gets its group then', async () => {
    const label = (node: string, value: string) =>
      stage.cluster.kubectl(['label', 'node', node, '--overwrite', `example.com/disks${value}`]);
    await label('n1', '=ours');
    try {
      await made({ ...pool, nodeSelector: nodesWith('example.com/disks', 'ours') });
      assert.deepEqual(await groupsOf(stage, 'n2'), []);
      await label('n2', '=ours');
      await hasDevices(stage, 'vg1', 1);
      await tells(stage, 'vg1', 'n2', ({ status }) => status === 'Ready');
      await isReady(stage);
      await stage.audit();
    } finally {
      await takeAway(stage, names);
      for (const node of ['n1', 'n2']) await label(node, '-');
    }
  });

  test('a node with a taint gets its groups once that is tolerated', async () => {
    const taint = (change: string) =>
      stage.cluster.kubectl(['taint', 'node', 'n2', `example.com/apart${change}`]);
    await taint('=yes:NoSchedule');
    try {
      await made(pool);
      assert.deepEqual(await groupsOf(stage, 'n2'), []);
      assert.equal(await groupOn(stage, 'vg1', 'n2'), undefined);
      const tolerations = [{ key: 'example.com/apart', operator: 'Exists' }] as const;
      const draft = clusterOf([pool]);
      await taken(stage, { ...draft, spec: { ...draft.spec, tolerations } });
      await hasDevices(stage, 'vg1', 1);
      await tells(stage, 'vg1', 'n2', ({ status }) => status === 'Ready');
      await isReady(stage);
      // What is there stays, whoever is meant from now on.
      const groups = await groupsOf(stage, 'n2');
      await taken(stage, draft);
      await isReady(stage);
      assert.deepEqual(await groupsOf(stage, 'n2'), groups);
      await stage.audit();
    } finally {
      await takeAway(stage, names);
      await taint('-');
    }
  });

  test('a disk that is pulled while a pod writes is told, and its volume comes back', async () => {
    await made(pool, plain);
    await stage.claim('struck', { className: 'lvms-vg2' });
    await stage.claim('spared', { className: 'lvms-vg1' });
    await stage.pod('writer', ['struck', 'spared'], 'n1');
    const loop = 'i=0; while i=$((i + 1)); do echo $i >> /data/struck/log && sync || exit; done';
    await stage.exec('writer', `(${loop}; echo over > /tmp/over) > /dev/null 2>&1 &`);
    const count = async (pod: string) => Number(await stage.exec(pod, 'wc -l < /data/struck/log'));
    await stage.until('it writes', async () => (await count('writer')) > 20);
    const written = await count('writer');
    const node = stage.cluster.node('n1');
    await node.pullDisk('b');
    await tells(stage, 'vg2', 'n1', ({ status, reason = '' }) => {
      return status === 'Failed' && /no device of the volume group vg2 .* is here/.test(reason);
    });
    await stage.until('it is Failed', async () => (await stateOf(stage)) === 'Failed');
    await stage.tells('struck', /Warning\s+VolumeConditionAbnormal .*no volume group of this node/);
    const write = 'dd if=/dev/zero of=/data/struck/new bs=4k count=64 conv=fsync';
    await assert.rejects(stage.exec('writer', write), /I\/O error|Read-only/);
    await stage.exec('writer', 'echo two > /data/spared/file && sync');
    await node.plugDisk('b');
    await tells(stage, 'vg2', 'n1', ({ status }) => status === 'Ready');
    await isReady(stage);
    await stage.remove('pod', 'writer');
    await stage.apply('again', ['struck', 'spared'], 'n1');
    await node.sh(await remedyOf(stage, 'again'));
    await stage.ready('again');
    assert.ok((await count('again')) >= written);
    await stage.exec('again', "awk 'NR != $1 { exit 1 }' /data/struck/log");
    await stage.exec('again', 'echo three >> /data/spared/file && sync');
    assert.equal(await stage.exec('again', 'cat /data/spared/file'), 'two\nthree\n');
    await stage.audit();
  });

  test('both nodes lose their power while groups are made', async () => {
    const wide = { ...pool, deviceSelector: await disksOf(stage, 'a', 'c') };
    const { nodes } = stage.cluster;
    for (const node of nodes) {
      await holdAfter(node, node.name === 'n1' ? 'vgcreate' : 'lvcreate');
    }
    await taken(stage, clusterOf([wide, plain]));
    await stage.until('both are in the middle of it', async () => {
      return (await Promise.all(nodes.map(isHeld))).every((one) => one);
    });
    for (const { pvs, lvs } of await Promise.all(nodes.map(lookAtNode))) {
      assert.ok(pvs.length < 3 || !lvs.some(({ attributes }) => attributes.startsWith('t')));
    }
    await Promise.all(nodes.map((node) => node.cutPower({ loseUnflushed: true })));
    await Promise.all(nodes.map(({ name }) => stage.cluster.startNode(name)));
    await hasDevices(stage, 'vg1', 2);
    await hasDevices(stage, 'vg2', 1);
    await stage.hasDriver();
    for (const { name } of nodes) {
      for (const group of ['vg1', 'vg2']) {
        await tells(stage, group, name, ({ status }) => status === 'Ready');
      }
    }
    await isReady(stage);
    await stage.audit();
  });

  test('a cluster with volumes stays, also where they are retained', async () => {
    const storageClassOptions = { reclaimPolicy: 'Retain' } as const;
    await made(pool, { ...plain, storageClassOptions });
    await stage.claim('kept', { className: 'lvms-vg2' });
    await stage.pod('keeper', ['kept']);
    await stage.exec('keeper', 'echo one > /data/kept/file && sync');
    await staysFor(stage, /LVMCluster mine cannot be deleted: it holds claim default\/kept/);
    const volume = (await stage.boundClaim('kept')).spec.volumeName ?? '';
    const lv = await stage.lvOf('kept');
    await stage.remove('pod', 'keeper');
    await stage.remove('pvc', 'kept');
    // The operator hears of it a moment later.
    await stage.until('the volume alone is in the way', async () => {
      await staysFor(stage, new RegExp(`it holds volume ${volume}`));
      return true;
    });
    await refused(stage, clusterOf([pool]), new RegExp(`it holds volume ${volume}`));
    // Who goes around the webhook is stopped by the operator all the same.
    const registration = ['validatingwebhookconfiguration', registrationName];
    const kept = await stage.cluster.kubectl(['get', ...registration, '--output=json']);
    await stage.cluster.kubectl(['delete', ...registration]);
    await isGoing(stage);
    await stage.until('it tells what it waits for', async () => {
      const words = ['get', 'events', `--namespace=${namespace}`, '--output=json'];
      const events = await stage.cluster.kubectl(words);
      return new RegExp(`vg2 holds volume ${volume}`).test(events);
    });
    assert.ok((await stage.lvs()).includes(lv.name), 'the volume is still there');
    await stage.cluster.apply([unversioned(kept)]);
    await giveUp(stage, volume, lv.name);
    await takeAway(stage, names);
  });
});

/** A failure of one line of a table says which. */
function within(what: string) {
  return (cause: unknown): never => {
    throw new Error(`${what}: ${String(cause)}`, { cause });
  };
}

function fill(mebibytes: bigint): string {
  return `dd if=/dev/zero of=/dev/filler bs=1M count=${mebibytes} conv=fsync`;
}

async function poolBytes({ cluster }: E2eStage, node: string): Promise<bigint> {
  const { lvs } = await lookAtNode(cluster.node(node));
  return lvs.find(({ name }) => name === 'pool')?.sizeBytes ?? 0n;
}

type Group = NonNullable<Awaited<ReturnType<typeof groupOn>>>;

async function tells(stage: E2eStage, group: string, node: string, is: (one: Group) => boolean) {
  let last: Group | undefined;
  const look = async () => {
    last = await groupOn(stage, group, node);
    return last !== undefined && is(last);
  };
  const what = `${group} on ${node} is told as ${String(is)}`;
  await stage.until(what, look).catch((error: unknown) => {
    throw new Error(`the last was ${JSON.stringify(last)}: ${String(error)}`, { cause: error });
  });
}

/** Identities of groups: one that was made anew is another one. */
async function groupsOf({ cluster }: E2eStage, node: string): Promise<readonly string[]> {
  const words = 'lvm vgs --noheadings --options vg_name,vg_uuid';
  const lines = (await cluster.node(node).sh(words)).split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').toSorted();
}

/** They are pulled on all nodes, and are all there again at the end. */
async function withoutDisks(
  { cluster: { nodes } }: E2eStage,
  disks: readonly string[],
  work: (plug: (disk: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const away = new Set(disks);
  for (const disk of disks) for (const node of nodes) await node.pullDisk(disk);
  const plug = async (disk: string) => {
    away.delete(disk);
    for (const node of nodes) await node.plugDisk(disk);
  };
  try {
    await work(plug);
  } finally {
    for (const disk of [...away]) await plug(disk);
  }
}

/** The kernel holds the disk that went: the pod tells the command that is enough. */
async function remedyOf(stage: E2eStage, pod: string): Promise<string> {
  let command = '';
  await stage.until(`${pod} tells what to do`, async () => {
    const said = await stage.cluster.kubectl(['describe', 'pod', pod]);
    [, command = ''] = /its disk was away and is back, `([^`]+)` is enough/.exec(said) ?? [];
    return command !== '';
  });
  return `lvm ${command}`;
}

type List<T = object> = { readonly items: readonly T[] };
type Named = { readonly metadata: { readonly name: string } };

/** As the API server gave it, without what is its own. */
function unversioned(text: string): object {
  const { metadata, ...object } = JSON.parse(text) as Named & Readonly<Record<string, unknown>>;
  return { ...object, metadata: { name: metadata.name } };
}

/** An administrator says that the data of a retained volume may go. */
async function giveUp(stage: E2eStage, volume: string, lv: string): Promise<void> {
  await stage.remove('pv', volume);
  const path = '/apis/topolvm.io/v1/logicalvolumes';
  const list = await stage.cluster.api.get<List<Named & { metadata: { uid: string } }>>(path);
  const record = list?.items.find(({ metadata }) => metadata.uid === lv)?.metadata.name ?? '';
  await stage.cluster.kubectl(['delete', 'logicalvolume', record, '--timeout=300s']);
}
