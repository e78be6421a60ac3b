import assert from 'node:assert/strict';
import type { E2eStage } from '../stage.ts';
import { grownTo, type Stories, type Story, sizeInMiB } from './story.ts';

type Made = { readonly fsType: 'xfs' | 'btrfs'; readonly leastMiB: number };

/** From a request that is too small to one that has grown with and without a pod, and one too large. */
function lifeOf({ fsType, leastMiB }: Made): Story {
  return async (stage) => {
    const name = `on-${fsType}`;
    await stage.storageClass(name, { deviceClass: 'thick', fsType });
    await stage.claim(name, { className: name, size: '100Mi' });
    await stage.pod(name, [name]);
    const mounts = await stage.exec(name, `grep ' /data/${name} ' /proc/mounts`);
    assert.equal(mounts.split(' ')[2], fsType);
    const { status } = await stage.boundClaim(name);
    assert.equal(status.capacity?.storage, `${leastMiB}Mi`);
    await stage.exec(name, `echo monday > /data/${name}/day && sync`);

    await grow(stage, { name, fsType, sizeMiB: 400 });
    await stage.claim(name, { className: name, size: '900Gi' });
    await stage.tells(name, /VolumeResizeFailed.*InsufficientCapacityToExpand: .*Remedy: /);
    await grow(stage, { name, fsType, sizeMiB: 440 });
    await stage.remove('pod', name);
    await stage.claim(name, { className: name, size: '500Mi' });
    await stage.until('the volume has grown without a pod', async () => {
      const { sizeBytes } = await stage.lvOf(name);
      return sizeBytes === 500n * 1024n * 1024n;
    });
    await stage.pod(name, [name]);
    await grownTo(stage, name, '500Mi');
    await hasGrown(stage, { name, fsType, sizeMiB: 500 });
    assert.equal(await stage.exec(name, `cat /data/${name}/day`), 'monday\n');
    await stage.remove('pod', name);
    await stage.remove('pvc', name);
    await stage.remove('storageclass', name);
  };
}

type Growth = { readonly name: string; readonly fsType: string; readonly sizeMiB: number };

async function grow(stage: E2eStage, growth: Growth): Promise<void> {
  const { name, sizeMiB } = growth;
  await stage.claim(name, { className: name, size: `${sizeMiB}Mi` });
  await grownTo(stage, name, `${sizeMiB}Mi`);
  await hasGrown(stage, growth);
}

/** A file system keeps something for itself: xfs its log. */
async function hasGrown(stage: E2eStage, { name, sizeMiB }: Growth): Promise<void> {
  await stage.until('the file system has grown', async () => {
    const seen = await sizeInMiB(stage, name, name);
    return seen > sizeMiB - 80 && seen <= sizeMiB;
  });
}

export const fileSystemStories: Stories = {
  'a claim grows while its pod writes': async (stage) => {
    await stage.claim('grows', { className: 'thick' });
    await stage.pod('grows', ['grows']);
    const script = 'while :; do date > /data/grows/now; sleep 0.2; done >/dev/null 2>&1 &';
    await stage.exec('grows', script);
    await stage.claim('grows', { className: 'thick', size: '400Mi' });
    await stage.until('the file system has grown', async () => {
      return (await sizeInMiB(stage, 'grows', 'grows')) > 300;
    });
    await grownTo(stage, 'grows', '400Mi');
    await stage.remove('pod', 'grows');
    await stage.remove('pvc', 'grows');
  },

  'xfs is made, grows with its pod, and without': lifeOf({ fsType: 'xfs', leastMiB: 300 }),

  'btrfs is made, grows with its pod, and without': lifeOf({ fsType: 'btrfs', leastMiB: 200 }),

  'a raw volume keeps what is written to it, and grows': async (stage) => {
    const spec = { className: 'thick', volumeMode: 'Block' } as const;
    await stage.claim('raw', { ...spec, size: '1Mi' });
    await stage.pod('raw', [], { devices: ['raw'] });
    const MiB = 1024 * 1024;
    const size = async () => Number(await stage.exec('raw', 'blockdev --getsize64 /dev/raw'));
    assert.equal(await size(), 8 * MiB);
    await stage.exec('raw', 'printf sunday | dd of=/dev/raw bs=1M seek=4 conv=notrunc,fsync');
    await stage.claim('raw', { ...spec, size: '32Mi' });
    await stage.until('the device has grown', async () => (await size()) === 32 * MiB);
    await grownTo(stage, 'raw', '32Mi');
    await stage.auditBeside();
    await stage.remove('pod', 'raw');
    await stage.pod('raw', [], { devices: ['raw'] });
    const read = 'dd if=/dev/raw bs=1M skip=4 count=1 2>/dev/null | head -c 6';
    assert.equal(await stage.exec('raw', read), 'sunday');
    await stage.remove('pod', 'raw');
    await stage.remove('pvc', 'raw');
  },
};
