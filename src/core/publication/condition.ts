import { limits } from '../../base/limits.ts';
import { findLv, type ObservedLv, type ObservedVg } from '../observed.ts';
import { copyingTag } from '../tags.ts';
import type { VolumeCondition } from './status.ts';

/** Is something wrong with a volume that its user should hear of? From the report alone. */
export function volumeCondition(lv: ObservedLv, vg: ObservedVg): VolumeCondition {
  const pool = lv.pool === undefined ? undefined : findLv(vg, lv.pool);
  const complaints = [...complaintsOf(lv), ...(pool === undefined ? [] : poolComplaints(pool))];
  if (complaints.length === 0) return { isAbnormal: false, message: 'the volume is healthy' };
  return { isAbnormal: true, message: `${vg.name}/${lv.name}: ${complaints.join('; ')}` };
}

function complaintsOf(lv: ObservedLv): readonly string[] {
  const complaints: string[] = [];
  if (lv.health !== '') complaints.push(healthTexts[lv.health] ?? `LVM says "${lv.health}"`);
  if (!lv.isActive) complaints.push('it is inactive');
  if (lv.isSuspended) complaints.push('it is suspended and all its I/O waits');
  if (lv.isInvalid) complaints.push(invalidText(lv));
  if (lv.tags.includes(copyingTag)) complaints.push('it is still being copied');
  const isRaid = lv.kind.startsWith('raid');
  if (isRaid && lv.syncPercent !== undefined && lv.syncPercent < 100) {
    complaints.push(`its copies are in step for ${lv.syncPercent} % only`);
  }
  const isCow = lv.kind === 'cow-snapshot' && !lv.isInvalid;
  if (isCow && (lv.dataPercent ?? 0) >= limits.cowGrowAtPercent) {
    complaints.push(`its room for changes is full to ${lv.dataPercent} %`);
  }
  return complaints;
}

/** LVM's words for what is amiss, as `lv_health_status` has them. */
const healthTexts: Readonly<Record<string, string>> = {
  partial: 'a device it lies on is missing',
  'refresh needed': 'a part of its RAID was written off; lvchange --refresh brings it back',
  'mismatches exist': 'the copies of its RAID differ',
  writemostly: 'a device of its RAID is written to and hardly read',
  'reshape needed': 'its RAID has to be reshaped',
  failed: 'its thin pool failed',
  out_of_data: 'its thin pool has no room for data',
  metadata_read_only: 'the metadata of its thin pool is read-only',
  unknown: 'LVM cannot tell how it is',
};

function invalidText(lv: ObservedLv): string {
  return lv.kind === 'cow-snapshot'
    ? 'it overflowed and holds nothing any more'
    : 'it must be checked before it is used';
}

function poolComplaints(pool: ObservedLv): readonly string[] {
  const complaints: string[] = [];
  const name = `its thin pool ${pool.name}`;
  if (pool.health !== '') complaints.push(`${name}: LVM says "${pool.health}"`);
  if (pool.isInvalid) complaints.push(`${name} must be checked before it is used`);
  for (const [what, percent] of [
    ['data', pool.dataPercent ?? 0],
    ['metadata', pool.metadataPercent ?? 0],
  ] as const) {
    if (percent >= limits.thinPoolFullPercent)
      complaints.push(`${name}: ${what} ${percent} % full`);
  }
  return complaints;
}
