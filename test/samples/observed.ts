import { type Bytes, bytes, MiB, sum, times } from '../../src/base/bytes.ts';
import type { DeviceClass } from '../../src/core/device-class.ts';
import type {
  ObservedDevice,
  ObservedHost,
  ObservedLv,
  ObservedNode,
  ObservedPv,
  ObservedVg,
} from '../../src/core/observed.ts';
import { ownerTag } from '../../src/core/tags.ts';

/** Small observed worlds for tests: everything healthy and ordinary unless a test says otherwise. */

export const extentBytes: Bytes = times(MiB, 4);

export function extents(count: bigint | number): Bytes {
  return times(extentBytes, count);
}

export function sampleLv(given: Partial<ObservedLv> = {}): ObservedLv {
  const name = given.name ?? 'v1';
  const sizeBytes = given.sizeBytes ?? extents(10);
  return {
    name,
    uuid: `uuid-${name}`,
    kind: 'linear',
    sizeBytes,
    ownSizeBytes: sizeBytes,
    tags: [ownerTag],
    madeFor: undefined,
    attributes: '-wi-a-----',
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
    ...given,
  };
}

export function samplePool(given: Partial<ObservedLv> = {}): ObservedLv {
  return sampleLv({
    name: 'pool0',
    kind: 'thin-pool',
    sizeBytes: extents(100),
    dataPercent: 1,
    metadataPercent: 1,
    metadataSizeBytes: extents(1),
    chunkSizeBytes: bytes(128n * 1024n),
    ...given,
  });
}

export function sampleThin(given: Partial<ObservedLv> = {}): ObservedLv {
  return sampleLv({ kind: 'thin', pool: 'pool0', dataPercent: 0, ...given });
}

/** Its size is its origin's; its own size is the room it has for changes. */
export function sampleCow(given: Partial<ObservedLv> = {}): ObservedLv {
  return sampleLv({
    name: 's1',
    kind: 'cow-snapshot',
    origin: 'v1',
    ownSizeBytes: extents(20),
    dataPercent: 0,
    isReadOnly: true,
    attributes: '-ri-a-----',
    ...given,
  });
}

export function samplePv(given: Partial<ObservedPv> = {}): ObservedPv {
  const device = given.device ?? '/dev/sda';
  const sizeBytes = given.sizeBytes ?? extents(1000);
  return {
    uuid: `pv-${device}`,
    device,
    sizeBytes,
    freeBytes: sizeBytes,
    isMissing: false,
    isAllocatable: true,
    isDuplicate: false,
    tags: [],
    ...given,
  };
}

/** Size and free space are those of its devices, as in a real report. */
export function sampleVg(given: Partial<ObservedVg> = {}): ObservedVg {
  const name = given.name ?? 'vg1';
  const pvs = given.pvs ?? [samplePv()];
  return {
    name,
    uuid: `uuid-${name}`,
    sizeBytes: sum(...pvs.map((pv) => pv.sizeBytes)),
    freeBytes: sum(...pvs.map((pv) => pv.freeBytes)),
    extentSizeBytes: extentBytes,
    tags: ['lvms'],
    isPartial: false,
    isExported: false,
    isWritable: true,
    lockType: '',
    systemId: '',
    sequence: 1n,
    metadataSizeBytes: times(MiB, 16),
    metadataFreeBytes: times(MiB, 8),
    lvs: [],
    ...given,
    pvs,
  };
}

/** A group with one device for each count, of which so many extents are free. */
export function vgWithFree(free: readonly (bigint | number)[], given: Partial<ObservedVg> = {}) {
  const pvs = free.map((count, index) =>
    samplePv({
      device: `/dev/sd${String.fromCharCode(97 + index)}`,
      sizeBytes: extents(1000),
      freeBytes: extents(count),
    }),
  );
  return sampleVg({ pvs, ...given });
}

export function hostOf(...vgs: readonly ObservedVg[]): ObservedHost {
  return { vgs, orphanPvs: [] };
}

/** An empty disk that nobody uses. */
export function sampleDevice(given: Partial<ObservedDevice> = {}): ObservedDevice {
  return {
    path: '/dev/sdb',
    number: '8:16',
    links: [],
    type: 'disk',
    sizeBytes: times(MiB, 10_240),
    model: 'Disk',
    serial: 'S1',
    wwn: '',
    isReadOnly: false,
    isSuspended: false,
    mountPoints: [],
    isSwap: false,
    holders: [],
    emptied: undefined,
    partitionTable: '',
    partitionLabel: '',
    partitionType: '',
    fileSystem: '',
    backingFile: '',
    signatures: { kind: 'none' },
    label: { kind: 'none' },
    exclusiveOpen: 'free',
    users: [],
    ...given,
  };
}

export function nodeOf(
  devices: readonly ObservedDevice[],
  host: Partial<ObservedHost> = {},
): ObservedNode {
  return { vgs: [], orphanPvs: [], ...host, devices };
}

export function thickClass(given: Partial<DeviceClass> = {}): DeviceClass {
  return {
    name: 'thick',
    vg: 'vg1',
    isDefault: true,
    layout: { kind: 'linear' },
    spareBytes: bytes(0n),
    overprovisionRatio: 1,
    lvcreateOptions: [],
    ...given,
  };
}

export function thinClass(given: Partial<DeviceClass> = {}): DeviceClass {
  const layout = { kind: 'thin', pool: 'pool0' } as const;
  return thickClass({ name: 'thin', layout, overprovisionRatio: 10, ...given });
}
