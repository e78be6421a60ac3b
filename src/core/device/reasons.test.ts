import assert from 'node:assert/strict';
import test from 'node:test';
import { desiredVgOf } from '../../../test/samples/desired-vg.ts';
import { nodeOf, sampleDevice, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import { bytes, noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import type { ObservedDevice, ObservedNode } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { planDevices } from './plan.ts';
import {
  type DeviceReason,
  dataReasons,
  holdsPartitionsOnly,
  inUseReasons,
  tellsOfContent,
  unfitReasons,
} from './reasons.ts';

const anyVg = desiredVgOf();

const kubeletFile = '/var/lib/kubelet/plugins/kubernetes.io/csi/volumeDevices/pvc-1/dev/1';

const named = (path: string): DesiredVg['selector'] => ({
  kind: 'paths',
  required: [],
  optional: [path],
  forceWipe: false,
});

/** One device of a node, for which the group decides; the rest of the node where it matters. */
type Row = {
  readonly reason: DeviceReason;
  readonly title: string;
  readonly device?: Partial<ObservedDevice>;
  readonly node?: Partial<ObservedNode>;
  readonly desired?: Partial<DesiredVg>;
  readonly others?: readonly DesiredVg[];
  readonly message: RegExp;
};

const rows: readonly Row[] = [
  {
    reason: 'not-selected',
    title: 'not named',
    desired: { selector: named('/dev/sdc') },
    message: /not in the device selector/,
  },
  {
    reason: 'not-selected',
    title: 'to be given up',
    device: { label: { kind: 'orphan', pvUuid: 'one' } },
    desired: { release: ['one'] },
    message: /shall leave the volume group vg1/,
  },
  {
    reason: 'wanted-elsewhere',
    title: 'named by another group',
    others: [{ ...anyVg, name: 'vg2', selector: named('/dev/sdb') }],
    message: /vg2 names it/,
  },
  {
    reason: 'wanted-elsewhere',
    title: 'named by two groups',
    desired: { selector: named('/dev/disk/by-id/b') },
    device: { links: ['/dev/disk/by-id/b'] },
    others: [{ ...anyVg, name: 'vg2', selector: named('/dev/sdb') }],
    message: /vg2 names it/,
  },
  {
    reason: 'wanted-elsewhere',
    title: 'free to two groups that take any',
    others: [{ ...anyVg, name: 'vg2' }],
    message: /vg2 takes any device too/,
  },
  {
    reason: 'in-this-group',
    title: 'a member already',
    node: { vgs: [sampleVg({ pvs: [samplePv({ device: '/dev/sdb' })] })] },
    message: /in the volume group vg1 already/,
  },
  {
    reason: 'in-another-group',
    title: 'a PV of another group',
    node: { vgs: [sampleVg({ name: 'vg2', pvs: [samplePv({ device: '/dev/sdb' })] })] },
    message: /belongs to the volume group vg2/,
  },
  {
    reason: 'in-another-group',
    title: "another group's PV by another name",
    device: { links: ['/dev/disk/by-id/b'] },
    node: { vgs: [sampleVg({ name: 'vg2', pvs: [samplePv({ device: '/dev/disk/by-id/b' })] })] },
    message: /belongs to the volume group vg2/,
  },
  {
    reason: 'group-complete',
    title: 'new to a group that takes no new devices',
    node: { vgs: [sampleVg({ pvs: [] })] },
    desired: { takesNewDevices: false },
    message: /takes no new devices/,
  },
  {
    reason: 'group-complete',
    title: 'new to a group that is not ours',
    node: { vgs: [sampleVg({ pvs: [], tags: [] })] },
    desired: { adopt: 'named' },
    message: /takes no new devices/,
  },
  {
    reason: 'unusable-type',
    title: 'a logical volume',
    device: { type: 'lvm', path: '/dev/mapper/vg1-v1' },
    message: /logical volume/,
  },
  { reason: 'unusable-type', title: 'an optical drive', device: { type: 'rom' }, message: /rom/ },
  {
    reason: 'unusable-type',
    title: 'a zram disk',
    device: { path: '/dev/zram0' },
    message: /zram0 is no disk/,
  },
  {
    reason: 'unusable-type',
    title: 'a block volume that kubelet published',
    device: {
      type: 'loop',
      path: '/dev/loop0',
      backingFile: kubeletFile,
    },
    message: /kubelet/,
  },
  { reason: 'read-only', title: 'read-only', device: { isReadOnly: true }, message: /read-only/ },
  { reason: 'too-small', title: 'zero-sized', device: { sizeBytes: noBytes }, message: /0 B/ },
  {
    reason: 'too-small',
    title: 'one byte too small',
    device: { sizeBytes: bytes(limits.deviceBytesMin - 1n) },
    message: /less than 16 MiB/,
  },
  { reason: 'suspended', title: 'suspended', device: { isSuspended: true }, message: /suspended/ },
  {
    reason: 'mounted',
    title: 'mounted',
    device: { mountPoints: ['/', '/var/lib/kubelet'] },
    message: /mounted at \/ and \/var\/lib\/kubelet/,
  },
  { reason: 'swap', title: 'used as swap', device: { isSwap: true }, message: /swap/ },
  {
    reason: 'has-holders',
    title: 'held by another device',
    device: { holders: ['/dev/mapper/luks'] },
    message: /\/dev\/mapper\/luks stand on it/,
  },
  {
    reason: 'boot-partition',
    title: 'labelled as a boot partition',
    device: { type: 'part', path: '/dev/sdb1', partitionLabel: 'BIOS Boot' },
    message: /BIOS Boot/,
  },
  {
    reason: 'boot-partition',
    title: 'an EFI system partition',
    device: {
      type: 'part',
      path: '/dev/sdb1',
      partitionType: 'C12A7328-F81F-11D2-BA4B-00A0C93EC93B',
    },
    message: /boot partition/,
  },
  { reason: 'holds-data', title: 'formatted', device: { fileSystem: 'xfs' }, message: /xfs/ },
  {
    reason: 'holds-data',
    title: 'formatted where lsblk knows nothing of it',
    device: { signatures: { kind: 'found', types: ['ext4'] } },
    message: /ext4/,
  },
  {
    reason: 'holds-data',
    title: 'partitioned, without partitions',
    device: { partitionTable: 'gpt' },
    message: /gpt partition table/,
  },
  {
    reason: 'holds-data',
    title: 'impossible to probe',
    device: { signatures: { kind: 'unknown', why: 'blkid ended with code 8' } },
    message: /unknown: blkid ended with code 8/,
  },
  {
    reason: 'holds-data',
    title: 'an orphan PV with a file system beside the label',
    device: {
      label: { kind: 'orphan', pvUuid: 'u' },
      signatures: { kind: 'found', types: ['LVM2_member', 'ext4'] },
    },
    message: /holds ext4/,
  },
  {
    reason: 'lvm-label-unclear',
    title: 'labelled for LVM but unknown to it',
    device: { fileSystem: 'LVM2_member' },
    message: /LVM does not show/,
  },
  {
    reason: 'lvm-label-unclear',
    title: 'labelled for LVM by a probe alone',
    device: { signatures: { kind: 'found', types: ['LVM2_member'] } },
    message: /LVM does not show/,
  },
  {
    reason: 'lvm-label-unclear',
    title: 'one LVM did not look at',
    device: { label: { kind: 'unknown', why: 'LVM did not look at it' } },
    message: /did not look/,
  },
  {
    reason: 'lvm-label-unclear',
    title: 'a PV of a group that the devices file hides',
    device: { label: { kind: 'member', pvUuid: 'u', vg: 'hidden' } },
    message: /belongs to the volume group hidden/,
  },
  {
    reason: 'not-exclusive',
    title: 'held open by somebody',
    device: { exclusiveOpen: 'busy' },
    message: /in use/,
  },
  {
    reason: 'not-exclusive',
    title: 'one nobody could try to open',
    device: { exclusiveOpen: 'unknown' },
    message: /unknown/,
  },
  {
    reason: 'opened',
    title: 'written to by somebody who claims nothing',
    device: { users: ['the process qemu'] },
    message: /^the process qemu has it open for writing$/,
  },
  {
    reason: 'ambiguous',
    title: 'one of two with one WWN',
    device: { wwn: '0x5000' },
    node: { devices: [sampleDevice({ path: '/dev/sdc', wwn: '0x5000' })] },
    message: /\/dev\/sdc has the same WWN 0x5000/,
  },
  {
    reason: 'ambiguous',
    title: 'a partition of one of two with one WWN',
    device: { path: '/dev/sdb1', type: 'part', wwn: '0x5000' },
    node: {
      devices: [
        sampleDevice({ path: '/dev/sdb', wwn: '0x5000', holders: ['/dev/sdb1'] }),
        sampleDevice({ path: '/dev/sdc', wwn: '0x5000' }),
      ],
    },
    message: /\/dev\/sdc has the same WWN 0x5000/,
  },
];

for (const row of rows) {
  test(`a device that is ${row.title} is left alone: ${row.reason}`, () => {
    const device = sampleDevice(row.device);
    const node = nodeOf([device, ...(row.node?.devices ?? [])], { vgs: row.node?.vgs ?? [] });
    const choice = planDevices({ ...anyVg, ...row.desired }, node, row.others ?? []);
    const entry = choice.excluded.find((candidate) => candidate.device === device);
    const [only, ...more] = entry?.reasons ?? [];
    assert.equal(only?.reason, row.reason);
    assert.match(only?.message ?? '', row.message);
    assert.deepEqual(more, [], 'no other reason hides that this one is found');
    assert.deepEqual(
      choice.chosen.filter((candidate) => candidate === device),
      [],
    );
  });
}

test('who reads a reason knows whether something is on the device', () => {
  const content = new Set<DeviceReason>(['holds-data', 'lvm-label-unclear', 'in-another-group']);
  for (const { reason, title, device, node: around, desired, others } of rows) {
    const own = sampleDevice(device);
    const node = nodeOf([own, ...(around?.devices ?? [])], { vgs: around?.vgs ?? [] });
    const choice = planDevices({ ...anyVg, ...desired }, node, others ?? []);
    const excluded = choice.excluded.find((one) => one.device === own)?.reasons ?? [];
    const messages = excluded.map(({ message }) => message);
    const isKnown = !/impossible to probe|did not look at/.test(title);
    assert.equal(tellsOfContent(messages), content.has(reason) && isKnown, messages.join('; '));
  }
  assert.equal(tellsOfContent(['it holds xfs', 'its path is not in the device selector']), false);
  assert.equal(tellsOfContent([]), false);
});

test('every reason there is has a row above', () => {
  const all: { readonly [reason in DeviceReason]: true } = {
    'not-selected': true,
    'wanted-elsewhere': true,
    'in-this-group': true,
    'in-another-group': true,
    'unusable-type': true,
    'read-only': true,
    'too-small': true,
    suspended: true,
    mounted: true,
    swap: true,
    'has-holders': true,
    'boot-partition': true,
    'holds-data': true,
    'lvm-label-unclear': true,
    'not-exclusive': true,
    opened: true,
    ambiguous: true,
    'group-complete': true,
  };
  assert.deepEqual(new Set(rows.map((row) => row.reason)), new Set(Object.keys(all)));
});

const stacked: readonly (readonly [title: string, below: Partial<ObservedDevice>])[] = [
  ['a logical volume', { path: '/dev/mapper/vg1-v1', type: 'lvm' }],
  ['a block volume that kubelet published', { path: '/dev/loop0', backingFile: kubeletFile }],
  ['a disk mounted as a whole', { mountPoints: ['/data'] }],
  ['a PV that the devices file hides', { label: { kind: 'member', pvUuid: 'u', vg: 'vg2' } }],
];

for (const [title, below] of stacked) {
  test(`what stands on ${title} is left alone however empty it is`, () => {
    const middle = sampleDevice({ path: '/dev/part1', type: 'part', holders: ['/dev/mapper/x'] });
    const top = sampleDevice({ path: '/dev/mapper/x', type: 'crypt' });
    const ground = sampleDevice({ ...below, holders: [middle.path] });
    const choice = planDevices(anyVg, nodeOf([ground, middle, top]), []);
    assert.deepEqual(choice.chosen, []);
    const reasons = choice.excluded.find(({ device }) => device === top)?.reasons ?? [];
    assert.ok(reasons.every(({ message }) => message.includes(`it stands on ${ground.path}`)));
  });
}

const fit: readonly (readonly [title: string, device: Partial<ObservedDevice>])[] = [
  ['an empty disk', {}],
  ['an empty partition', { path: '/dev/sdb1', type: 'part', partitionLabel: 'data' }],
  ['a multipath device', { path: '/dev/mapper/mpatha', type: 'mpath' }],
  ['an encrypted device', { path: '/dev/mapper/luks', type: 'crypt' }],
  ['a software RAID', { path: '/dev/md127', type: 'raid1' }],
  ['a loop device of somebody', { path: '/dev/loop7', type: 'loop', backingFile: '/srv/disk' }],
  ['an orphan PV', { label: { kind: 'orphan', pvUuid: 'u' }, fileSystem: 'LVM2_member' }],
  ['a disk of just the least size', { sizeBytes: bytes(limits.deviceBytesMin) }],
];

for (const [title, device] of fit) {
  test(`${title} that nobody uses is chosen`, () => {
    const observed = sampleDevice(device);
    assert.deepEqual(unfitReasons(observed), []);
    assert.deepEqual(dataReasons(observed), []);
    assert.deepEqual(planDevices(anyVg, nodeOf([observed]), []).chosen, [observed]);
  });
}

test('partitions of one disk share its WWN and are no twins', () => {
  const disk = { path: '/dev/sdb', wwn: '0x5000', holders: ['/dev/sdb1', '/dev/sdb2'] };
  const parts = ['/dev/sdb1', '/dev/sdb2'].map((path) =>
    sampleDevice({ path, type: 'part', wwn: '0x5000' }),
  );
  const choice = planDevices(anyVg, nodeOf([sampleDevice(disk), ...parts]), []);
  assert.deepEqual(choice.chosen, parts);
});

test('all that is wrong with a device is told at once', () => {
  const device = sampleDevice({ isReadOnly: true, mountPoints: ['/'], exclusiveOpen: 'busy' });
  const reasons = unfitReasons(device).map((exclusion) => exclusion.reason);
  assert.deepEqual(reasons, ['read-only', 'mounted', 'not-exclusive']);
  const uses = inUseReasons(device).map((exclusion) => exclusion.reason);
  assert.deepEqual(uses, ['mounted', 'not-exclusive']);
});

const holders: readonly (readonly [path: string, holder: string, isPartition: boolean])[] = [
  ['/dev/sda', '/dev/sda1', true],
  ['/dev/sda', '/dev/sda15', true],
  ['/dev/nvme0n1', '/dev/nvme0n1p2', true],
  ['/dev/md1', '/dev/md1p1', true],
  ['/dev/md1', '/dev/md127', false],
  ['/dev/sda', '/dev/sdab1', false],
  ['/dev/sda', '/dev/sda', false],
  ['/dev/sda', '/dev/mapper/luks', false],
];

for (const [path, holder, isPartition] of holders) {
  test(`${holder} is ${isPartition ? 'a' : 'no'} partition of ${path}`, () => {
    assert.equal(holdsPartitionsOnly(sampleDevice({ path, holders: [holder] })), isPartition);
  });
}
