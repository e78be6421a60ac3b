import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, type Suite, suites } from '../../test/fixtures/recorded.ts';
import { MiB, times } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import type { LvmLabel, ObservedDevice } from '../core/observed.ts';
import {
  assembleDevice,
  type BlockDevice,
  type DeviceFacts,
  parseBlockDevices,
  parseLoopDevices,
  parseMounts,
  parseSwaps,
} from './devices.ts';
import { parseLabels } from './report.ts';

const noFacts: DeviceFacts = {
  links: [],
  mounts: [],
  swaps: [],
  backingFiles: new Map(),
  labels: [],
  signatures: new Map(),
  halfMade: new Set(),
  exclusive: new Map(),
};

function outputOf(suite: Suite, name: string): string {
  return readRecorded(suite, name).stdout;
}

function diskOf(suite: Suite, fixture: string, disk: string): string {
  const path = readRecorded(suite, fixture).disks[disk];
  assert.ok(path !== undefined, `no disk ${disk}`);
  return path;
}

function blockDeviceOf(suite: Suite, fixture: string, path: string): BlockDevice {
  const devices = parseBlockDevices(outputOf(suite, `lsblk-${fixture}`));
  const device = devices.find((candidate) => candidate.path === path);
  assert.ok(device !== undefined, `no ${path}`);
  return device;
}

/** A device of the scene `devices`, with everything the other looks said. */
function observed(suite: Suite, path: string): ObservedDevice {
  return assembleDevice(blockDeviceOf(suite, 'devices', path), {
    ...noFacts,
    mounts: parseMounts(outputOf(suite, 'mounts-devices')),
    swaps: parseSwaps(outputOf(suite, 'swaps-devices')),
    backingFiles: parseLoopDevices(outputOf(suite, 'losetup-devices')),
    labels: parseLabels(outputOf(suite, 'labels-devices')),
  });
}

function assertIs<T extends object>(actual: T, expected: Partial<T>): void {
  for (const [key, value] of Object.entries(expected)) {
    assert.deepEqual(actual[key as keyof T], value, key);
  }
}

/** The label of a disk, as a look at labels shows it. */
function labelOf(suite: Suite, fixture: string, disk: string): LvmLabel {
  const path = diskOf(suite, `labels-${fixture}`, disk);
  const plain = { ...blockDeviceOf(suite, 'blank', diskOf(suite, 'lsblk-blank', 'a')), path };
  const labels = parseLabels(outputOf(suite, `labels-${fixture}`));
  return assembleDevice({ ...plain, kernelPath: path }, { ...noFacts, labels }).label;
}

const labels: readonly (readonly [string, string, string, LvmLabel['kind']])[] = [
  ['blank', 'a', 'an empty disk', 'none'],
  ['layouts', 'a', 'a disk of a group', 'member'],
  ['layouts', 'g', 'a PV without a group', 'orphan'],
  ['orphan', 'd', 'a PV without a group beside other disks', 'orphan'],
  ['orphan', 'a', 'a disk with a file system', 'none'],
  ['orphan', 'c', 'a disk with partitions, which LVM does not look at', 'unknown'],
  ['exported', 'a', 'a disk of an exported group', 'member'],
  ['foreign', 'a', 'a disk of the group of another host', 'unknown'],
  ['shared', 'a', 'a disk of a shared group', 'unknown'],
  ['devices-file', 'a', 'a disk that the devices file hides', 'member'],
  ['devices-file', 'b', 'a PV without a group in the devices file', 'orphan'],
  ['devices-file', 'c', 'an empty disk that is not in the devices file', 'none'],
  ['duplicate', 'a', 'a disk that was copied', 'unknown'],
  ['duplicate', 'b', 'the other disk of its group', 'member'],
  ['duplicate', 'c', 'the copy', 'unknown'],
  ['partial', 'a', 'a disk of a group that misses another', 'member'],
  ['unreadable', 'a', 'a disk of a group that cannot be read', 'unknown'],
  ['unreadable-blank', 'c', 'a disk that cannot be read', 'unknown'],
];

for (const suite of suites) {
  for (const [fixture, disk, what, kind] of labels) {
    test(`${suite}: ${what} has the label "${kind}"`, () => {
      assert.equal(labelOf(suite, fixture, disk).kind, kind);
    });
  }

  test(`${suite}: a label names its PV and its group`, () => {
    const label = labelOf(suite, 'layouts', 'a');
    assert.ok(label.kind === 'member');
    assert.equal(label.vg, 'data');
    assert.match(label.pvUuid, /^\w{6}-/);
  });

  test(`${suite}: an empty disk shows its identity and no use`, () => {
    const device = blockDeviceOf(suite, 'blank', diskOf(suite, 'lsblk-blank', 'a'));
    assertIs(device, { type: 'disk', sizeBytes: times(MiB, 64), holders: [], mountPoints: [] });
    assertIs(device, { isReadOnly: false, isSuspended: false, isSwap: false });
    assertIs(device, { partitionTable: '', fileSystem: '', model: 'LAB DISK' });
    assert.match(device.serial, /recorder-a$/);
    assert.match(device.wwn, /^0x[0-9a-f]{16}$/);
    assert.match(device.number, /^\d+:\d+$/);
  });

  test(`${suite}: a disk with partitions holds them, and they know their names`, () => {
    const disk = diskOf(suite, 'lsblk-devices', 'a');
    assertIs(observed(suite, disk), { partitionTable: 'gpt', holders: [`${disk}1`, `${disk}2`] });
    const linux = '0fc63daf-8483-4772-8e79-3d69d8477de4';
    assertIs(observed(suite, `${disk}1`), {
      ...{ type: 'part', partitionLabel: 'boot', partitionType: linux, partitionTable: '' },
      ...{ sizeBytes: times(MiB, 16), label: { kind: 'none' } },
    });
  });

  test(`${suite}: swap and mounts are seen, spaces in names too`, () => {
    const swap = diskOf(suite, 'lsblk-devices', 'b');
    assertIs(observed(suite, swap), { isSwap: true, fileSystem: 'swap' });
    const mounted = diskOf(suite, 'lsblk-devices', 'c');
    assertIs(observed(suite, mounted), { mountPoints: ['/run/a b'], fileSystem: 'ext4' });
    const lv = observed(suite, '/dev/mapper/data-one');
    assertIs(lv, { type: 'lvm', mountPoints: ['/run/lv'], fileSystem: 'ext4' });
    const bound = diskOf(suite, 'lsblk-devices', 'f');
    assertIs(observed(suite, bound), { mountPoints: ['/run/bound'] });
  });

  test(`${suite}: what stands on a disk is its holder`, () => {
    const holdersOf = (disk: string) => observed(suite, diskOf(suite, 'lsblk-devices', disk));
    assertIs(holdersOf('d'), { holders: ['/dev/mapper/locked'] });
    assertIs(observed(suite, '/dev/mapper/locked'), { type: 'crypt' });
    assertIs(holdersOf('e'), { holders: ['/dev/mapper/data-one'], fileSystem: 'LVM2_member' });
    assertIs(holdersOf('f'), { holders: ['/dev/mapper/many'] });
    assertIs(observed(suite, '/dev/mapper/many'), { type: 'mpath' });
  });

  test(`${suite}: a loop device names its file, an idle one is empty`, () => {
    const loops = [...parseLoopDevices(outputOf(suite, 'losetup-devices')).keys()].toSorted();
    assert.deepEqual(loops, ['/dev/loop0', '/dev/loop1']);
    for (const loop of loops) {
      assertIs(observed(suite, loop), { type: 'loop', backingFile: '/run/a loop.img' });
    }
    assertIs(observed(suite, '/dev/loop1'), { isReadOnly: true });
    assertIs(observed(suite, '/dev/loop2'), { backingFile: '', sizeBytes: times(MiB, 0) });
    assert.equal(parseLoopDevices(outputOf(suite, 'losetup-blank')).size, 0);
  });

  test(`${suite}: suspended devices are seen, LVM's and others`, () => {
    for (const path of ['/dev/mapper/data-one', '/dev/mapper/other']) {
      assertIs(blockDeviceOf(suite, 'suspended', path), { isSuspended: true });
    }
  });

  test(`${suite}: a device that stands on many disks is listed once`, () => {
    const devices = parseBlockDevices(outputOf(suite, 'lsblk-layouts'));
    const paths = devices.map((device) => device.path);
    assert.equal(new Set(paths).size, paths.length);
    assert.ok(paths.includes('/dev/mapper/data-raid6'));
    const disk = diskOf(suite, 'lsblk-layouts', 'a');
    const { holders } = blockDeviceOf(suite, 'layouts', disk);
    assert.ok(holders.includes('/dev/mapper/data-raid6_rimage_0'));
    assert.ok(holders.includes('/dev/mapper/data-linear'));
  });

  test(`${suite}: a disk that was pulled out is gone`, () => {
    const devices = parseBlockDevices(outputOf(suite, 'lsblk-pulled'));
    const pulled = diskOf(suite, 'lsblk-pulled', 'a');
    assert.ok(!devices.some((device) => device.path === pulled));
  });

  test(`${suite}: a host without swap and mounts of disks has none`, () => {
    assert.deepEqual(parseSwaps(outputOf(suite, 'swaps-blank')), []);
    const mounts = parseMounts(outputOf(suite, 'mounts-blank'));
    assert.ok(mounts.some((mount) => mount.mountPoint === '/'));
    assert.ok(mounts.every((mount) => !mount.source.startsWith('/dev/')));
  });
}

test('a mount is found by the number of its device when the name is another', () => {
  const [suite] = suites;
  const disk = blockDeviceOf(suite, 'blank', diskOf(suite, 'lsblk-blank', 'a'));
  const mounts = [{ number: disk.number, source: '/dev/root', mountPoint: '/data' }];
  assert.deepEqual(assembleDevice(disk, { ...noFacts, mounts }).mountPoints, ['/data']);
});

test('a device is known by its links too', () => {
  const [suite] = suites;
  const disk = blockDeviceOf(suite, 'blank', diskOf(suite, 'lsblk-blank', 'a'));
  const link = '/dev/disk/by-id/x';
  const links = [{ link, device: disk.path }];
  const device = assembleDevice(disk, { ...noFacts, links, swaps: [link] });
  assertIs(device, { links: [link], isSwap: true });
});

test('a device that no look told of is unknown in every way', () => {
  const [suite] = suites;
  const disk = blockDeviceOf(suite, 'blank', diskOf(suite, 'lsblk-blank', 'a'));
  const device = assembleDevice(disk, noFacts);
  assert.equal(device.label.kind, 'unknown');
  assert.equal(device.signatures.kind, 'unknown');
  assert.equal(device.exclusiveOpen, 'unknown');
});

test('lsblk of RHEL 8 writes flags and sizes as text', () => {
  const row = { name: '/dev/sda', kname: '/dev/sda', size: '1048576', ro: '1', state: null };
  const [device] = parseBlockDevices(JSON.stringify({ blockdevices: [row] }));
  assert.ok(device !== undefined);
  assertIs(device, { sizeBytes: times(MiB, 1), isReadOnly: true, model: '' });
});

const spoiled = ['', '{}', '[]', '{"blockdevices": 1}', '{"blockdevices": [{}]}'];

for (const output of spoiled) {
  test(`refuses ${JSON.stringify(output)} of lsblk`, () => {
    assert.throws(() => parseBlockDevices(output), isUnreadable);
  });
}

test('refuses half of what lsblk and losetup print', () => {
  const half = (output: string) => output.slice(0, output.length / 2);
  for (const suite of suites) {
    assert.throws(() => parseBlockDevices(half(outputOf(suite, 'lsblk-devices'))), isUnreadable);
    assert.throws(() => parseLoopDevices(half(outputOf(suite, 'losetup-devices'))), isUnreadable);
  }
});

function isUnreadable(error: unknown): boolean {
  return error instanceof OperationError && error.code === 'UnreadableReport';
}
