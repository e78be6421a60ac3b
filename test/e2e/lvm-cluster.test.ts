import assert from 'node:assert/strict';
import { after, before, describe } from 'node:test';
import { GiB } from '../../lab/index.ts';
import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import { lookAtNode } from './audit/look.ts';
import { auditedBy } from './audited.ts';
import { type Layout, raid1 } from './layout.ts';
import { holdAfter, isHeld } from './lvm-cluster-killers.ts';
import {
  clusterOf,
  disksOf,
  groupOn,
  hasDevices,
  isReady,
  isTaken,
  linksOf,
  namespace,
  refused,
  stateOf,
  staysFor,
  taken,
} from './lvm-cluster-scene.ts';
import { E2eStage } from './stage.ts';

const disks = 'abcdefghi'.split('').map((name) => ({ name, sizeBytes: 2n * GiB }));

/** It writes 1, 2, 3 to a volume, and ends where it cannot. */
function writerTo(claim: string): string {
  const write = `echo $line >> /data/${claim}/log && sync`;
  return `(line=0; while line=$((line + 1)); do ${write} || exit; done) > /dev/null 2>&1 &`;
}

const gap = 'NR != $1 { print "line " NR " is missing"; exit 1 } END { exit NR < 10 }';

/** One after the other: each goes on where the one before ended. */
describe('an LVMCluster on bare disks', { timeout: 1_800_000 }, () => {
  let stage: E2eStage;
  let classes: readonly LvmDeviceClass[] = [];
  const story = auditedBy(() => stage);

  before(async () => {
    stage = await E2eStage.openBare(disks);
    stage.layout = layout;
    classes = await deviceClasses(stage);
  });

  after(async () => {
    await stage?.close();
  });

  story('a node that loses its power while its groups are made comes to the same end', async () => {
    const [node] = stage.cluster.nodes;
    assert.ok(node !== undefined);
    await holdAfter(node, 'vgcreate');
    await stage.until('the webhook answers', () => isTaken(stage, clusterOf(classes)));
    await stage.until('a group is begun', () => isHeld(node));
    assert.ok((await lookAtNode(node)).pvs.length < 8, 'there is more to do');
    await stage.cutPower(node.name);
    await isReady(stage);
    for (const each of stage.cluster.nodes) {
      const { lvs, pvs } = await lookAtNode(each);
      assert.deepEqual(pvs.map(({ group }) => group).toSorted(), [
        'vg1',
        'vg1',
        'vg2',
        'vg3',
        'vg3',
        'vg4',
        'vg4',
        'vg4',
      ]);
      assert.ok(lvs.some(({ name }) => name === 'pool'));
    }
  });

  story('a pod writes to thin, thick, mirrored and striped volumes', async () => {
    const names = { thin: 'vg1', thick: 'vg2', mirrored: 'vg3', striped: 'vg4' };
    for (const [name, of] of Object.entries(names)) {
      await stage.claim(name, { className: `lvms-${of}`, size: '1Gi' });
    }
    await stage.pod('writer', Object.keys(names));
    await stage.exec('writer', 'echo one > /data/thin/file && echo two > /data/thick/file && sync');
    assert.match((await stage.lvOf('mirrored')).attributes, /^r/);
    const node = stage.cluster.node(await stage.nodeOf('writer'));
    const shape = 'lvs --noheadings --options segtype,stripes,stripe_size --units k vg4';
    assert.match(await node.sh(shape), /^\s*raid5\S* +3 +128\.00k\s*$/);
    await stage.exec('writer', 'echo four > /data/striped/file && sync');
  });

  story('agents and operators that are killed change nothing', async () => {
    await stage.killOurs();
    await stage.hasDriver();
    await isReady(stage);
    const files = 'cat /data/thin/file /data/thick/file /data/striped/file';
    assert.equal(await stage.exec('writer', files), 'one\ntwo\nfour\n');
  });

  story('what would harm somebody is refused, and says why', async () => {
    const other = { ...clusterOf(classes), metadata: { name: 'other', namespace } };
    await refused(stage, other, /there can be one LVMCluster only/);
    const without = classes.filter(({ name }) => name !== 'vg2');
    await refused(stage, clusterOf(without), /default\/thick/);
    await staysFor(stage, /cannot be deleted.*default\/(thick|thin)/);
  });

  story('a disk comes, and one leaves, while a pod writes', async () => {
    await stage.exec('writer', writerTo('thick'));
    const [a, b] = [await linksOf(stage, 'c'), await linksOf(stage, 'f')];
    const withPaths = (optionalPaths: readonly string[]) =>
      classes.map((one) =>
        one.name === 'vg2' ? { ...one, deviceSelector: { optionalPaths } } : one,
      );
    await taken(stage, clusterOf(withPaths([...a, ...b])));
    await hasDevices(stage, 'vg2', 2);
    await taken(stage, clusterOf(withPaths(b)));
    await hasDevices(stage, 'vg2', 1);
    await isReady(stage);
    await stage.exec('writer', `awk '${gap}' /data/thick/log`);
    classes = withPaths(b);
  });

  story('a thin class promises more when it is told to', async () => {
    classes = classes.map(({ thinPoolConfig: pool, ...one }) =>
      pool === undefined ? one : { ...one, thinPoolConfig: { ...pool, overprovisionRatio: 20 } },
    );
    await taken(stage, clusterOf(classes));
    stage.layout = { ...layout, vg1: { group: 'vg1', pool: { name: 'pool', ratio: 20n } } };
    await isReady(stage);
  });

  story(
    'a disk of a mirror that a pod writes to is pulled and told, and the pod writes on',
    async () => {
      const name = await stage.nodeOf('writer');
      await stage.exec('writer', writerTo('mirrored'));
      const goesOn = async () => {
        const before = await linesIn(stage, 'mirrored');
        await stage.until(
          'it writes',
          async () => (await linesIn(stage, 'mirrored')) > before + 10,
        );
      };
      await goesOn();
      await stage.cluster.node(name).pullDisk('e');
      await goesOn();
      await stage.exec('writer', 'echo three > /data/mirrored/file && sync');
      await stage.until('it is told', async () => {
        const { status, raidStatus } = (await groupOn(stage, 'vg3', name)) ?? {};
        return status === 'Degraded' && raidStatus !== undefined && raidStatus.status !== 'Healthy';
      });
      assert.equal(await stateOf(stage), 'Degraded');
      await stage.cluster.node(name).plugDisk('e');
      await stage.cluster
        .node(name)
        .sh('vgextend --restoremissing vg3 || true; lvchange --refresh vg3');
      await isReady(stage);
      await goesOn();
      assert.equal(await stage.exec('writer', 'cat /data/mirrored/file'), 'three\n');
      await stage.exec('writer', `awk '${gap}' /data/mirrored/log`);
    },
  );

  story('without volumes it goes, and leaves bare disks', async () => {
    await stage.remove('pod', 'writer');
    await stage.remove('pvc', 'thin', 'thick', 'mirrored', 'striped');
    await stage.until('no volume is left', async () => {
      const volumes = await stage.cluster.api.get<List>('/api/v1/persistentvolumes');
      const objects = await stage.cluster.api.get<List>('/apis/topolvm.io/v1/logicalvolumes');
      return volumes?.items.length === 0 && objects?.items.length === 0;
    });
    await stage.cluster.kubectl([
      ...['delete', 'lvmcluster', 'mine', `--namespace=${namespace}`, '--timeout=300s'],
    ]);
    for (const node of stage.cluster.nodes) {
      const { pvs } = await lookAtNode(node);
      assert.deepEqual(pvs, []);
    }
    const names = await stage.cluster.kubectl(['get', 'storageclass', '--output=name']);
    assert.doesNotMatch(names, /lvms-/);
  });
});

async function linesIn(stage: E2eStage, claim: string): Promise<number> {
  return Number(await stage.exec('writer', `wc -l < /data/${claim}/log`));
}

type List = { readonly items: readonly object[] };

const layout: Layout = {
  vg1: { group: 'vg1', pool: { name: 'pool', ratio: 10n } },
  vg2: { group: 'vg2' },
  vg3: { group: 'vg3', raid: raid1 },
  vg4: { group: 'vg4', raid: { devices: 3, parts: 2 } },
};

async function deviceClasses(stage: E2eStage): Promise<readonly LvmDeviceClass[]> {
  return [
    {
      ...{
        name: 'vg1',
        default: true,
        fstype: 'ext4',
        deviceSelector: await disksOf(stage, 'a', 'b'),
      },
      thinPoolConfig: { name: 'pool', sizePercent: 90, overprovisionRatio: 10 },
    },
    { name: 'vg2', fstype: 'xfs', deviceSelector: await disksOf(stage, 'c') },
    {
      ...{ name: 'vg3', fstype: 'ext4', deviceSelector: await disksOf(stage, 'd', 'e') },
      raidConfig: { type: 'raid1' },
    },
    {
      ...{ name: 'vg4', fstype: 'xfs', deviceSelector: await disksOf(stage, 'g', 'h', 'i') },
      raidConfig: { type: 'raid5', stripes: 2, stripeSize: '128Ki' },
    },
  ];
}
