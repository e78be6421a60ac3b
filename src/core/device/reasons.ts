import { bytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { showBytes, showList } from '../../base/show.ts';
import type { ObservedDevice } from '../observed.ts';

/** Why a device is not taken. A closed list: status, events and docs use these words. */
export type DeviceReason =
  | 'not-selected'
  | 'wanted-elsewhere'
  | 'in-this-group'
  | 'in-another-group'
  | 'unusable-type'
  | 'read-only'
  | 'too-small'
  | 'suspended'
  | 'mounted'
  | 'swap'
  | 'has-holders'
  | 'boot-partition'
  | 'holds-data'
  | 'lvm-label-unclear'
  | 'not-exclusive'
  | 'opened'
  | 'ambiguous'
  | 'group-complete';

export type Exclusion = { readonly reason: DeviceReason; readonly message: string };

/** Somebody uses the device right now: nothing may be written to it, whatever was allowed. */
export function inUseReasons(device: ObservedDevice): readonly Exclusion[] {
  return applyRules(inUseRules, device);
}

/** The device itself is unfit, whoever asks. Data on it is `dataReasons`' business. */
export function unfitReasons(device: ObservedDevice): readonly Exclusion[] {
  return applyRules([...unfitRules, ...inUseRules], device);
}

/** Something is on the device, or nobody can say for certain that nothing is. */
export function dataReasons(device: ObservedDevice): readonly Exclusion[] {
  return applyRules(dataRules, device);
}

/** By what a report tells of a device: is something on it, and nothing else in the way? */
export function tellsOfContent(messages: readonly string[]): boolean {
  return messages.length > 0 && messages.every((message) => contentTexts.test(message));
}

/** The texts of `dataRules`, and of a device that is in another group. */
const contentTexts =
  /^it (holds |has an? .+ partition table$|carries an LVM label |belongs to the volume group )/;

/** Is everything that stands on the device a partition of it? The kernel's names say so. */
export function holdsPartitionsOnly({ path, holders }: ObservedDevice): boolean {
  const stem = /[0-9]$/.test(path) ? `${path}p` : path;
  return holders.every(
    (holder) => holder.startsWith(stem) && /^[0-9]+$/.test(holder.slice(stem.length)),
  );
}

type Rule = readonly [DeviceReason, (device: ObservedDevice) => string | undefined];

function applyRules(rules: readonly Rule[], device: ObservedDevice): readonly Exclusion[] {
  return rules.flatMap(([reason, test]) => {
    const message = test(device);
    return message === undefined ? [] : [{ reason, message }];
  });
}

const usableTypes = new Set(['disk', 'part', 'mpath', 'crypt', 'loop', 'md']);
const raidType = /^(raid|linear)[0-9]*$/;
/** ram, floppy, zram and friends call themselves disks too. */
const unusableNames = /^\/dev\/(ram|fd|zram|sr)[0-9]+$/;
const bootLabel = /bios|boot|reserved|esp|efi/i;
/** EFI system, BIOS boot, Microsoft reserved, PowerPC PReP, MBR EFI. */
const bootTypes = new Set([
  'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  '21686148-6449-6e6f-744e-656564454649',
  'e3c9e316-0b5c-4db8-817d-f92df00215ae',
  '9e1a2d38-c612-4316-aa26-8b49521e5a8b',
  '0xef',
]);

const unfitRules: readonly Rule[] = [
  ['unusable-type', unusableType],
  ['read-only', (device) => (device.isReadOnly ? 'it is read-only' : undefined)],
  ['too-small', tooSmall],
  ['boot-partition', bootPartition],
];

const inUseRules: readonly Rule[] = [
  ['suspended', (device) => (device.isSuspended ? 'it is suspended' : undefined)],
  [
    'mounted',
    ({ mountPoints }) =>
      mountPoints.length > 0 ? `it is mounted at ${showList(mountPoints)}` : undefined,
  ],
  ['swap', (device) => (device.isSwap ? 'it is used as swap' : undefined)],
  [
    'has-holders',
    ({ holders }) => (holders.length > 0 ? `${showList(holders)} stand on it` : undefined),
  ],
  ['not-exclusive', notExclusive],
  [
    'opened',
    ({ users }) => (users.length > 0 ? `${showList(users)} has it open for writing` : undefined),
  ],
];

const dataRules: readonly Rule[] = [
  ['holds-data', holdsData],
  ['lvm-label-unclear', unclearLabel],
];

function unusableType(device: ObservedDevice): string | undefined {
  if (device.type === 'lvm') return 'it is a logical volume';
  if (unusableNames.test(device.path)) return `${device.path} is no disk to keep data on`;
  if (device.backingFile.includes('plugins/kubernetes.io')) {
    return 'it is the loop device of a block volume that kubelet published';
  }
  if (usableTypes.has(device.type) || raidType.test(device.type)) return undefined;
  return `devices of type ${device.type} are not used`;
}

function tooSmall(device: ObservedDevice): string | undefined {
  if (device.sizeBytes >= limits.deviceBytesMin) return undefined;
  const min = showBytes(bytes(limits.deviceBytesMin));
  return `it has ${showBytes(device.sizeBytes)}, less than ${min}`;
}

function bootPartition(device: ObservedDevice): string | undefined {
  if (bootTypes.has(device.partitionType.toLowerCase())) return 'it is a boot partition';
  if (bootLabel.test(device.partitionLabel)) {
    return `its partition label is ${device.partitionLabel}`;
  }
  return undefined;
}

function notExclusive(device: ObservedDevice): string | undefined {
  if (device.exclusiveOpen === 'free') return undefined;
  if (device.exclusiveOpen === 'busy') return 'it cannot be opened exclusively: it is in use';
  return 'whether it can be opened exclusively is unknown';
}

function holdsData(device: ObservedDevice): string | undefined {
  if (device.fileSystem !== '' && device.fileSystem !== 'LVM2_member') {
    return `it holds ${device.fileSystem}`;
  }
  if (device.partitionTable !== '') return `it has a ${device.partitionTable} partition table`;
  switch (device.signatures.kind) {
    case 'none':
      return undefined;
    case 'unknown':
      return `what is on it is unknown: ${device.signatures.why}`;
    case 'found': {
      const others = device.signatures.types.filter((type) => type !== 'LVM2_member');
      return others.length > 0 ? `it holds ${showList(others)}` : undefined;
    }
  }
}

function unclearLabel(device: ObservedDevice): string | undefined {
  const saysLvm =
    device.fileSystem === 'LVM2_member' ||
    (device.signatures.kind === 'found' && device.signatures.types.includes('LVM2_member'));
  switch (device.label.kind) {
    case 'orphan':
      return undefined;
    case 'none':
      return saysLvm ? 'it carries an LVM label that LVM does not show' : undefined;
    case 'unknown':
      return `LVM cannot say what its label is: ${device.label.why}`;
    case 'half-made':
      return 'making a volume group on it was cut off';
    case 'member':
      return `it belongs to the volume group ${device.label.vg}`;
  }
}
