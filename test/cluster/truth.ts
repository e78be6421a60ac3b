import { copySourceRole, poolMessengerRole, readTag } from '../../src/core/tags.ts';
import {
  freeExtents,
  freeExtentsOf,
  type Lv,
  sizeBytes,
  thinVolumesOf,
  type Vg,
} from '../world/model.ts';
import type { Machine } from './machine.ts';

/** What is really on the disks of a machine, found without our own code. */
export function volumesOn({ world }: Machine): readonly Lv[] {
  return world.machine.vgs
    .flatMap((vg) => vg.lvs)
    .filter((lv) => lv.type !== 'thin-pool' && !isPart(lv));
}

function isPart({ tags }: Lv): boolean {
  const role = readTag(tags, 'role');
  return role === copySourceRole || role === poolMessengerRole;
}

/** How much a device class can still give. */
export function roomOn({ world, desired }: Machine, className: string): bigint {
  const entry = desired.deviceClasses.find(({ name }) => name === className);
  const vg = entry === undefined ? undefined : world.vg(entry.vg);
  if (entry === undefined || vg === undefined) return 0n;
  if (entry.layout.kind !== 'thin') {
    const extents = entry.layout.kind === 'raid1' ? pairedExtents(vg) : freeExtents(vg);
    const free = BigInt(extents * vg.extentBytes) - entry.spareBytes;
    return free > 0n ? free : 0n;
  }
  const { pool: name } = entry.layout;
  const pool = vg.lvs.find((lv) => lv.name === name);
  if (pool === undefined) return 0n;
  const promised = thinVolumesOf(pool).reduce((total, lv) => total + sizeBytes(lv), 0);
  const most = Math.floor(sizeBytes(pool) * entry.overprovisionRatio);
  return BigInt(Math.max(0, most - promised));
}

/** What a mirror certainly finds: as much as the second of the devices has. */
function pairedExtents({ pvs }: Vg): number {
  const [, second = 0] = pvs.map(freeExtentsOf).toSorted((one, other) => other - one);
  return second;
}

/** LVM gives whole extents. */
export function roundedUp(size: bigint, { world }: Machine): bigint {
  const extent = BigInt(world.vgs()[0]?.extentBytes ?? 1);
  return ((size + extent - 1n) / extent) * extent;
}
