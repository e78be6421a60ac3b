import { bytes, noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { show } from '../../base/show.ts';
import { type Problem, Reader } from '../decode.ts';
import type {
  DeviceClassSpec,
  DevicesSpec,
  LayoutSpec,
  NodeSpec,
  RaidSpec,
  VolumeGroupSpec,
} from '../node-spec.ts';
import { stripesMaxOf } from '../raid-stripes.ts';

/**
 * The node file: what `quarry plan` and `quarry apply` read on a host without Kubernetes.
 * Either the whole of it is good, or every problem in it is told and nothing is done.
 */
export type DecodedNode =
  | { readonly kind: 'node'; readonly spec: NodeSpec }
  | { readonly kind: 'problems'; readonly problems: readonly Problem[] };

export function decodeNodeFile(value: unknown): DecodedNode {
  const file = new Reader(value, '');
  const volumeGroups = file.children('volumeGroups').map(decodeVolumeGroup);
  const deviceClasses = file.children('deviceClasses').map(decodeDeviceClass);
  file.refuseUnknown();
  const problems = [...file.problems, ...crossCheck(volumeGroups, deviceClasses)];
  if (problems.length > 0) return { kind: 'problems', problems };
  return { kind: 'node', spec: { volumeGroups, deviceClasses } };
}

export const vgName = /^(?!\.{1,2}$)[A-Za-z0-9_+.][A-Za-z0-9_+.-]{0,126}$/;
const className = /^([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$/;
const devicePath = /^\/dev\/./;

function decodeVolumeGroup(reader: Reader): VolumeGroupSpec {
  const name = reader.string('name', vgName, 'write a name of letters, digits and . _ + -');
  const isManaged = reader.boolean('managed', true);
  const devices = decodeDevices(reader, isManaged);
  reader.refuseUnknown();
  return { name, ownership: isManaged ? 'managed' : 'unmanaged', devices };
}

function decodeDevices(reader: Reader, isManaged: boolean): DevicesSpec {
  if (!isManaged) {
    if (reader.has('devices')) {
      reader.refuse('devices', 'leave it out: an unmanaged group keeps the devices it has');
      reader.raw('devices');
    }
    return { kind: 'paths', required: [], optional: [], forceWipe: false };
  }
  if (reader.raw('devices') === 'any') return { kind: 'any', isDynamic: true };
  const told = reader.problems.length;
  const devices = reader.child('devices');
  const remedy = 'write a path that starts with /dev/';
  const required = devices.strings('paths', devicePath, remedy);
  const optional = devices.strings('optionalPaths', devicePath, remedy);
  const forceWipe = devices.boolean('forceWipe', false);
  devices.refuseUnknown();
  if (required.length + optional.length === 0 && reader.problems.length === told) {
    reader.refuse('devices', 'name at least one device under paths or optionalPaths, or write any');
  }
  return { kind: 'paths', required, optional, forceWipe };
}

function decodeDeviceClass(reader: Reader): DeviceClassSpec {
  const spec = {
    name: reader.string('name', className, 'write 1 to 63 letters, digits and . _ -'),
    volumeGroup: reader.string('volumeGroup', vgName, 'name a volume group'),
    isDefault: reader.boolean('default', false),
    spareBytes: reader.optionalSize('spare') ?? noBytes,
    lvcreateOptions: reader.strings('lvcreateOptions', /^-/, 'write an option of lvcreate'),
    layout: decodeLayout(reader),
  };
  reader.refuseUnknown();
  return spec;
}

function decodeLayout(reader: Reader): LayoutSpec {
  const keys = ['thin', 'striped', 'raid'] as const;
  const [first, ...others] = keys.filter((key) => reader.has(key));
  for (const key of keys) reader.raw(key);
  for (const key of others) reader.refuse(key, `leave it out: ${first} stands there already`);
  if (first === 'thin') return decodeThin(reader.child('thin'));
  if (first === 'striped') return decodeStriped(reader.child('striped'));
  if (first === 'raid') return decodeRaid(reader.child('raid'));
  return { kind: 'linear' };
}

function decodeThin(reader: Reader): LayoutSpec {
  const chunkSizeBytes = reader.optionalSize('chunkSize');
  const metadataSizeBytes = reader.optionalSize('metadataSize');
  if (chunkSizeBytes !== undefined && !isChunkSize(chunkSizeBytes)) {
    reader.refuse('chunkSize', 'write a multiple of 64Ki from 64Ki to 1Gi');
  }
  if (metadataSizeBytes !== undefined && !isMetadataSize(metadataSizeBytes)) {
    reader.refuse('metadataSize', 'write a size from 2Mi to 16Gi');
  }
  const percent = {
    min: limits.thinPoolSizePercentMin,
    max: limits.thinPoolSizePercentMax,
    isWhole: true,
  };
  const thin = {
    kind: 'thin',
    poolName: reader.string('poolName', vgName, 'name the thin pool'),
    sizePercent: reader.number('sizePercent', percent, limits.thinPoolSizePercentAdvised),
    overprovisionRatio: reader.number('overprovisionRatio', {
      min: 1,
      max: limits.overprovisionRatioMax,
    }),
    ...(chunkSizeBytes === undefined ? {} : { chunkSizeBytes }),
    ...(metadataSizeBytes === undefined ? {} : { metadataSizeBytes }),
  } as const;
  reader.refuseUnknown();
  return thin;
}

function isChunkSize(size: bigint): boolean {
  const { thinPoolChunkBytesMin: min, thinPoolChunkBytesMax: max } = limits;
  return size >= min && size <= max && size % min === 0n;
}

function isMetadataSize(size: bigint): boolean {
  return size >= limits.thinPoolMetadataBytesMin && size <= limits.thinPoolMetadataBytesMax;
}

function decodeStriped(reader: Reader): LayoutSpec {
  const stripes = reader.number('stripes', { min: 1, max: limits.stripesMax, isWhole: true });
  const stripe = stripeSize(reader);
  reader.refuseUnknown();
  return { kind: 'striped', stripes, ...stripe };
}

function decodeRaid(reader: Reader): LayoutSpec {
  const types = ['raid1', 'raid4', 'raid5', 'raid6', 'raid10'] as const;
  const kind = reader.optionalOneOf('type', types);
  if (kind === undefined && !reader.has('type')) {
    reader.refuse('type', `write one of ${types.join(', ')}`);
  }
  const whole = { isWhole: true } as const;
  const mirrors = reader.optionalNumber('mirrors', { min: 1, max: limits.mirrorsMax, ...whole });
  const stripesMin = kind === 'raid6' ? 3 : 2;
  const stripesRange = { min: stripesMin, max: stripesMaxOf(kind), ...whole };
  const stripes = reader.optionalNumber('stripes', stripesRange);
  const stripe = stripeSize(reader);
  const hasMirrors = kind === undefined || kind === 'raid1' || kind === 'raid10';
  if (mirrors !== undefined && !hasMirrors) {
    reader.refuse('mirrors', 'leave it out: only raid1 and raid10 have mirrors');
  }
  if (kind === 'raid10' && mirrors !== undefined && mirrors > 1) {
    reader.refuse('mirrors', 'write 1: lvm makes raid10 with two copies only');
  }
  if (kind === 'raid1' && stripes !== undefined) {
    reader.refuse('stripes', 'leave it out: raid1 has no stripes');
  }
  if (kind === 'raid1' && stripe.stripeSizeBytes !== undefined) {
    reader.refuse('stripeSize', 'leave it out: raid1 has no stripes');
  }
  reader.refuseUnknown();
  const raid: RaidSpec = {
    kind: kind ?? 'raid1',
    ...(mirrors === undefined ? {} : { mirrors }),
    ...(stripes === undefined ? {} : { stripes }),
    ...stripe,
  };
  return raid;
}

function stripeSize(reader: Reader) {
  const size = reader.optionalSize('stripeSize');
  if (size === undefined) return {};
  const isPowerOfTwo = size >= limits.stripeSizeBytesMin && (size & (size - 1n)) === 0n;
  if (!isPowerOfTwo) reader.refuse('stripeSize', 'write a power of two of at least 4Ki');
  return { stripeSizeBytes: bytes(size) };
}

function crossCheck(
  groups: readonly VolumeGroupSpec[],
  classes: readonly DeviceClassSpec[],
): readonly Problem[] {
  const names = new Set(groups.map((group) => group.name));
  const problems: Problem[] = [
    ...repeated(
      'volumeGroups',
      groups.map((group) => group.name),
    ),
    ...repeated(
      'deviceClasses',
      classes.map((entry) => entry.name),
    ),
  ];
  classes.forEach((entry, index) => {
    if (entry.volumeGroup === '' || names.has(entry.volumeGroup)) return;
    const remedy = 'name a group that stands under volumeGroups';
    const field = `deviceClasses[${index}].volumeGroup`;
    problems.push({ field, value: entry.volumeGroup, remedy });
  });
  const defaults = classes.filter((entry) => entry.isDefault).map((entry) => entry.name);
  if (defaults.length > 1) {
    const remedy = 'let at most one class be the default';
    problems.push({ field: 'deviceClasses', value: defaults, remedy });
  }
  if (groups.filter((group) => group.devices.kind === 'any').length > 1) {
    const remedy = 'let at most one group take any device';
    problems.push({ field: 'volumeGroups', value: 'any, twice', remedy });
  }
  return [...problems, ...contested(groups), ...disputedPools(classes)];
}

function repeated(field: string, names: readonly string[]): readonly Problem[] {
  const twice = names.filter((name, index) => name !== '' && names.indexOf(name) !== index);
  return [...new Set(twice)].map((value) => ({ field, value, remedy: 'use each name once' }));
}

/** Classes may share a pool, but there is only one of it. */
function disputedPools(classes: readonly DeviceClassSpec[]): readonly Problem[] {
  const shapes = new Map<string, string>();
  return classes.flatMap(({ volumeGroup, layout }, index) => {
    if (layout.kind !== 'thin') return [];
    const { poolName, overprovisionRatio: _ratio, ...shape } = layout;
    const pool = `${volumeGroup}/${poolName}`;
    const known = shapes.get(pool) ?? show(shape);
    shapes.set(pool, known);
    if (known === show(shape)) return [];
    const remedy = 'give a pool the same sizes in every class that uses it';
    return [{ field: `deviceClasses[${index}].thin`, value: poolName, remedy }];
  });
}

/** A device in two groups can only be a mistake. */
function contested(groups: readonly VolumeGroupSpec[]): readonly Problem[] {
  const owner = new Map<string, string>();
  const problems: Problem[] = [];
  for (const { name, devices } of groups) {
    if (devices.kind === 'any') continue;
    for (const path of [...devices.required, ...devices.optional]) {
      const other = owner.get(path);
      if (other === undefined) owner.set(path, name);
      else {
        const remedy = `take it out of ${other} or out of ${name}`;
        problems.push({ field: 'volumeGroups', value: path, remedy });
      }
    }
  }
  return problems;
}
