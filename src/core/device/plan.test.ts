import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { desiredVgOn } from '../../../test/samples/desired-vg.ts';
import { generatedNode, generatedVg } from '../../../test/samples/generated-node.ts';
import { nodeOf, sampleDevice, samplePv, sampleVg } from '../../../test/samples/observed.ts';
import { MiB, noBytes } from '../../base/bytes.ts';
import type { ObservedDevice, ObservedNode } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { planDevices } from './plan.ts';
import { deviceStatus } from './status.ts';

const runs = { numRuns: 500 };

test('no device that is in use or holds anything is ever chosen, and all others are', () => {
  let taken = 0;
  fc.assert(
    fc.property(generatedNode, generatedVg('vg1'), (node, desired) => {
      const { chosen } = planDevices(desired, node, []);
      taken += chosen.length;
      for (const device of node.devices) {
        const isFree = isHarmless(device, node) && isWanted(device, desired, node);
        assert.equal(chosen.includes(device), isFree, device.path);
      }
    }),
    runs,
  );
  assert.ok(taken > 50, `the hosts were hopeless: ${taken} devices chosen`);
});

test('every device is chosen or has a reason that a person can read', () => {
  fc.assert(
    fc.property(generatedNode, generatedVg('vg1'), (node, desired) => {
      const { chosen, excluded, members } = planDevices(desired, node, []);
      const told = [...chosen, ...excluded.map(({ device }) => device)];
      assert.equal(told.length, node.devices.length);
      assert.deepEqual(new Set(told), new Set(node.devices));
      for (const { device, reasons } of excluded) {
        assert.ok(reasons.length > 0);
        for (const { message } of reasons) assert.ok(message.length > 5, device.path);
      }
      assert.deepEqual(
        members.filter((device) => chosen.includes(device)),
        [],
      );
    }),
    runs,
  );
});

test('what may be wiped is wanted, is nobody’s and in nobody’s use', () => {
  let found = 0;
  fc.assert(
    fc.property(generatedNode, generatedVg('vg1'), (node, desired) => {
      const { wipeable, chosen } = planDevices(desired, node, []);
      found += wipeable.length;
      for (const device of wipeable) {
        const isOurs = device.label.kind === 'half-made';
        assert.ok(isOurs || desired.selector.forceWipe, device.path);
        assert.ok(isSelected(device, desired), device.path);
        assert.ok(!isUsed(device), device.path);
        assert.ok(!['member', 'unknown'].includes(device.label.kind), device.path);
        assert.ok(!isInGroup(device, node), device.path);
        assert.ok(!chosen.includes(device), 'there is nothing on it to wipe');
        const parts = node.devices.filter((part) => part.type === 'part');
        const partPaths = parts.map((part) => part.path);
        assert.ok(device.holders.every((holder) => partPaths.includes(holder)));
      }
    }),
    runs,
  );
  assert.ok(found > 0, `the hosts were hopeless: ${found} devices to wipe`);
});

test('two groups never choose one device', () => {
  fc.assert(
    fc.property(generatedNode, generatedVg('vg1'), generatedVg('vg2'), (node, one, two) => {
      const first = planDevices(one, node, [two]);
      const second = planDevices(two, node, [one]);
      const taken = new Set([...first.chosen, ...first.wipeable]);
      const both = [...second.chosen, ...second.wipeable].filter((device) => taken.has(device));
      assert.deepEqual(both, []);
    }),
    runs,
  );
});

test('the order in which devices are found changes nothing', () => {
  fc.assert(
    fc.property(generatedNode, generatedVg('vg1'), (node, desired) => {
      const reversed = { ...node, devices: node.devices.toReversed() };
      assert.deepEqual(planDevices(desired, reversed, []), planDevices(desired, node, []));
    }),
    runs,
  );
});

/** The facts alone, read here a second time, independently of the rules. */
function isHarmless(device: ObservedDevice, node: ObservedNode): boolean {
  const isKnownType = ['disk', 'part', 'loop', 'mpath', 'raid1'].includes(device.type);
  const isOrphan = device.label.kind === 'orphan';
  const isEmptyLabel = device.label.kind === 'none';
  const types = device.signatures.kind === 'found' ? device.signatures.types : [];
  const contents = [...types, device.fileSystem].filter((type) => type !== '');
  return (
    isKnownType &&
    !device.path.startsWith('/dev/zram') &&
    device.backingFile === '' &&
    device.sizeBytes >= 16n * MiB &&
    device.holders.length === 0 &&
    !isUsed(device) &&
    device.partitionTable === '' &&
    device.signatures.kind !== 'unknown' &&
    (isOrphan ? contents.every((type) => type === 'LVM2_member') : contents.length === 0) &&
    (isOrphan || isEmptyLabel) &&
    device.partitionLabel !== 'EFI System' &&
    !device.partitionType.startsWith('2168') &&
    !hasTwin(device, node) &&
    !isInGroup(device, node) &&
    node.devices.every((below) => !below.holders.includes(device.path) || isGround(below, node))
  );
}

/** May anything that stands on this device be taken, as far as the device itself is asked? */
function isGround(device: ObservedDevice, node: ObservedNode): boolean {
  const { type, path, backingFile, mountPoints, isSwap, isSuspended, label, users } = device;
  const isOrdinary = !['lvm', 'rom'].includes(type) && !path.startsWith('/dev/zram');
  const isUsedAsAWhole = mountPoints.length > 0 || isSwap || isSuspended || users.length > 0;
  const isPv = isInGroup(device, node) || label.kind === 'member';
  return isOrdinary && backingFile === '' && !isUsedAsAWhole && !isPv;
}

function isUsed(device: ObservedDevice): boolean {
  const { mountPoints, isSwap, isSuspended, isReadOnly, exclusiveOpen, users } = device;
  const isOpen = exclusiveOpen !== 'free' || users.length > 0;
  return mountPoints.length > 0 || isSwap || isSuspended || isReadOnly || isOpen;
}

function hasTwin(device: ObservedDevice, node: ObservedNode): boolean {
  const disk = node.devices.find((other) => other.holders.includes(device.path)) ?? device;
  return node.devices.some(
    (other) =>
      other.wwn !== '' && other.wwn === disk.wwn && other !== disk && other.type === disk.type,
  );
}

function isInGroup(device: ObservedDevice, node: ObservedNode): boolean {
  const names = [device.path, ...device.links];
  return node.vgs.some((vg) => vg.pvs.some((pv) => names.includes(pv.device)));
}

function isSelected(device: ObservedDevice, { selector }: DesiredVg): boolean {
  const names = [device.path, ...device.links];
  if (selector.kind === 'any') return true;
  return [...selector.required, ...selector.optional].some((path) => names.includes(path));
}

function isWanted(device: ObservedDevice, desired: DesiredVg, node: ObservedNode): boolean {
  const { label } = device;
  const exists = node.vgs.some((vg) => vg.name === desired.name);
  return (
    isSelected(device, desired) &&
    !(label.kind === 'orphan' && desired.release.includes(label.pvUuid)) &&
    (desired.takesNewDevices || !exists)
  );
}

const paths = (required: readonly string[], optional: string[] = []) =>
  desiredVgOn(required, { optional });

test('a link names a device as well as its path does', () => {
  const device = sampleDevice({ links: ['/dev/disk/by-id/b'] });
  const choice = planDevices(paths(['/dev/disk/by-id/b']), nodeOf([device]), []);
  assert.deepEqual(choice.chosen, [device]);
});

test('named paths without a device are told', () => {
  const choice = planDevices(paths(['/dev/sdb', '/dev/sdx'], ['/dev/sdy']), nodeOf([]), []);
  assert.deepEqual(choice.missing, ['/dev/sdb', '/dev/sdx', '/dev/sdy']);
});

test('devices are told in the order people count', () => {
  const devices = ['/dev/sdb10', '/dev/sdb9'].map((path) => sampleDevice({ path, type: 'part' }));
  const desired = paths([], ['/dev/sdb9', '/dev/sdb10']);
  const { chosen } = planDevices(desired, nodeOf(devices), []);
  assert.deepEqual(
    chosen.map((device) => device.path),
    ['/dev/sdb9', '/dev/sdb10'],
  );
});

test('a status line says for each device what becomes of it and why', () => {
  const node = nodeOf(
    [
      sampleDevice({ path: '/dev/sdb' }),
      sampleDevice({ path: '/dev/sdc', mountPoints: ['/data'] }),
      sampleDevice({ path: '/dev/sdd' }),
      sampleDevice({ path: '/dev/sde' }),
      sampleDevice({
        path: '/dev/loop0',
        type: 'loop',
        sizeBytes: noBytes,
      }),
      sampleDevice({ path: '/dev/mapper/vg1-v1', type: 'lvm' }),
    ],
    { vgs: [sampleVg({ pvs: [samplePv({ device: '/dev/sdd' })] })] },
  );
  const choice = planDevices(paths([], ['/dev/sdb', '/dev/sdc', '/dev/sdd']), node, []);
  assert.deepEqual(
    deviceStatus(choice).map(({ path, state, reasons }) => [path, state, ...reasons]),
    [
      ['/dev/sdb', 'chosen'],
      ['/dev/sdc', 'left-alone', 'it is mounted at /data'],
      ['/dev/sdd', 'used', 'it is in the volume group vg1 already'],
      ['/dev/sde', 'left-alone', 'its path is not in the device selector'],
    ],
  );
});
