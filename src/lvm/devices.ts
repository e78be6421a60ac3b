import type { LvmLabel, ObservedDevice, Signatures } from '../core/observed.ts';
import { unknownGroup } from './headers.ts';
import {
  flag,
  optionalText,
  parseJson,
  type Row,
  requiredRows,
  rowsOf,
  size,
  text,
} from './json.ts';
import type { LabelRow } from './report.ts';

/** A block device as lsblk alone shows it. */
export type BlockDevice = Omit<
  ObservedDevice,
  'links' | 'backingFile' | 'emptied' | 'signatures' | 'label' | 'exclusiveOpen' | 'users'
> & { readonly kernelPath: string };

/** Everything that the other looks add to it. */
export type DeviceFacts = {
  readonly links: readonly { readonly link: string; readonly device: string }[];
  readonly mounts: readonly Mount[];
  readonly swaps: readonly string[];
  readonly backingFiles: ReadonlyMap<string, string>;
  readonly labels: readonly LabelRow[];
  readonly signatures: ReadonlyMap<string, Signatures>;
  /** Devices on which a vgcreate of ours was cut off, proven by their headers. */
  readonly halfMade: ReadonlySet<string>;
  readonly exclusive: ReadonlyMap<string, ObservedDevice['exclusiveOpen']>;
};

export type Mount = {
  readonly number: string;
  readonly source: string;
  readonly mountPoint: string;
};

/** lsblk's tree as a flat list: a device reached on several ways stands in it once. */
export function parseBlockDevices(output: string): readonly BlockDevice[] {
  const found = new Map<string, BlockDevice>();
  const visit = (row: Row): void => {
    const device = parseBlockDevice(row);
    const known = found.get(device.kernelPath);
    const holders = [...new Set([...(known?.holders ?? []), ...device.holders])];
    found.set(device.kernelPath, { ...device, holders });
    for (const child of rowsOf(row, 'children')) visit(child);
  };
  for (const row of requiredRows(parseJson(output, 'lsblk'), 'blockdevices')) visit(row);
  return [...found.values()];
}

function parseBlockDevice(row: Row): BlockDevice {
  const mountPoint = optionalText(row, 'mountpoint');
  return {
    path: text(row, 'name'),
    kernelPath: text(row, 'kname'),
    number: optionalText(row, 'maj:min'),
    type: optionalText(row, 'type'),
    sizeBytes: size(row, 'size'),
    model: optionalText(row, 'model'),
    serial: optionalText(row, 'serial'),
    wwn: optionalText(row, 'wwn'),
    isReadOnly: flag(row, 'ro'),
    isSuspended: optionalText(row, 'state') === 'suspended',
    mountPoints: mountPoint === '' ? [] : [mountPoint],
    isSwap: mountPoint === '[SWAP]',
    holders: rowsOf(row, 'children').map((child) => text(child, 'name')),
    partitionTable: optionalText(row, 'pttype'),
    partitionLabel: optionalText(row, 'partlabel'),
    partitionType: optionalText(row, 'parttype'),
    fileSystem: optionalText(row, 'fstype'),
  };
}

export function assembleDevice(device: BlockDevice, facts: DeviceFacts): ObservedDevice {
  const { kernelPath, ...rest } = device;
  const paths = [device.path, kernelPath];
  const links = facts.links.filter(({ device: target }) => paths.includes(target));
  const names = [...new Set([kernelPath, ...links.map(({ link }) => link)])];
  const allNames = [device.path, ...names];
  const mounts = facts.mounts.filter(
    (mount) =>
      (mount.number !== '' && mount.number === device.number) || allNames.includes(mount.source),
  );
  const mountPoints = [...device.mountPoints, ...mounts.map((mount) => mount.mountPoint)];
  const signatures = facts.signatures.get(device.path) ?? unknown('it was not probed');
  return {
    ...rest,
    links: names.filter((name) => name !== device.path),
    mountPoints: [...new Set(mountPoints)],
    isSwap: device.isSwap || facts.swaps.some((swap) => allNames.includes(swap)),
    emptied: undefined,
    // On a partition lsblk repeats the table of its disk.
    partitionTable: device.type === 'part' ? '' : device.partitionTable,
    backingFile: facts.backingFiles.get(kernelPath) ?? '',
    signatures,
    label: isPartitioned(signatures, allNames, facts)
      ? { kind: 'none' }
      : labelOf(allNames, facts.labels, facts.halfMade.has(device.path)),
    exclusiveOpen: facts.exclusive.get(device.path) ?? 'unknown',
    users: [],
  };
}

/** LVM passes over disks with partitions. What is on them both probes say, and no label is there. */
function isPartitioned(
  signatures: Signatures,
  names: readonly string[],
  { labels }: DeviceFacts,
): boolean {
  if (signatures.kind !== 'found' || labels.some(({ device }) => names.includes(device))) {
    return false;
  }
  const { types } = signatures;
  return types.some((type) => type === 'gpt' || type === 'dos') && !types.includes('LVM2_member');
}

function labelOf(
  names: readonly string[],
  labels: readonly LabelRow[],
  isHalfMade: boolean,
): LvmLabel {
  const rows = labels.filter((row) => names.includes(row.device));
  const [row] = rows;
  if (row === undefined) return unknown('LVM did not look at it');
  if (rows.some((candidate) => candidate.isDuplicate)) {
    return unknown(`another device carries the same PV ${row.pvUuid}`);
  }
  const { pvUuid, vg } = row;
  if (pvUuid === '') return { kind: 'none' };
  if (labels.filter((candidate) => candidate.pvUuid === pvUuid).length > 1) {
    return unknown(`another device carries the same PV ${pvUuid}`);
  }
  if (vg === unknownGroup) {
    return isHalfMade
      ? { kind: 'half-made', pvUuid }
      : unknown('it is marked as used by a volume group that cannot be found');
  }
  return vg === '' ? { kind: 'orphan', pvUuid } : { kind: 'member', pvUuid, vg };
}

/** `/proc/1/mountinfo`: number, mount point and source of every mount. */
export function parseMounts(output: string): readonly Mount[] {
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const fields = before.split(' ');
      const [type, source = ''] = after.split(' ');
      const root = fields[3] ?? '';
      const mountPoint = unescapeOctal(fields[4] ?? '');
      // A device node alone is bound where a container uses the device as it is.
      if (type === 'devtmpfs' && root !== '/') {
        return { number: '', mountPoint, source: unescapeOctal(`/dev${root}`) };
      }
      return { number: fields[2] ?? '', mountPoint, source: unescapeOctal(source) };
    });
}

/** `/proc/swaps`: the paths in its first column. */
export function parseSwaps(output: string): readonly string[] {
  return output
    .split('\n')
    .slice(1)
    .map((line) => unescapeOctal(line.split(/\s/)[0] ?? ''))
    .filter((path) => path !== '');
}

export function parseLoopDevices(output: string): ReadonlyMap<string, string> {
  if (output.trim() === '') return new Map();
  const rows = requiredRows(parseJson(output, 'losetup'), 'loopdevices');
  return new Map(rows.map((row) => [text(row, 'name'), optionalText(row, 'back-file')]));
}

export function unescapeOctal(escaped: string): string {
  return escaped.replace(/\\([0-7]{3})/g, (_all, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

function unknown(why: string): { readonly kind: 'unknown'; readonly why: string } {
  return { kind: 'unknown', why };
}
