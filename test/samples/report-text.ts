import type { ObservedHost, ObservedLv, ObservedPv, ObservedVg } from '../../src/core/observed.ts';

/** An observed host as `lvm fullreport` would print it: what the parser reads back is the same. */
export function reportText(host: ObservedHost): string {
  const groups = host.vgs.map((vg) => ({
    vg: [vgRow(vg)],
    pv: vg.pvs.map(pvRow),
    lv: vg.lvs.map(lvRow),
    pvseg: [],
    seg: vg.lvs.map(segmentRow),
  }));
  const orphans = { vg: [], pv: host.orphanPvs.map(pvRow), lv: [], pvseg: [], seg: [] };
  return JSON.stringify({ report: host.orphanPvs.length > 0 ? [...groups, orphans] : groups });
}

function vgRow(vg: ObservedVg) {
  return {
    vg_name: vg.name,
    vg_uuid: vg.uuid,
    vg_size: String(vg.sizeBytes),
    vg_free: String(vg.freeBytes),
    vg_extent_size: String(vg.extentSizeBytes),
    vg_tags: vg.tags.join(),
    vg_partial: vg.isPartial ? 'partial' : '',
    vg_exported: vg.isExported ? 'exported' : '',
    vg_permissions: vg.isWritable ? 'writeable' : 'read-only',
    vg_lock_type: vg.lockType,
    vg_systemid: vg.systemId,
    vg_seqno: String(vg.sequence),
    vg_mda_size: String(vg.metadataSizeBytes),
    vg_mda_free: String(vg.metadataFreeBytes),
  };
}

function pvRow(pv: ObservedPv) {
  return {
    pv_uuid: pv.uuid,
    pv_name: pv.device,
    pv_size: String(pv.sizeBytes),
    pv_free: String(pv.freeBytes),
    pv_missing: pv.isMissing ? 'missing' : '',
    pv_allocatable: pv.isAllocatable ? 'allocatable' : '',
    pv_duplicate: pv.isDuplicate ? 'duplicate' : '',
    pv_tags: pv.tags.join(),
  };
}

function lvRow(lv: ObservedLv) {
  const isCow = lv.kind === 'cow-snapshot';
  const state = lv.isInvalid ? 'I' : lv.isActive ? 'a' : '-';
  return {
    lv_uuid: lv.uuid,
    lv_name: lv.isInternal ? `[${lv.name}]` : lv.name,
    lv_size: String(lv.ownSizeBytes),
    lv_tags: lv.tags.join(),
    lv_attr: `-${lv.isReadOnly ? 'r' : 'w'}i-${state}${lv.isOpen ? 'o' : '-'}----`,
    lv_layout: isCow ? 'linear' : lv.kind.replace(/^thin-pool$/, 'thin,pool'),
    lv_role: lv.isInternal ? 'private' : isCow ? 'public,snapshot,thicksnapshot' : 'public',
    origin: lv.origin ?? '',
    origin_uuid: lv.originUuid ?? '',
    origin_size: isCow ? String(lv.sizeBytes) : '',
    pool_lv: lv.pool ?? '',
    data_percent: String(lv.dataPercent ?? ''),
    metadata_percent: String(lv.metadataPercent ?? ''),
    lv_metadata_size: String(lv.metadataSizeBytes ?? ''),
    sync_percent: String(lv.syncPercent ?? ''),
    lv_health_status: lv.health,
    lv_host: lv.madeFor === undefined ? 'n1' : `quarry.pool.${lv.madeFor}`,
  };
}

function segmentRow(lv: ObservedLv) {
  return {
    lv_uuid: lv.uuid,
    seg_start: '0',
    segtype: lv.kind,
    stripes: String(lv.stripes),
    data_stripes: String(lv.dataColumns),
    chunk_size: String(lv.chunkSizeBytes ?? 0),
  };
}
