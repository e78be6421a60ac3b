import { type Bytes, bytes, countUp, least, minus, noBytes, sum, times } from '../base/bytes.ts';
import { limits } from '../base/limits.ts';
import { growthExtents } from './capacity.ts';
import { geometryOf, type Layout, physicalExtents } from './layouts.ts';
import type {
  LvKind,
  ObservedDevice,
  ObservedHost,
  ObservedLv,
  ObservedNode,
  ObservedPv,
  ObservedVg,
} from './observed.ts';
import type { CreateLv, CreateThinPool, ExtendThinPoolMetadata, ReduceVg, Step } from './step.ts';
import { poolMadeOn } from './thin-pool/making.ts';

/**
 * What the next look will show after a step, as far as later decisions need it: names, sizes and
 * free space. It lets `quarry plan` print what follows a step, and lets a burst of changes share
 * one refresh. It errs towards less free space, and is never reported as a fact.
 */
export function predict<H extends ObservedHost>(host: H, step: Step): H {
  switch (step.kind) {
    case 'wipe-device':
    case 'remove-pv':
      return withDevices(host, (devices) => cleared(devices, step.device));
    case 'reduce-vg': {
      const vgs = host.vgs.map((vg) => (vg.uuid === step.vgUuid ? reduced(vg, step.pvUuid) : vg));
      return orphaned({ ...host, vgs }, step);
    }
    case 'create-vg':
      return { ...host, vgs: [...host.vgs, newVg(step.vg, step.devices, step.tags, host)] };
    case 'remove-vg':
      return withoutVg(host, step.vgUuid);
    default:
      return {
        ...host,
        vgs: host.vgs.map((vg) => (vg.uuid === step.vgUuid ? predictVg(vg, step, host) : vg)),
      };
  }
}

/** vgremove leaves the labels of its devices, on which no volume stands any more. */
function withoutVg<H extends ObservedHost>(host: H, vgUuid: string): H {
  const left = host.vgs.find((vg) => vg.uuid === vgUuid)?.pvs ?? [];
  const orphans = left.filter(({ isMissing }) => !isMissing);
  const vgs = host.vgs.filter((vg) => vg.uuid !== vgUuid);
  const bare = { ...host, vgs, orphanPvs: [...host.orphanPvs, ...orphans] };
  return withDevices(bare, (devices) =>
    devices.map((device) => {
      const names = [device.path, ...device.links];
      const pv = orphans.find((orphan) => names.includes(orphan.device));
      if (pv === undefined) return device;
      const label = { kind: 'orphan', pvUuid: pv.uuid } as const;
      return { ...device, label, holders: [], exclusiveOpen: 'free' };
    }),
  );
}

function withDevices<H extends ObservedHost>(
  host: H,
  change: (devices: readonly ObservedDevice[]) => readonly ObservedDevice[],
): H {
  const { devices } = host as Partial<ObservedNode>;
  return devices === undefined ? host : { ...host, devices: change(devices) };
}

/** Partitions go with the table that was on the device. */
function cleared(devices: readonly ObservedDevice[], path: string): readonly ObservedDevice[] {
  const gone = devices.find((device) => device.path === path)?.holders ?? [];
  const empty = {
    holders: [],
    emptied: undefined,
    partitionTable: '',
    fileSystem: '',
    signatures: { kind: 'none' },
    label: { kind: 'none' },
  } as const;
  return devices
    .filter((device) => !gone.includes(device.path))
    .map((device) => (device.path === path ? { ...device, ...empty } : device));
}

/** A device that has left keeps its label. */
function orphaned<H extends ObservedHost>(host: H, { device, pvUuid }: ReduceVg): H {
  const free = newPv(device, { extentSizeBytes: bytes(limits.extentSizeBytes) }, host);
  const orphan = { ...free, uuid: pvUuid };
  const label = { kind: 'orphan', pvUuid } as const;
  const isIt = ({ path, links }: ObservedDevice) => path === device || links.includes(device);
  return withDevices({ ...host, orphanPvs: [...host.orphanPvs, orphan] }, (devices) =>
    devices.map((each) => (isIt(each) ? { ...each, label, exclusiveOpen: 'free' } : each)),
  );
}

type VgStep = Exclude<
  Step,
  { kind: 'wipe-device' | 'remove-pv' | 'create-vg' | 'remove-vg' | 'reduce-vg' }
>;

function predictVg(vg: ObservedVg, step: VgStep, host: ObservedHost): ObservedVg {
  switch (step.kind) {
    case 'extend-vg':
      return withPvs(vg, [...vg.pvs, ...step.devices.map((device) => newPv(device, vg, host))]);
    case 'drop-missing': {
      const left = vg.pvs.filter((pv) => !pv.isMissing);
      return { ...withPvs(vg, left), isPartial: false };
    }
    case 'evacuate-pv':
      return evacuated(vg, step.pvUuid);
    case 'create-thin-pool':
      return withLv(take(vg, poolExtents(step, vg)), newPool(step));
    case 'create-lv':
      return withLv(take(vg, newLvExtents(step, vg), areasOf(step.layout)), newLv(step));
    case 'create-thin-snapshot':
      return withLv(vg, newSnapshot(vg, step, { kind: 'thin', isReadOnly: step.isReadOnly }));
    case 'create-cow-snapshot': {
      const taken = take(vg, countUp(step.reserveBytes, vg.extentSizeBytes));
      const own = { kind: 'cow-snapshot', isReadOnly: true } as const;
      const made = newSnapshot(vg, step, own);
      return withLv(taken, { ...made, ownSizeBytes: step.reserveBytes });
    }
    case 'remove-lv':
      return { ...vg, lvs: vg.lvs.filter((lv) => lv.uuid !== step.lvUuid) };
    case 'extend-lv':
    case 'extend-thin-pool':
      return grown(vg, step.lvUuid, step.sizeBytes);
    case 'extend-thin-pool-metadata':
      return metadataGrown(vg, step);
    case 'activate-lv':
      return changed(vg, step.lvUuid, () => ({ isActive: true }));
    case 'change-tags':
      return changed(vg, step.lvUuid, (lv) => ({
        tags: retagged(lv.tags, step),
        isReadOnly: lv.isReadOnly || step.isReadOnly === true,
      }));
    case 'copy-range':
    case 'zero-range':
      return changed(vg, step.lvUuid, (lv) => ({ tags: retagged(lv.tags, step) }));
  }
}

function retagged(
  tags: readonly string[],
  step: { readonly add: readonly string[]; readonly remove: readonly string[] },
): readonly string[] {
  const isKept = (tag: string) => !step.remove.includes(tag) && !step.add.includes(tag);
  return [...tags.filter(isKept), ...step.add];
}

function changed(
  vg: ObservedVg,
  uuid: string,
  change: (lv: ObservedLv) => Partial<ObservedLv>,
): ObservedVg {
  return {
    ...vg,
    lvs: vg.lvs.map((lv) => (lv.uuid === uuid ? { ...lv, ...change(lv) } : lv)),
  };
}

function grown(vg: ObservedVg, uuid: string, sizeBytes: Bytes): ObservedVg {
  const lv = vg.lvs.find((candidate) => candidate.uuid === uuid);
  if (lv === undefined) return vg;
  if (lv.kind === 'thin') return changed(vg, uuid, () => ({ sizeBytes, ownSizeBytes: sizeBytes }));
  const growth = minus(sizeBytes, lv.ownSizeBytes) / vg.extentSizeBytes;
  const taken = take(vg, growthExtents(lv, growth), lv.stripes);
  if (lv.kind === 'cow-snapshot') {
    return changed(taken, uuid, () => ({ ownSizeBytes: sizeBytes, dataPercent: 0 }));
  }
  const dataPercent = thinned(lv.dataPercent, lv.sizeBytes, sizeBytes);
  return changed(taken, uuid, () => ({ sizeBytes, ownSizeBytes: sizeBytes, dataPercent }));
}

/** A pool that grew is less full: if it were not, the next plan would grow it again. */
function thinned(percent: number | undefined, before: bigint, now: bigint): number | undefined {
  return percent === undefined || now === 0n ? percent : (percent * Number(before)) / Number(now);
}

/**
 * Extents are taken from the devices with most room, each area's from another device, as LVM's
 * allocator does.
 */
function take(vg: ObservedVg, extents: bigint, areas = 1): ObservedVg {
  let left = extents / BigInt(areas);
  const usable = vg.pvs.filter((pv) => pv.isAllocatable && !pv.isMissing);
  const room = new Map(usable.map((pv) => [pv.uuid, pv.freeBytes / vg.extentSizeBytes]));
  while (left > 0n) {
    const roomiest = [...room].toSorted(([, a], [, b]) => (a < b ? 1 : a > b ? -1 : 0));
    const share = least(left, roomiest[areas - 1]?.[1] ?? 0n);
    // No plan takes more than it sees. If one did, nothing would be left.
    if (share === 0n) return withFree(vg, () => 0n);
    for (const [uuid, free] of roomiest.slice(0, areas)) room.set(uuid, free - share);
    left -= share;
  }
  return withFree(vg, (pv) => room.get(pv.uuid));
}

function withFree(vg: ObservedVg, extentsOf: (pv: ObservedPv) => bigint | undefined): ObservedVg {
  return withPvs(
    vg,
    vg.pvs.map((pv) => {
      const free = extentsOf(pv);
      return free === undefined ? pv : { ...pv, freeBytes: times(free, vg.extentSizeBytes) };
    }),
  );
}

function withPvs(vg: ObservedVg, pvs: readonly ObservedPv[]): ObservedVg {
  const sizeBytes = sum(...pvs.map((pv) => pv.sizeBytes));
  const freeBytes = sum(...pvs.map((pv) => pv.freeBytes));
  return { ...vg, pvs, sizeBytes, freeBytes };
}

function reduced(vg: ObservedVg, uuid: string): ObservedVg {
  return withPvs(
    vg,
    vg.pvs.filter((pv) => pv.uuid !== uuid),
  );
}

function withLv(vg: ObservedVg, lv: ObservedLv): ObservedVg {
  return { ...vg, lvs: [...vg.lvs, lv] };
}

/** What was on the device lies on the others now. */
function evacuated(vg: ObservedVg, uuid: string): ObservedVg {
  const pv = vg.pvs.find((candidate) => candidate.uuid === uuid);
  if (pv === undefined) return vg;
  const others = reduced(vg, uuid);
  const used = countUp(pv.sizeBytes - pv.freeBytes, vg.extentSizeBytes);
  return withPvs(vg, [...take(others, used).pvs, { ...pv, freeBytes: pv.sizeBytes }]);
}

/** LVM's spare copy of the metadata grows with it. */
function metadataGrown(vg: ObservedVg, step: ExtendThinPoolMetadata): ObservedVg {
  const pool = vg.lvs.find((lv) => lv.uuid === step.lvUuid);
  const { metadataBytes } = step;
  const before = pool?.metadataSizeBytes ?? noBytes;
  const taken = take(vg, countUp(minus(metadataBytes, before), vg.extentSizeBytes) * 2n);
  const metadataPercent = thinned(pool?.metadataPercent, before, metadataBytes);
  return changed(taken, step.lvUuid, () => ({ metadataSizeBytes: metadataBytes, metadataPercent }));
}

function poolExtents(step: CreateThinPool, vg: ObservedVg): bigint {
  return countUp(sum(step.sizeBytes, times(step.metadataBytes, 2)), vg.extentSizeBytes);
}

function newLvExtents(step: CreateLv, vg: ObservedVg): bigint {
  const geometry = geometryOf(step.layout);
  if (geometry === undefined) return 0n;
  return physicalExtents(geometry, countUp(step.sizeBytes, vg.extentSizeBytes));
}

function newVg(
  name: string,
  devices: readonly string[],
  tags: readonly string[],
  host: ObservedHost,
): ObservedVg {
  const empty: ObservedVg = {
    name,
    uuid: foreseen(name),
    sizeBytes: noBytes,
    freeBytes: noBytes,
    extentSizeBytes: bytes(limits.extentSizeBytes),
    tags,
    isPartial: false,
    isExported: false,
    isWritable: true,
    lockType: '',
    systemId: '',
    sequence: 1n,
    metadataSizeBytes: bytes(limits.vgMetadataBytes),
    metadataFreeBytes: bytes(limits.vgMetadataBytes / 2n),
    pvs: [],
    lvs: [],
  };
  return withPvs(
    empty,
    devices.map((device) => newPv(device, empty, host)),
  );
}

function newPv(
  device: string,
  vg: Pick<ObservedVg, 'extentSizeBytes'>,
  host: ObservedHost,
): ObservedPv {
  const usable = minus(deviceBytes(device, host), limits.vgMetadataBytes + 1024n * 1024n);
  const sizeBytes = times(usable / vg.extentSizeBytes, vg.extentSizeBytes);
  return {
    uuid: foreseen(device),
    device,
    sizeBytes,
    freeBytes: sizeBytes,
    isMissing: false,
    isAllocatable: true,
    isDuplicate: false,
    tags: [],
  };
}

function deviceBytes(path: string, host: ObservedHost): Bytes {
  const { devices = [] } = host as Partial<ObservedNode>;
  return devices.find((device) => device.path === path)?.sizeBytes ?? noBytes;
}

function newPool(step: CreateThinPool): ObservedLv {
  return {
    ...blank(step.pool, 'thin-pool', step.sizeBytes, step.tags),
    // Whoever is made under a name of its own sleeps at first: see createThinPool in src/lvm.
    isActive: step.hostName === undefined,
    madeFor: poolMadeOn(step.hostName ?? ''),
    dataPercent: 0,
    metadataPercent: 1,
    metadataSizeBytes: step.metadataBytes,
    chunkSizeBytes: step.chunkSizeBytes,
  };
}

function newLv(step: CreateLv): ObservedLv {
  const lv = blank(step.lv, step.layout.kind, step.sizeBytes, step.tags);
  return { ...lv, ...columnsOf(step.layout), pool: poolOf(step.layout) };
}

function columnsOf(layout: Layout) {
  const geometry = geometryOf(layout);
  return { stripes: areasOf(layout), dataColumns: geometry?.dataColumns ?? 1 };
}

function areasOf(layout: Layout): number {
  return geometryOf(layout)?.areas ?? 1;
}

function poolOf(layout: Layout): string | undefined {
  return layout.kind === 'thin' ? layout.pool : undefined;
}

function newSnapshot(
  vg: ObservedVg,
  step: { readonly lv: string; readonly originUuid: string; readonly tags: readonly string[] },
  own: { readonly kind: LvKind; readonly isReadOnly: boolean },
): ObservedLv {
  const source = vg.lvs.find((lv) => lv.uuid === step.originUuid);
  const sizeBytes = source?.sizeBytes ?? noBytes;
  return {
    ...blank(step.lv, own.kind, sizeBytes, step.tags),
    isReadOnly: own.isReadOnly,
    origin: source?.name,
    originUuid: source?.uuid,
    pool: own.kind === 'thin' ? source?.pool : undefined,
    dataPercent: 0,
  };
}

function blank(name: string, kind: LvKind, sizeBytes: Bytes, tags: readonly string[]): ObservedLv {
  return {
    name,
    uuid: foreseen(name),
    kind,
    sizeBytes,
    ownSizeBytes: sizeBytes,
    tags,
    madeFor: undefined,
    attributes: '----------',
    isInternal: false,
    isActive: true,
    isSuspended: false,
    isOpen: false,
    isReadOnly: false,
    stripes: 1,
    dataColumns: 1,
    origin: undefined,
    originUuid: undefined,
    pool: undefined,
    dataPercent: undefined,
    metadataPercent: undefined,
    metadataSizeBytes: undefined,
    chunkSizeBytes: undefined,
    syncPercent: undefined,
    health: '',
    isInvalid: false,
  };
}

/** Stands for an identity that only LVM can give. No step may ever be run against one. */
export function foreseen(name: string): string {
  return `foreseen:${name}`;
}

export function isForeseen(uuid: string): boolean {
  return uuid.startsWith('foreseen:');
}
