import { type Bytes, least, minus, noBytes } from '../base/bytes.ts';
import type { Blocked } from '../base/failures.ts';
import { capacityOf, thinCapacity } from './capacity.ts';
import type { DeviceClass } from './device-class.ts';
import { findLv, findVg, type ObservedHost, type ObservedVg } from './observed.ts';
import { poolRefusal } from './usable-pool.ts';
import { isBlocked, usableVg } from './usable-vg.ts';

/** What TopoLVM tells of a device class: on lvmd's socket, in annotations and in metrics. */
export type LvmdCapacity = {
  readonly deviceClass: string;
  readonly isDefault: boolean;
  readonly vgSizeBytes: Bytes;
  /** Without the spare for a thick class; all that the group has free for a thin one. */
  readonly vgFreeBytes: Bytes;
  readonly thinPool: LvmdThinPool | undefined;
};

export type LvmdThinPool = {
  readonly sizeBytes: Bytes;
  readonly dataPercent: number;
  readonly metadataPercent: number;
  /** What may still be promised. */
  readonly overprovisionBytes: Bytes;
};

/**
 * One for each class, also where its group or pool is gone: whoever schedules by these figures
 * keeps the last ones that it heard, and must not go on sending claims here.
 */
export function lvmdCapacities(
  classes: readonly DeviceClass[],
  host: ObservedHost,
): readonly LvmdCapacity[] {
  return classes.map((deviceClass) => {
    const { name, isDefault } = deviceClass;
    const vg = findVg(host, deviceClass.vg);
    const thinPool = thinPoolOf(deviceClass, vg);
    const isThin = thinPool !== undefined;
    const free = vg === undefined ? noBytes : isThin ? vg.freeBytes : thickFree(deviceClass, vg);
    const vgSizeBytes = vg?.sizeBytes ?? noBytes;
    return { deviceClass: name, isDefault, vgSizeBytes, vgFreeBytes: free, thinPool };
  });
}

/** What the class can give, as `GetFreeBytes` answers it: TopoLVM takes the spare off thin, too. */
export function lvmdFreeBytes(deviceClass: DeviceClass, host: ObservedHost): Bytes | Blocked {
  const { layout, spareBytes, overprovisionRatio } = deviceClass;
  const vg = usableVg(host, deviceClass.vg, { mayBePartial: true });
  if (isBlocked(vg)) return vg;
  if (layout.kind !== 'thin') return thickFree(deviceClass, vg);
  if (deviceClass.refusal !== undefined) return noBytes;
  const refusal = poolRefusal(vg, layout.pool);
  if (refusal?.code === 'ThinPoolMissing' || refusal?.code === 'ThinPoolForeign') return refusal;
  return minus(thinCapacity(vg, layout.pool, overprovisionRatio).availableBytes, spareBytes);
}

/** Free space without the spare, but never more than the layout can make of it. */
function thickFree(deviceClass: DeviceClass, vg: ObservedVg): Bytes {
  const { availableBytes } = capacityOf(deviceClass, vg);
  return least(minus(vg.freeBytes, deviceClass.spareBytes), availableBytes);
}

function thinPoolOf(
  { layout, overprovisionRatio, refusal }: DeviceClass,
  vg: ObservedVg | undefined,
): LvmdThinPool | undefined {
  if (layout.kind !== 'thin') return undefined;
  const pool = vg === undefined ? undefined : findLv(vg, layout.pool);
  if (vg === undefined || pool?.kind !== 'thin-pool') {
    const nothing = { sizeBytes: noBytes, overprovisionBytes: noBytes };
    return { ...nothing, dataPercent: 0, metadataPercent: 0 };
  }
  const { availableBytes } = thinCapacity(vg, layout.pool, overprovisionRatio);
  return {
    sizeBytes: pool.sizeBytes,
    dataPercent: pool.dataPercent ?? 0,
    metadataPercent: pool.metadataPercent ?? 0,
    overprovisionBytes: refusal === undefined ? availableBytes : noBytes,
  };
}
