import assert from 'node:assert/strict';
import { type Stories, sizeInMiB } from './story.ts';

/** What pods do with claims. */
export const podStories: Stories = {
  'a claim becomes a volume that a pod writes to, and goes with it': async (stage, t) => {
    await stage.claim('first');
    await stage.timed('claim and pod', () => stage.pod('first', ['first']));
    await stage.exec('first', 'echo monday > /data/first/day && sync');
    const { name } = await stage.lvOf('first');
    await stage.auditBeside();
    await stage.remove('pod', 'first');
    await stage.timed('pod again', () => stage.pod('first', ['first']));
    assert.equal(await stage.exec('first', 'cat /data/first/day'), 'monday\n');
    await stage.remove('pod', 'first');
    await stage.remove('pvc', 'first');
    await stage.until('its volume is gone', async () => !(await stage.lvs()).includes(name));
    for (const line of stage.timings.splice(0)) t.diagnostic(line);
  },

  'a pod that goes while its volume is made leaves it to the next': async (stage) => {
    await stage.claim('left');
    await stage.apply('left-1', ['left']);
    await stage.until('the scheduler has chosen', async () => {
      const words = ['get', 'pvc', 'left', '--output=jsonpath={.metadata.annotations}'];
      return (await stage.cluster.kubectl(words)).includes('selected-node');
    });
    await stage.remove('pod', 'left-1');
    await stage.pod('left-2', ['left']);
    await stage.exec('left-2', 'echo tuesday > /data/left/day');
    await stage.lvOf('left');
    await stage.remove('pod', 'left-2');
    await stage.remove('pvc', 'left');
  },

  'a pod that is removed by force lets its volume go': async (stage) => {
    await stage.claim('forced', { className: 'thick', size: '64Mi' });
    await stage.pod('forced', ['forced']);
    await stage.exec('forced', 'dd if=/dev/zero of=/data/forced/zero bs=1M count=8');
    const { name } = await stage.lvOf('forced');
    await stage.cluster.kubectl(['delete', 'pod', 'forced', '--force', '--grace-period=0']);
    await stage.remove('pvc', 'forced');
    await stage.until('its volume is gone', async () => !(await stage.lvs()).includes(name));
  },

  'a pod that may only read reads': async (stage) => {
    await stage.claim('read');
    await stage.pod('writer', ['read']);
    await stage.exec('writer', 'echo wednesday > /data/read/day && sync');
    await stage.remove('pod', 'writer');
    await stage.pod('reader', ['read'], { isReadOnly: true });
    assert.equal(await stage.exec('reader', 'cat /data/read/day'), 'wednesday\n');
    await assert.rejects(stage.exec('reader', 'echo no > /data/read/day'), /Read-only file system/);
    await stage.remove('pod', 'reader');
    await stage.remove('pvc', 'read');
  },

  'a pod that is not root writes with the group it was given': async (stage) => {
    await stage.claim('group');
    const securityContext = { runAsUser: 1000, runAsGroup: 3000, fsGroup: 2000 };
    await stage.pod('group', ['group'], { securityContext });
    await stage.exec('group', 'echo mine > /data/group/file');
    assert.equal(await stage.exec('group', 'stat -c "%u %g" /data/group/file'), '1000 2000\n');
    await stage.remove('pod', 'group');
    await stage.remove('pvc', 'group');
  },

  'a volume that was asked for by a pod alone goes with the pod': async (stage) => {
    const ephemeral = { scratch: { className: 'thick', size: '64Mi' } };
    await stage.pod('short', [], { ephemeral });
    await stage.exec('short', 'echo soon > /data/scratch/file');
    const { name } = await stage.lvOf('short-scratch');
    await stage.remove('pod', 'short');
    await stage.until('its volume is gone', async () => !(await stage.lvs()).includes(name));
  },

  'mount options of a class reach the mount': async (stage) => {
    await stage.storageClass('options', { deviceClass: 'thick', mountOptions: ['noatime'] });
    await stage.claim('options', { className: 'options', size: '64Mi' });
    await stage.pod('options', ['options']);
    const mounts = await stage.exec('options', 'grep " /data/options " /proc/mounts');
    assert.match(mounts, /^\S+ \S+ ext4 \S*\bnoatime\b/);
    await stage.remove('pod', 'options');
    await stage.remove('pvc', 'options');
    await stage.remove('storageclass', 'options');
  },

  'a claim for one pod alone keeps a second one waiting': async (stage) => {
    await stage.claim('alone', { accessMode: 'ReadWriteOncePod' });
    await stage.pod('alone-1', ['alone']);
    await stage.apply('alone-2', ['alone']);
    await stage.waitsFor('alone-2', /ReadWriteOncePod/);
    await stage.remove('pod', 'alone-1');
    await stage.ready('alone-2');
    await stage.remove('pod', 'alone-2');
    await stage.remove('pvc', 'alone');
  },

  'a clone has what its source had, and is its own from then on': async (stage) => {
    await stage.claim('source');
    await stage.pod('source', ['source']);
    await stage.exec('source', 'echo tuesday > /data/source/day && sync');
    const dataSource = { kind: 'PersistentVolumeClaim', name: 'source' };
    await stage.claim('clone', { dataSource, size: '300Mi' });
    await stage.pod('clone', ['clone']);
    assert.equal(await stage.exec('clone', 'cat /data/clone/day'), 'tuesday\n');
    assert.ok((await sizeInMiB(stage, 'clone', 'clone')) > 250);
    await stage.exec('clone', 'echo friday > /data/clone/day && sync');
    assert.equal(await stage.exec('source', 'cat /data/source/day'), 'tuesday\n');
    await stage.remove('pod', 'source');
    await stage.remove('pvc', 'source');
    assert.equal(await stage.exec('clone', 'cat /data/clone/day'), 'friday\n');
    await stage.remove('pod', 'clone');
    await stage.remove('pvc', 'clone');
  },
};
