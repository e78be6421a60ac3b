import { cowChunkBytes } from '../commands/cow.ts';
import { hasActiveThins, isUnusable } from '../commands/lvchange.ts';
import { lockedPart } from '../commands/pvmove.ts';
import type { Machine } from '../machine.ts';
import { metadataAreaOf, metadataFreeOf } from '../metadata-text.ts';
import {
  cowSnapshotsOf,
  freeExtents,
  freeExtentsOf,
  type Lv,
  type Pv,
  type Segment,
  sizeBytes,
  strandExtents,
  thinVolumesOf,
  type Vg,
  virtualBytes,
} from '../model.ts';
import { displayPercent } from '../text.ts';
import { mappedChunks } from '../thin-map.ts';
import { isRaid, parityOf } from '../volumes.ts';
import {
  cowChunks,
  cowUsedChunks,
  mapOf,
  poolChunks,
  poolMetadataShare,
  poolUsedChunks,
} from '../writes.ts';

/** The values of report fields, each as LVM prints it with `--units b --nosuffix`. */
type Fields<T> = Readonly<Record<string, (machine: Machine, row: T) => string>>;

export const vgFields: Fields<Vg> = {
  vg_name: (_, vg) => vg.name,
  vg_uuid: (_, vg) => vg.uuid,
  vg_size: (_, vg) => text(vg.pvs.reduce((sum, pv) => sum + pv.extents, 0) * vg.extentBytes),
  vg_free: (_, vg) => text(freeExtents(vg) * vg.extentBytes),
  vg_extent_size: (_, vg) => text(vg.extentBytes),
  vg_tags: (_, vg) => vg.tags.toSorted(byBytes).join(','),
  vg_partial: (machine, vg) => (machine.missingPvs(vg).length > 0 ? 'partial' : ''),
  vg_exported: (_, vg) => (vg.isExported ? 'exported' : ''),
  vg_permissions: (_, vg) => (vg.isReadOnly ? 'read-only' : 'writeable'),
  vg_lock_type: (_, vg) => vg.lockType,
  vg_systemid: (_, vg) => vg.systemId,
  vg_seqno: (_, vg) => text(vg.sequence),
  vg_mda_size: (_, vg) => text(metadataAreaOf(vg)),
  vg_mda_free: (_, vg) => text(metadataFreeOf(vg)),
  lv_count: (_, vg) => text(vg.lvs.length),
};

export type PvRow = { readonly pv: Pv; readonly vg: Vg };

export const pvFields: Fields<PvRow> = {
  pv_uuid: (_, { pv }) => pv.uuid,
  pv_name: (machine, { pv }) => machine.deviceOf(pv)?.path ?? '[unknown]',
  pv_size: (_, { pv, vg }) => text(pv.extents * vg.extentBytes),
  pv_free: (_, { pv, vg }) => text(freeExtentsOf(pv) * vg.extentBytes),
  pv_missing: (machine, { pv }) => (machine.isMissing(pv) ? 'missing' : ''),
  pv_allocatable: (_, { pv }) => (pv.isAllocatable ? 'allocatable' : ''),
  pv_duplicate: () => '',
  pv_tags: (_, { pv }) => pv.tags.toSorted(byBytes).join(','),
  vg_name: (_, { vg }) => vg.name,
};

export const lvFields: Fields<Lv> = {
  lv_uuid: (_, lv) => lv.uuid,
  lv_name: (_, lv) => lv.name,
  vg_name: (_, lv) => lv.vg.name,
  lv_size: (_, lv) => text(sizeBytes(lv)),
  lv_tags: (_, lv) => lv.tags.toSorted(byBytes).join(','),
  lv_attr: attributes,
  lv_layout: (_, lv) => layout(lv),
  lv_role: (_, lv) => roles(lv),
  origin: (_, lv) => originOf(lv)?.name ?? '',
  origin_uuid: (_, lv) => originOf(lv)?.uuid ?? '',
  origin_size: (_, lv) => originSize(lv),
  pool_lv: (_, lv) => (lv.body.kind === 'thin' ? lv.body.pool.name : ''),
  data_percent: (_, lv) => dataPercent(lv),
  metadata_percent: (_, lv) => metadataPercent(lv),
  lv_metadata_size: (_, lv) =>
    lv.body.kind === 'pool' ? text(strandExtents(lv.body.metadata) * lv.vg.extentBytes) : '',
  sync_percent: syncPercent,
  lv_health_status: health,
  lv_host: (_, lv) => lv.hostName,
  thin_count: (_, lv) => (lv.body.kind === 'pool' ? text(thinVolumesOf(lv).length) : ''),
};

export type SegmentRow = { readonly lv: Lv; readonly segment: Segment | undefined };

export const segmentFields: Fields<SegmentRow> = {
  lv_uuid: (_, { lv }) => lv.uuid,
  lv_name: (_, { lv }) => lv.name,
  seg_start: (_, { lv, segment }) => text((segment?.start ?? 0) * lv.vg.extentBytes),
  segtype: (_, { lv }) => (lv.type === 'cow-snapshot' ? 'linear' : lv.type),
  stripes: (_, row) => text(areaCount(row)),
  data_stripes: (_, row) => text(dataAreaCount(row)),
  chunk_size: (_, { lv }) => text(chunkSize(lv)),
};

/** The fields of a group or a volume by name, for selections. */
export function fieldsOf(machine: Machine, on: Vg | Lv): (field: string) => string | undefined {
  if ('lvs' in on) return (field) => vgFields[field]?.(machine, on);
  return (field) => lvFields[field]?.(machine, on);
}

/** The rows of the segment report: parts of a RAID or a pool are not shown. */
export function segmentsOf(lv: Lv): readonly SegmentRow[] {
  if (lv.body.kind !== 'plain' && lv.body.kind !== 'cow') return [{ lv, segment: undefined }];
  return lv.body.strand.segments.map((segment) => ({ lv, segment }));
}

function attributes(machine: Machine, lv: Lv): string {
  const isStale = hasStaleTable(lv);
  const open = isOpen(lv) ? 'o' : '-';
  return [
    typeLetter(lv),
    lv.isReadOnly ? 'r' : 'w',
    lockedPart(lv) === '' ? 'I' : 'i',
    '-',
    isStale ? 'X' : stateLetter(lv),
    isStale ? 'X' : open,
    targetLetter(lv),
    zeroLetter(lv),
    isStale && lv.body.kind !== 'raid' ? 'X' : healthLetter(machine, lv),
    lv.skipsActivation ? 'k' : '-',
  ].join('');
}

/** LVM finds no segment that is as long as the kernel's, and so knows nothing of the rest. */
function hasStaleTable(lv: Lv): boolean {
  const kinds: readonly string[] = ['plain', 'thin', 'raid'];
  const isSmaller = lv.activeExtents !== lv.extents && kinds.includes(lv.body.kind);
  return lv.isActive && !lv.isSuspended && isSmaller;
}

function zeroLetter({ body }: Lv): string {
  const pool = body.kind === 'thin' ? body.pool.body : body;
  return pool.kind === 'pool' && pool.zeroes ? 'z' : '-';
}

function typeLetter(lv: Lv): string {
  if (cowSnapshotsOf(lv).length > 0) return 'o';
  switch (lv.body.kind) {
    case 'plain':
      return '-';
    case 'raid':
      return 'r';
    case 'pool':
      return 't';
    case 'thin':
      return 'V';
    case 'cow':
      return 's';
  }
}

function stateLetter(lv: Lv): string {
  if (!lv.isActive) return '-';
  if (lv.body.kind === 'cow' && lv.body.isInvalid) return lv.isSuspended ? 'S' : 'I';
  return lv.isSuspended ? 's' : 'a';
}

function targetLetter(lv: Lv): string {
  if (lv.body.kind === 'raid') return 'r';
  if (lv.body.kind === 'pool' || lv.body.kind === 'thin') return 't';
  return lv.body.kind === 'cow' || cowSnapshotsOf(lv).length > 0 ? 's' : '-';
}

function healthLetter(machine: Machine, lv: Lv): string {
  switch (health(machine, lv)) {
    case 'partial':
      return 'p';
    case 'refresh needed':
      return 'r';
    case 'out_of_data':
      return 'D';
    default:
      return '-';
  }
}

function isOpen(lv: Lv): boolean {
  if (!lv.isActive) return false;
  if (lv.users.size > 0) return true;
  return lv.body.kind === 'pool' && hasActiveThins(lv);
}

function health(machine: Machine, lv: Lv): string {
  if (isPartial(machine, lv)) return 'partial';
  if (lv.body.kind === 'raid' && lv.body.failed.size > 0 && lv.isActive) return 'refresh needed';
  if (lv.body.kind === 'pool' && lv.body.isOutOfData && lv.isActive) return 'out_of_data';
  return '';
}

function isPartial(machine: Machine, lv: Lv): boolean {
  if (machine.missingPvs(lv.vg).length === 0) return false;
  if (lv.body.kind !== 'raid') return isUnusable(machine, lv);
  if (cowSnapshotsOf(lv).some((snapshot) => isUnusable(machine, snapshot))) return true;
  return [...lv.body.images, ...lv.body.metas].some((strand) =>
    strand.segments.some((segment) => segment.areas.some((area) => machine.isMissing(area.pv))),
  );
}

function layout(lv: Lv): string {
  switch (lv.type) {
    case 'thin':
      return 'thin,sparse';
    case 'thin-pool':
      return 'thin,pool';
    case 'cow-snapshot':
      return 'linear';
    case 'raid5':
      return 'raid,raid5,raid5_ls';
    case 'raid6':
      return 'raid,raid6,raid6_zr';
    case 'raid1':
    case 'raid4':
    case 'raid10':
      return `raid,${lv.type}`;
    case 'linear':
    case 'striped':
      return lv.type;
  }
}

function roles(lv: Lv): string {
  if (lv.body.kind === 'pool') return 'private';
  const found = ['public'];
  const thick = cowSnapshotsOf(lv).length;
  const thins = lv.vg.lvs.filter((other) => other.body.kind === 'thin' && other.body.origin === lv);
  if (thins.length > 0) found.push('origin', 'thinorigin');
  if (thins.length > 1) found.push('multithinorigin');
  if (thick > 0) found.push('origin', 'thickorigin');
  if (thick > 1) found.push('multithickorigin');
  if (lv.body.kind === 'cow') found.push('snapshot', 'thicksnapshot');
  if (lv.body.kind === 'thin' && lv.body.origin !== undefined)
    found.push('snapshot', 'thinsnapshot');
  return [...new Set(found)].join(',');
}

function originOf(lv: Lv): Lv | undefined {
  return lv.body.kind === 'cow' || lv.body.kind === 'thin' ? lv.body.origin : undefined;
}

function originSize(lv: Lv): string {
  if (lv.body.kind === 'cow') return text(virtualBytes(lv));
  return cowSnapshotsOf(lv).length > 0 ? text(sizeBytes(lv)) : '';
}

/** The kernel has the pool's numbers also while only volumes in it are awake. */
function isMeasured(lv: Lv): boolean {
  return lv.isActive || (lv.body.kind === 'pool' && hasActiveThins(lv));
}

function dataPercent(lv: Lv): string {
  if (!isMeasured(lv)) return '';
  switch (lv.body.kind) {
    case 'pool':
      return displayPercent(poolUsedChunks(lv), poolChunks(lv));
    case 'thin': {
      const chunk = lv.body.pool.body.kind === 'pool' ? lv.body.pool.body.chunkBytes : 1;
      return displayPercent(mappedChunks(mapOf(lv)), sizeBytes(lv) / chunk);
    }
    case 'cow': {
      if (lv.body.isInvalid) return '100.00';
      const used = lv.body.copied.length === 0 ? 0 : cowUsedChunks(lv.body);
      return displayPercent(used, cowChunks(lv, lv.body));
    }
    default:
      return '';
  }
}

function metadataPercent(lv: Lv): string {
  if (lv.body.kind !== 'pool' || !isMeasured(lv)) return '';
  const bytes = strandExtents(lv.body.metadata) * lv.vg.extentBytes;
  return displayPercent(poolMetadataShare(lv, bytes), 1);
}

function syncPercent(machine: Machine, lv: Lv): string {
  if (lv.body.kind !== 'raid' || !lv.isActive) return '';
  const { fromMs, untilMs } = lv.body.sync;
  return displayPercent(machine.clock.nowMs() - fromMs, untilMs - fromMs);
}

function areaCount({ lv, segment }: SegmentRow): number {
  if (lv.body.kind === 'raid') return lv.body.images.length;
  if (lv.body.kind === 'thin') return 0;
  return segment?.areas.length ?? 1;
}

function dataAreaCount(row: SegmentRow): number {
  const count = areaCount(row);
  const { lv } = row;
  if (!isRaid(lv.type)) return count;
  return lv.type === 'raid10' ? count / lv.copies : count - parityOf(lv.type);
}

function chunkSize(lv: Lv): number {
  if (lv.body.kind === 'pool') return lv.body.chunkBytes;
  return lv.body.kind === 'cow' ? cowChunkBytes : 0;
}

function text(value: number): string {
  return String(value);
}

function byBytes(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
