import type { Bytes } from '../base/bytes.ts';
import type { ObservedHost, ObservedLv, ObservedVg } from './observed.ts';
import { isOurs, readTag, snapshotRole } from './tags.ts';

/**
 * Volumes and snapshots as LVM itself remembers them: names and tags are the only store of a host
 * without a cluster. The id is the LV's name; what somebody called the volume is a tag.
 */
export type VolumeRecord = {
  readonly id: string;
  readonly kind: 'volume' | 'snapshot';
  readonly name: string | undefined;
  readonly className: string | undefined;
  readonly sourceId: string | undefined;
  readonly sourceKind: 'volume' | 'snapshot';
  readonly groupId: string | undefined;
  readonly createdMs: number | undefined;
  readonly sizeBytes: Bytes;
  readonly lv: ObservedLv;
  readonly vg: ObservedVg;
};

/** Everything in the given groups that a request of ours made, by id. */
export function recordsIn(host: ObservedHost, vgs: ReadonlySet<string>): readonly VolumeRecord[] {
  return host.vgs
    .filter((vg) => vgs.has(vg.name))
    .flatMap((vg) => vg.lvs.filter(isRecord).map((lv) => recordOf(lv, vg)))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

export function recordOf(lv: ObservedLv, vg: ObservedVg): VolumeRecord {
  const { tags } = lv;
  const isSnapshot = readTag(tags, 'role') === snapshotRole || lv.kind === 'cow-snapshot';
  return {
    id: lv.name,
    kind: isSnapshot ? 'snapshot' : 'volume',
    name: readTag(tags, 'name'),
    className: readTag(tags, 'class'),
    sourceId: readTag(tags, 'source') ?? (isSnapshot ? lv.origin : undefined),
    sourceKind: readTag(tags, 'from') === 'snapshot' ? 'snapshot' : 'volume',
    groupId: readTag(tags, 'group'),
    createdMs: timeOf(readTag(tags, 'created')),
    sizeBytes: lv.sizeBytes,
    lv,
    vg,
  };
}

/** Parts of LVs, pools and the helpers of a copy are nobody's volumes. */
function isRecord(lv: ObservedLv): boolean {
  if (lv.isInternal || lv.kind === 'thin-pool' || lv.kind === 'pvmove') return false;
  if (!isOurs(lv.tags)) return false;
  const role = readTag(lv.tags, 'role');
  return role === undefined || role === snapshotRole;
}

function timeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
