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

/** What a record outside of LVM says of a volume that carries no tags of ours. */
export type Recorded = Pick<VolumeRecord, 'kind' | 'name' | 'className' | 'sourceId'>;

/** By id. Where LVM is the only store nothing is recorded. */
export type RecordedVolumes = { get(id: string): Recorded | undefined };

export const nothingRecorded: RecordedVolumes = { get: () => undefined };

/** Where a volume was when it was to go. */
export type SeenIn = {
  readonly vgUuid: string;
  /** We removed that group since, and it was empty: nothing comes back with it. */
  readonly isRemoved: boolean;
};

/**
 * In which groups, by their UUIDs, volumes were seen when they were to go. It outlives us: whoever
 * was cut off after the removal can tell by it that a volume is gone.
 */
export type RemovalNotes = {
  get(id: string): SeenIn | undefined;
  /** Resolves when it is on disk. */
  note(id: string, vgUuid: string): Promise<void>;
  /** The same. */
  groupRemoved(vgUuid: string): Promise<void>;
};

/** May the group that it was in still come back with it? Not while it is here, and never after. */
export function isAccountedFor(seenIn: SeenIn | undefined, { vgs }: ObservedHost): boolean {
  if (seenIn === undefined) return false;
  return seenIn.isRemoved || vgs.some(({ uuid }) => uuid === seenIn.vgUuid);
}

/** Everything in the given groups that a request of ours made or a record of ours names, by id. */
export function recordsIn(
  host: ObservedHost,
  vgs: ReadonlySet<string>,
  recorded: RecordedVolumes = nothingRecorded,
): readonly VolumeRecord[] {
  const isOne = (lv: ObservedLv) =>
    isOurs(lv.tags) ? hasRoleOfVolume(lv) : recorded.get(lv.name) !== undefined;
  return host.vgs
    .filter((vg) => vgs.has(vg.name))
    .flatMap((vg) => vg.lvs.filter((lv) => isNoPart(lv) && isOne(lv)).map((lv) => ({ vg, lv })))
    .map(({ vg, lv }) => recordOf(lv, vg, recorded.get(lv.name)))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}

/** Tags come first: they were written by the command that made the volume. */
export function recordOf(lv: ObservedLv, vg: ObservedVg, recorded?: Recorded): VolumeRecord {
  const { tags } = lv;
  const isMarked = readTag(tags, 'role') === snapshotRole || lv.kind === 'cow-snapshot';
  const isSnapshot = isMarked || (!isOurs(tags) && recorded?.kind === 'snapshot');
  const origin = isSnapshot ? lv.origin : undefined;
  return {
    id: lv.name,
    kind: isSnapshot ? 'snapshot' : 'volume',
    name: readTag(tags, 'name') ?? recorded?.name,
    className: readTag(tags, 'class') ?? recorded?.className,
    sourceId: readTag(tags, 'source') ?? origin ?? recorded?.sourceId,
    sourceKind: readTag(tags, 'from') === 'snapshot' ? 'snapshot' : 'volume',
    groupId: readTag(tags, 'group'),
    createdMs: timeOf(readTag(tags, 'created')),
    sizeBytes: lv.sizeBytes,
    lv,
    vg,
  };
}

/** Parts of LVs and pools are nobody's volumes. */
function isNoPart(lv: ObservedLv): boolean {
  return !lv.isInternal && lv.kind !== 'thin-pool' && lv.kind !== 'pvmove';
}

/** Nor are the helpers of a copy. */
function hasRoleOfVolume({ tags }: ObservedLv): boolean {
  const role = readTag(tags, 'role');
  return role === undefined || role === snapshotRole;
}

function timeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
