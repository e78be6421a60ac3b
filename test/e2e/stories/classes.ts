import assert from 'node:assert/strict';
import type { E2eStage } from '../stage.ts';
import type { Stories } from './story.ts';

const noRoom = /did not have enough free storage/;

async function segmentType(stage: E2eStage, pod: string, claim: string): Promise<string> {
  const node = stage.cluster.node(await stage.nodeOf(pod));
  const { group, name } = await stage.lvOf(claim);
  const said = await node.sh(`lvm lvs --noheadings --options segtype ${group}/${name}`);
  return said.trim();
}

/** What StorageClasses and device classes can say. */
export const classStories: Stories = {
  'each class has its group, and a class that says nothing has the default': async (stage) => {
    await stage.storageClass('says-nothing', {});
    await stage.claim('in-small', { className: 'small', size: '32Mi' });
    await stage.claim('in-default', { className: 'says-nothing', size: '32Mi' });
    await stage.pod('places', ['in-small', 'in-default']);
    const small = await stage.lvOf('in-small');
    const standard = await stage.lvOf('in-default');
    assert.deepEqual([small.group, standard.group, standard.pool], ['small', 'data', '']);
    const mounts = await stage.exec('places', 'grep " /data/" /proc/mounts');
    assert.match(mounts, / \/data\/in-default ext4 /);
    await stage.remove('pod', 'places');
    await stage.remove('pvc', 'in-small', 'in-default');
    await stage.remove('storageclass', 'says-nothing');
  },

  'a class that no node has keeps a pod waiting': async (stage) => {
    await stage.storageClass('nowhere', { deviceClass: 'nowhere' });
    await stage.claim('nowhere', { className: 'nowhere' });
    await stage.apply('nowhere', ['nowhere']);
    await stage.waitsFor('nowhere', noRoom);
    await stage.remove('pod', 'nowhere');
    await stage.remove('pvc', 'nowhere');
    await stage.remove('storageclass', 'nowhere');
  },

  'options of lvcreate make a mirror, by device class and by option class': async (stage) => {
    const optionClass = { 'topolvm.io/lvcreate-option-class': 'twice' };
    await stage.storageClass('mirrored', { deviceClass: 'mirrored' });
    await stage.storageClass('twice', { deviceClass: 'thick', parameters: optionClass });
    await stage.claim('mirrored', { className: 'mirrored', size: '64Mi' });
    await stage.claim('twice', { className: 'twice', size: '64Mi' });
    await stage.pod('mirrors', ['mirrored', 'twice']);
    assert.equal(await segmentType(stage, 'mirrors', 'mirrored'), 'raid1');
    assert.equal(await segmentType(stage, 'mirrors', 'twice'), 'raid1');
    await stage.exec('mirrors', 'echo both > /data/mirrored/file && sync');
    await stage.remove('pod', 'mirrors');
    await stage.remove('pvc', 'mirrored', 'twice');
    await stage.remove('storageclass', 'mirrored', 'twice');
  },

  'a thin pool promises more than it has, up to its ratio': async (stage) => {
    await stage.claims(['promise-1', 'promise-2'], { size: '6Gi' });
    await stage.pod('promise-1', ['promise-1'], 'n1');
    const { pool } = await stage.lvOf('promise-1');
    assert.equal(pool, 'pool');
    await stage.apply('promise-2', ['promise-2'], 'n1');
    await stage.waitsFor('promise-2', noRoom);
    await stage.remove('pod', 'promise-2');
    await stage.pod('promise-2', ['promise-2']);
    assert.equal(await stage.nodeOf('promise-2'), 'n2');
    await stage.remove('pod', 'promise-1', 'promise-2');
    await stage.remove('pvc', 'promise-1', 'promise-2');
  },

  'a retained volume is kept for the next claim': async (stage) => {
    await stage.storageClass('keeps', { deviceClass: 'thick', reclaimPolicy: 'Retain' });
    const spec = { className: 'keeps', size: '64Mi' };
    await stage.claim('keeps-1', spec);
    await stage.pod('keeps-1', ['keeps-1']);
    await stage.exec('keeps-1', 'echo monday > /data/keeps-1/day && sync');
    const lv = await stage.lvOf('keeps-1');
    const { spec: bound } = await stage.boundClaim('keeps-1');
    const volume = bound.volumeName ?? '';
    await stage.remove('pod', 'keeps-1');
    await stage.remove('pvc', 'keeps-1');
    const phase = ['get', 'pv', volume, '--output=jsonpath={.status.phase}'];
    await stage.until('the volume is Released', async () => {
      return (await stage.cluster.kubectl(phase)) === 'Released';
    });
    assert.ok((await stage.lvs()).includes(lv.name));
    const patch = async (body: object) => {
      const words = ['patch', 'pv', volume, '--type=merge', `--patch=${JSON.stringify(body)}`];
      await stage.cluster.kubectl(words);
    };
    await patch({ spec: { claimRef: null } });
    await stage.claim('keeps-2', { ...spec, volumeName: volume });
    await stage.pod('keeps-2', ['keeps-2']);
    assert.equal(await stage.exec('keeps-2', 'cat /data/keeps-2/day'), 'monday\n');
    await patch({ spec: { persistentVolumeReclaimPolicy: 'Delete' } });
    await stage.remove('pod', 'keeps-2');
    await stage.remove('pvc', 'keeps-2');
    await stage.until('the volume is gone', async () => !(await stage.lvs()).includes(lv.name));
    await stage.remove('storageclass', 'keeps');
  },

  'a claim without a class is left to others': async (stage) => {
    const volume = {
      ...{ apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name: 'by-hand' } },
      spec: {
        ...{ capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: '' },
        hostPath: { path: '/tmp/by-hand', type: 'DirectoryOrCreate' },
      },
    };
    await stage.cluster.apply([volume]);
    await stage.claim('by-hand', { className: '', size: '1Gi', volumeName: 'by-hand' });
    await stage.pod('by-hand', ['by-hand']);
    const words = ['get', 'pv', 'by-hand', '--output=jsonpath={.metadata.finalizers}'];
    assert.equal(await stage.cluster.kubectl(words), '["kubernetes.io/pv-protection"]');
    await stage.remove('pod', 'by-hand');
    await stage.remove('pvc', 'by-hand');
    await stage.remove('pv', 'by-hand');
  },
};
