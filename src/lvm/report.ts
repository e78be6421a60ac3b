import { bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { layouts } from '../core/layouts.ts';
import type { LvKind, ObservedHost, ObservedLv, ObservedPv, ObservedVg } from '../core/observed.ts';
import { poolMadeOn } from '../core/thin-pool/making.ts';
import { parseLvAttributes } from './attributes.ts';
import {
  list,
  optionalSize,
  optionalText,
  parseJson,
  percent,
  type Row,
  requiredRows,
  rowsOf,
  size,
  text,
} from './json.ts';

/** `lvm fullreport` as values. Anything unexpected is an error: half a report is no truth. */
export function parseHost(output: string): ObservedHost {
  const reports = requiredRows(parseJson(output, 'lvm fullreport'), 'report');
  const vgs: ObservedVg[] = [];
  const orphanPvs: ObservedPv[] = [];
  for (const report of reports) {
    const [vg] = rowsOf(report, 'vg');
    const pvs = requiredRows(report, 'pv').map(parsePv);
    if (vg === undefined) orphanPvs.push(...pvs);
    else vgs.push(parseVg(vg, pvs, report));
  }
  return { vgs, orphanPvs };
}

function parseVg(row: Row, pvs: readonly ObservedPv[], report: Row): ObservedVg {
  const segments = lastSegments(requiredRows(report, 'seg'));
  return {
    name: text(row, 'vg_name'),
    uuid: text(row, 'vg_uuid'),
    sizeBytes: size(row, 'vg_size'),
    freeBytes: size(row, 'vg_free'),
    extentSizeBytes: size(row, 'vg_extent_size'),
    tags: list(row, 'vg_tags'),
    isPartial: text(row, 'vg_partial') !== '',
    isExported: text(row, 'vg_exported') !== '',
    isWritable: text(row, 'vg_permissions') === 'writeable',
    lockType: text(row, 'vg_lock_type'),
    systemId: text(row, 'vg_systemid'),
    sequence: size(row, 'vg_seqno'),
    metadataSizeBytes: size(row, 'vg_mda_size'),
    metadataFreeBytes: size(row, 'vg_mda_free'),
    pvs,
    lvs: requiredRows(report, 'lv').map((lv) => parseLv(lv, segments.get(text(lv, 'lv_uuid')))),
  };
}

function parsePv(row: Row): ObservedPv {
  return {
    uuid: text(row, 'pv_uuid'),
    device: text(row, 'pv_name'),
    sizeBytes: size(row, 'pv_size'),
    freeBytes: size(row, 'pv_free'),
    isMissing: text(row, 'pv_missing') !== '',
    isAllocatable: text(row, 'pv_allocatable') !== '',
    isDuplicate: text(row, 'pv_duplicate') !== '',
    tags: list(row, 'pv_tags'),
  };
}

function parseLv(row: Row, segment: Row | undefined): ObservedLv {
  const kind = kindOf(list(row, 'lv_layout'), list(row, 'lv_role'));
  const attributes = text(row, 'lv_attr');
  const ownSizeBytes = size(row, 'lv_size');
  const isCow = kind === 'cow-snapshot';
  return {
    ...parseLvAttributes(attributes),
    attributes,
    name: text(row, 'lv_name').replace(/^\[(.*)\]$/, '$1'),
    uuid: text(row, 'lv_uuid'),
    kind,
    sizeBytes: isCow ? (optionalSize(row, 'origin_size') ?? ownSizeBytes) : ownSizeBytes,
    ownSizeBytes,
    tags: list(row, 'lv_tags'),
    madeFor: poolMadeOn(text(row, 'lv_host')),
    isInternal: isInternal(row, kind),
    ...columns(kind, segment),
    origin: text(row, 'origin') || undefined,
    originUuid: optionalText(row, 'origin_uuid') || undefined,
    pool: text(row, 'pool_lv') || undefined,
    dataPercent: percent(row, 'data_percent'),
    metadataPercent: percent(row, 'metadata_percent'),
    metadataSizeBytes: optionalSize(row, 'lv_metadata_size'),
    chunkSizeBytes: segment === undefined ? undefined : nonZero(segment, 'chunk_size'),
    syncPercent: percent(row, 'sync_percent'),
    health: text(row, 'lv_health_status'),
  };
}

/** Pools are "private" too, but people name and manage them. */
function isInternal(row: Row, kind: LvKind): boolean {
  if (kind === 'thin-pool') return false;
  return list(row, 'lv_role').includes('private');
}

function kindOf(layout: readonly string[], role: readonly string[]): LvKind {
  if (role.includes('thicksnapshot')) return 'cow-snapshot';
  if (layout.includes('pvmove') || role.includes('pvmove')) return 'pvmove';
  if (layout.includes('thin')) return layout.includes('pool') ? 'thin-pool' : 'thin';
  const [first, second] = layout;
  const name = first === 'raid' ? second : first;
  return name !== undefined && name in layouts ? (name as LvKind) : 'other';
}

/** raid1 reports its images as data stripes, though each holds all of the data. */
function columns(kind: LvKind, segment: Row | undefined) {
  if (segment === undefined) return { stripes: 1, dataColumns: 1 };
  const stripes = Math.max(1, Number(size(segment, 'stripes')));
  const dataStripes = Math.max(1, Number(size(segment, 'data_stripes')));
  return { stripes, dataColumns: kind === 'raid1' ? 1 : dataStripes };
}

/** A volume grows in the shape of its last segment. */
function lastSegments(rows: readonly Row[]): ReadonlyMap<string, Row> {
  const last = new Map<string, Row>();
  for (const row of rows) {
    const uuid = text(row, 'lv_uuid');
    const known = last.get(uuid);
    if (known === undefined || start(row) > start(known)) last.set(uuid, row);
  }
  return last;
}

function start(row: Row): bigint {
  return size(row, 'seg_start');
}

function nonZero(row: Row, key: string) {
  const value = optionalSize(row, key);
  return value === undefined || value === 0n ? undefined : bytes(value);
}

/** What LVM said of each device when nothing was hidden from it: see `lookLabels`. */
export type LabelRow = {
  readonly device: string;
  readonly pvUuid: string;
  readonly vg: string;
  readonly isDuplicate: boolean;
};

export function parseLabels(output: string): readonly LabelRow[] {
  const [report] = requiredRows(parseJson(output, 'lvm pvs'), 'report');
  if (report === undefined) throw new OperationError('UnreadableReport', 'lvm pvs gave no report');
  return requiredRows(report, 'pv').map((row) => ({
    device: text(row, 'pv_name'),
    pvUuid: text(row, 'pv_uuid'),
    vg: text(row, 'vg_name'),
    isDuplicate: text(row, 'pv_duplicate') !== '',
  }));
}
