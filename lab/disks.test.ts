import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { GiB, type Guest, type Lab, MiB, startLab } from './index.ts';

let lab: Lab;
let one: Guest;
let two: Guest;

before(async () => {
  const disks = [
    { name: 'fast', sizeBytes: GiB, model: 'FAST SSD 1G', serial: 'S3RIAL-0001' },
    { name: 'safe', sizeBytes: 256n * MiB, writeCache: 'kept' as const },
    { name: 'bad', sizeBytes: 256n * MiB },
  ];
  lab = await startLab({
    guests: [{ name: 'n1', disks }, { name: 'n2' }],
    sharedDisks: [{ name: 'both', sizeBytes: 256n * MiB, serial: 'SHARED-1' }],
  });
  one = lab.guest('n1');
  two = lab.guest('n2');
});

after(() => lab?.stop());

async function deviceColumn(guest: Guest, diskName: string, column: string): Promise<string> {
  const path = await guest.devicePath(diskName);
  return (await guest.sh(`lsblk --nodeps --noheadings --output ${column} ${path}`)).trim();
}

test('a disk shows its model, serial and size, and nothing else is there', async () => {
  assert.equal(await deviceColumn(one, 'fast', 'MODEL'), 'FAST SSD 1G');
  assert.equal(await deviceColumn(one, 'fast', 'SERIAL'), 'S3RIAL-0001');
  assert.equal(await deviceColumn(one, 'fast', 'SIZE'), '1G');
  const listed = await one.sh('lsblk --nodeps --noheadings --output NAME --include 8');
  assert.equal(listed.trim().split('\n').length, 4);
});

test('udev links a disk by its identity', async () => {
  const path = await one.devicePath('fast');
  const links = await one.sh(`udevadm info --query=symlink --name=${path}`);
  assert.match(links, /disk\/by-id\/wwn-0x5/);
  assert.match(links, /disk\/by-id\/scsi-S?3/);
});

test('a disk shared by two guests holds what either has written', async () => {
  const here = await one.devicePath('both');
  const there = await two.devicePath('both');
  await one.sh(`echo from one | dd of=${here} bs=4096 conv=sync,fsync oflag=direct`);
  const read = await two.sh(`dd if=${there} bs=4096 count=1 iflag=direct | head -c 8`);
  assert.equal(read, 'from one');
  assert.equal(await deviceColumn(two, 'both', 'SERIAL'), 'SHARED-1');
});

test('a power cut loses writes that were not flushed, and only those', async () => {
  const path = await one.devicePath('fast');
  await one.sh(`mkfs.ext4 -q ${path} && mount --mkdir ${path} /mnt/fast`);
  await one.sh('echo synced >/mnt/fast/synced && sync && echo unsynced >/mnt/fast/unsynced');
  const raw = await one.devicePath('bad');
  await one.sh(`printf flushed | dd of=${raw} bs=4096 conv=sync,fsync oflag=direct`);
  await one.sh(`printf waiting | dd of=${raw} bs=4096 seek=1 conv=sync oflag=direct`);
  assert.equal(await one.sh(`dd if=${raw} bs=4096 skip=1 count=1 | head -c 7`), 'waiting');
  await one.cutPower({ loseUnflushed: true });
  await one.start();
  await one.sh(`mount --mkdir ${await one.devicePath('fast')} /mnt/fast`);
  assert.equal(await one.sh('cat /mnt/fast/synced'), 'synced\n');
  assert.notEqual((await one.run(['cat', '/mnt/fast/unsynced'])).exitCode, 0);
  const again = await one.devicePath('bad');
  assert.equal(await one.sh(`head -c 7 ${again}`), 'flushed');
  const lost = await one.run(['dd', `if=${again}`, 'bs=4096', 'skip=1', 'count=1']);
  assert.deepEqual(lost.stdoutBytes, Buffer.alloc(4096));
});

test('a disk that keeps its writes loses none', async () => {
  const path = await one.devicePath('safe');
  await one.sh(`printf waiting | dd of=${path} bs=4096 conv=sync oflag=direct`);
  await one.cutPower({ loseUnflushed: true });
  await one.start();
  assert.equal(await one.sh(`head -c 7 ${await one.devicePath('safe')}`), 'waiting');
});

test('a power cut with a seed keeps some unflushed writes, the same every time', async () => {
  const survivors = async (): Promise<string> => {
    const path = await one.devicePath('bad');
    await one.sh(`blkdiscard ${path} && sync`);
    await one.sh(`yes | tr -d '\\n' | dd of=${path} bs=4096 count=64 iflag=fullblock oflag=direct`);
    await one.cutPower({ loseUnflushed: { seed: 7 } });
    await one.start();
    const read = await one.run(['head', '-c', String(64 * 4096), await one.devicePath('bad')]);
    const blocks = Array.from({ length: 64 }, (_, index) => read.stdoutBytes[index * 4096]);
    return blocks.map((byte) => (byte === 0 ? '.' : 'x')).join('');
  };
  const first = await survivors();
  assert.match(first, /x/);
  assert.match(first, /\./);
  assert.equal(await survivors(), first);
});

test('a disk comes and goes while the guest runs, with its data', async () => {
  await one.addDisk({ name: 'late', sizeBytes: 64n * MiB, model: 'LATE' });
  const path = await one.devicePath('late');
  assert.equal(await deviceColumn(one, 'late', 'MODEL'), 'LATE');
  await one.sh(`printf kept | dd of=${path} bs=4096 conv=sync,fsync oflag=direct`);
  await one.pullDisk('late');
  await assert.rejects(one.devicePath('late'));
  await one.plugDisk('late');
  assert.equal(await one.sh(`head -c 4 ${await one.devicePath('late')}`), 'kept');
  await one.pullDisk('late');
});

test('a disk pulled under load fails what uses it and is listed no more', async () => {
  await one.addDisk({ name: 'loaded', sizeBytes: 512n * MiB });
  const path = await one.devicePath('loaded');
  const load = one.spawn(['dd', 'if=/dev/zero', `of=${path}`, 'bs=64k', 'oflag=direct']);
  await new Promise((resolve) => setTimeout(resolve, 300));
  await one.pullDisk('loaded');
  const ended = await load.result;
  assert.notEqual(ended.exitCode, 0);
  assert.match(ended.stderr, /error|No such device/i);
  const listed = await one.sh('lsblk --nodeps --noheadings --paths --output NAME');
  assert.ok(!listed.split('\n').includes(path));
});

test('a slow disk takes its time', async () => {
  const path = await one.devicePath('bad');
  const readOnce = ['dd', `if=${path}`, 'of=/dev/null', 'bs=4096', 'count=1', 'iflag=direct'];
  assert.ok((await one.run(readOnce)).durationMs < 300);
  await one.setDiskFault('bad', { kind: 'slow', delayMs: 700 });
  assert.ok((await one.run(readOnce)).durationMs >= 700);
  await one.setDiskFault('bad', { kind: 'none' });
  assert.ok((await one.run(readOnce)).durationMs < 300);
});

test('a failing disk fails the requests that were chosen', async () => {
  const path = await one.devicePath('bad');
  const read = ['dd', `if=${path}`, 'of=/dev/null', 'bs=4096', 'count=1', 'iflag=direct'];
  const write = ['dd', 'if=/dev/zero', `of=${path}`, 'bs=4096', 'count=1', 'oflag=direct'];
  await one.setDiskFault('bad', { kind: 'failing', requests: ['write'] });
  const refused = await one.run(write);
  assert.match(refused.stderr, /Input\/output error/);
  assert.equal((await one.run(read)).exitCode, 0);
  await one.setDiskFault('bad', {
    kind: 'failing',
    requests: ['read'],
    fromBytes: 0,
    toBytes: 512,
  });
  assert.notEqual((await one.run(read)).exitCode, 0);
  assert.equal((await one.run([...read, 'skip=1'])).exitCode, 0);
  await one.setDiskFault('bad', { kind: 'none' });
  assert.equal((await one.run(write)).exitCode, 0);
});

test('a full disk refuses new blocks and takes old ones', async () => {
  const path = await one.devicePath('bad');
  const writeAt = (block: number): readonly string[] => {
    const where = [`of=${path}`, `seek=${block}`, 'oflag=direct', 'conv=notrunc'];
    return ['dd', 'if=/dev/zero', 'bs=4096', 'count=1', ...where];
  };
  await one.run(writeAt(5));
  await one.setDiskFault('bad', { kind: 'full' });
  assert.equal((await one.run(writeAt(5))).exitCode, 0);
  const refused = await one.run(writeAt(5000));
  assert.match(refused.stderr, /No space left on device/);
  await one.setDiskFault('bad', { kind: 'none' });
  assert.equal((await one.run(writeAt(5000))).exitCode, 0);
});

test('a stuck disk answers nothing until it is healed', async () => {
  const path = await one.devicePath('bad');
  await one.setDiskFault('bad', { kind: 'stuck' });
  const load = one.spawn([
    'dd',
    `if=${path}`,
    'of=/dev/null',
    'bs=4096',
    'count=1',
    'iflag=direct',
  ]);
  load.endInput();
  const first = await Promise.race([
    load.result.then(() => 'read'),
    new Promise((resolve) => setTimeout(resolve, 1500, 'stuck')),
  ]);
  assert.equal(first, 'stuck');
  await one.setDiskFault('bad', { kind: 'none' });
  assert.equal((await load.result).exitCode, 0);
});

test('disks are there while the network is cut', async () => {
  await one.cutNetwork();
  await one.sh(`dd if=${await one.devicePath('fast')} of=/dev/null bs=1M count=8 iflag=direct`);
  await one.healNetwork();
});

test('a disk can begin as the copy of another', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'lab-test-'));
  try {
    const image = join(directory, 'image');
    const original = await one.devicePath('bad');
    await one.sh(`printf original | dd of=${original} bs=4096 conv=sync,fsync`);
    await one.saveDisk('bad', image);
    await two.addDisk({ name: 'copy', sizeBytes: 256n * MiB, imageFile: image });
    assert.equal(await two.sh(`head -c 8 ${await two.devicePath('copy')}`), 'original');
  } finally {
    await rm(directory, { recursive: true });
  }
});
