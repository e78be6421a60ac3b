import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GiB } from '../../lab/index.ts';
import { auditedBy } from './audited.ts';
import { completeIt, gatherIt, getIt, getOneFile, useIt } from './command-line-guide.ts';
import { byNameAlone, Guide } from './guide.ts';
import type { Layout } from './layout.ts';
import { classPath, GuideScene, sizes } from './lvm-cluster-guide-scene.ts';
import {
  areBare,
  clusterOf,
  hasDevices,
  isReady,
  namespace,
  path,
  stateOf,
  taken,
} from './lvm-cluster-scene.ts';
import { E2eStage } from './stage.ts';

const layout: Layout = {
  vg1: { group: 'vg1', pool: { name: 'pool', ratio: 10n } },
  vg2: { group: 'vg2' },
};

/** Every block of two guides, pasted one after the other, and what they say becomes true. */
describe('the commands of the guide to an LVMCluster', { timeout: 2_400_000 }, () => {
  let stage: E2eStage;
  let guide: Guide;
  let commands: Guide;
  let scene: GuideScene;
  const story = auditedBy(() => stage);

  before(async () => {
    const disks = Object.entries(sizes).map(([name, sizeBytes]) => ({ name, sizeBytes }));
    stage = await E2eStage.openBare(disks);
    const release = byNameAlone(stage.release);
    guide = await Guide.open('docs/guides/lvm-cluster.md', stage.cluster, release);
    commands = await guide.page('docs/guides/command-line.md');
    scene = new GuideScene(stage, guide);
    await getIt(commands);
    const words = ['rollout', 'status', 'deployment/lvms-operator', '--timeout=300s'];
    await stage.cluster.kubectl([...words, `--namespace=${namespace}`]);
  });

  after(async () => {
    await guide?.close();
    await stage?.close();
  });

  story('make groups of the disks that it names, and a class that binds claims', async () => {
    await scene.paste('The first one', 1);
    assert.equal(await stateOf(stage), 'Ready');
    await scene.hasDisks('vg1', ['b', 'c']);
    stage.layout = layout;
    await stage.cluster.apply([claimWithoutClass('first')]);
    await stage.pod('user', ['first'], 'n1');
    assert.match(await stage.exec('user', 'grep " /data/first " /proc/mounts'), / xfs /);
    await stage.exec('user', 'echo monday > /data/first/day && sync');
    const said = await scene.paste('The first one', 2);
    for (const { name } of stage.cluster.nodes)
      assert.match(said, new RegExp(`name: ${name}$`, 'm'));
  });

  story('tell what would be done, and do nothing', async () => {
    await stage.until('both nodes have told', async () => {
      const said = await scene.paste('Before the deed', 1);
      return said.match(/Nothing to do\./g)?.length === 2;
    });
    await scene.hasDisks('vg1', ['b', 'c']);
  });

  story('tell with the command line how all is, and pack it', async () => {
    await useIt(commands);
    await gatherIt(commands);
    await completeIt(commands);
    await getOneFile(commands);
  });

  story('make another class, which may be the default, and take it away', async () => {
    await scene.paste('Classes', 1);
    await scene.hasDisks('vg2', ['d']);
    await isReady(stage);
    await scene.makesDefault(1, 0);
    await scene.isDefault('lvms-vg2');
    await stage.cluster.apply([claimWithoutClass('second')]);
    await stage.pod('other', ['second'], 'n2');
    assert.equal((await stage.lvOf('second')).group, 'vg2');
    await stage.audit();
    await assert.rejects(scene.paste('Classes', 2), /default/);
    await scene.makesDefault(0, 1);
    await scene.isDefault('lvms-vg1');
    await assert.rejects(scene.paste('Classes', 2), /claim default\/second/);
    await stage.remove('pod', 'other');
    await stage.remove('pvc', 'second');
    await stage.until('it is taken away', async () => {
      await scene.paste('Classes', 2);
      return true;
    });
    await hasDevices(stage, 'vg2', 0);
    await areBare(stage, ['d']);
    await isReady(stage);
  });

  story('label a class', async () => {
    const options = `${classPath}/0/storageClassOptions`;
    const label = (team: string) => scene.change('add', options, { additionalLabels: { team } });
    const teamIs = async (team: string) => {
      const words = [
        'get',
        'storageclass',
        'lvms-vg1',
        '--output=jsonpath={.metadata.labels.team}',
      ];
      await stage.until(`the label is ${team}`, async () => {
        return (await stage.cluster.kubectl(words)) === team;
      });
    };
    await label('storage');
    await teamIs('storage');
    await label('edge');
    await teamIs('edge');
  });

  story('let a disk come, and its thin pool grows', async () => {
    await scene.paste('Disks that come', 1);
    await scene.hasDisks('vg1', ['b', 'c', 'e']);
    for (const node of stage.cluster.nodes) await scene.poolHas(node.name, 90);
  });

  story('keep a disk that holds more than the others have room for', async () => {
    const leaves = `${classPath}/0/deviceSelector/paths`;
    const device = await scene.device('e');
    await scene.change('remove', `${leaves}/2`);
    for (const { name } of stage.cluster.nodes) {
      await scene.tells('vg1', name, ({ reason = '' }) =>
        /\/dev\/sd. holds .* GiB, and the other devices of vg1 have .* free: add a dev/.test(
          reason,
        ),
      );
    }
    await hasDevices(stage, 'vg1', 3);
    await scene.change('add', `${leaves}/-`, device);
    await scene.hasDisks('vg1', ['b', 'c', 'e']);
    await isReady(stage);
  });

  story('let a disk leave, with what is on it', async () => {
    await scene.paste('Disks that leave', 1);
    await scene.hasDisks('vg1', ['b', 'e']);
    await areBare(stage, ['c']);
    assert.equal(await stage.exec('user', 'cat /data/first/day'), 'monday\n');
    await isReady(stage);
  });

  story('change a thin pool', async () => {
    await scene.paste('A thin pool', 1);
    stage.layout = { vg1: { group: 'vg1', pool: { name: 'pool', ratio: 5n } } };
    await stage.audit();
    await scene.paste('A thin pool', 2);
    for (const node of stage.cluster.nodes) {
      await stage.until('its metadata has grown', async () => {
        const words = 'lvs --noheadings --units b --nosuffix --options lv_metadata_size vg1/pool';
        return BigInt((await node.sh(words)).trim()) === 2n * GiB;
      });
    }
    assert.equal(await stage.exec('user', 'cat /data/first/day'), 'monday\n');
    await isReady(stage);
  });

  story('take all of it away, and make it again', async () => {
    await assert.rejects(scene.paste('Taking it away', 1), /claim default\/first/);
    await stage.remove('pod', 'user');
    await stage.remove('pvc', 'first');
    await stage.until('it is taken away', async () => {
      await scene.paste('Taking it away', 1);
      return true;
    });
    await areBare(stage, ['b', 'c', 'd', 'e']);
    await stage.until('both nodes tell what would be done', async () => {
      const said = await scene.paste('Before the deed', 1);
      return said.match(/vgcreate/g)?.length === 2;
    });
    await areBare(stage, ['b', 'c', 'd', 'e']);
  });

  story('take disks that come later, until it is told not to, and name them then', async () => {
    await scene.pull('a', 'd', 'e', 'f');
    stage.layout = { vg1: { group: 'vg1' } };
    await taken(stage, clusterOf([{ name: 'vg1', default: true, fstype: 'ext4' }]));
    await scene.hasDisks('vg1', ['b', 'c']);
    await scene.plug('d');
    await scene.isLeftAlone('vg1', 'd');
    await scene.paste('Disks that come', 2);
    await scene.hasDisks('vg1', ['b', 'c', 'd']);
    await scene.plug('f');
    await scene.hasDisks('vg1', ['b', 'c', 'd', 'f']);
    await scene.change('replace', `${classPath}/0/deviceDiscoveryPolicy`, 'Static');
    await scene.policyIs('vg1', 'RuntimeStatic');
    await scene.plug('a');
    await scene.isLeftAlone('vg1', 'a');
    const named = '"/dev/sdb", "/dev/sdc", "/dev/sdd", "/dev/sdf"';
    await assert.rejects(scene.paste('From every disk to names', 1), /name exactly the devices/);
    const said = await scene.paste('From every disk to names', 1, (script) =>
      script.replace('"/dev/sdb", "/dev/sdc"', named),
    );
    assert.match(said, /^n1 \["\/dev\/sd.",.*\]$/m);
    await scene.policyIs('vg1', 'Preconfigured');
    await scene.hasDisks('vg1', ['b', 'c', 'd', 'f']);
    await isReady(stage);
  });

  story('give a group up, and take another disk in its place', async () => {
    await stage.claim('lost', { className: 'lvms-vg1' });
    await stage.pod('loser', ['lost'], 'n1');
    await stage.remove('pod', 'loser');
    const n1 = stage.cluster.node('n1');
    for (const disk of ['b', 'c', 'd', 'f']) await n1.pullDisk(disk);
    await scene.tells('vg1', 'n1', ({ reason = '' }) => /VolumeGroupLost/.test(reason));
    await scene.paste('A group that never comes back', 1);
    const selector = `${classPath}/0/deviceSelector/optionalPaths/-`;
    const names = await Promise.all(stage.cluster.nodes.map((node) => node.devicePath('a')));
    for (const name of new Set(names)) await scene.change('add', selector, name);
    await scene.tells('vg1', 'n1', ({ status, devices = [] }) => {
      return status === 'Ready' && devices.length === 1;
    });
    await isReady(stage);
    await stage.remove('pvc', 'lost');
    await stage.until('it is taken away', async () => {
      await scene.paste('Taking it away', 1);
      return true;
    });
    assert.equal(await stage.cluster.api.get(`${path}/mine`), undefined);
    await areBare(stage, ['a']);
  });

  test('are all pasted', () => {
    assert.deepEqual(scene.notPasted(), []);
  });
});

function claimWithoutClass(name: string): object {
  return {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '400Mi' } } },
  };
}
