import type { VolumeRecord } from '../catalog.ts';
import { readTag, sealedTag } from '../tags.ts';

/** Snapshots that were taken at one moment. Their tags say so; there is no other book. */
export type SnapshotGroup = {
  readonly id: string;
  readonly name: string | undefined;
  readonly createdMs: number;
  readonly members: readonly VolumeRecord[];
  /** It was whole once, and nothing was written in between: what is left of it is kept. */
  readonly isSealed: boolean;
  /** All of it is there. */
  readonly isComplete: boolean;
};

export function groupsIn(records: readonly VolumeRecord[]): readonly SnapshotGroup[] {
  const members = new Map<string, VolumeRecord[]>();
  for (const record of records) {
    const { groupId, kind } = record;
    if (groupId === undefined || kind !== 'snapshot') continue;
    members.set(groupId, [...(members.get(groupId) ?? []), record]);
  }
  return [...members].map(([id, ours]) => groupOf(id, ours));
}

function groupOf(id: string, members: readonly VolumeRecord[]): SnapshotGroup {
  const first = members[0]?.lv.tags ?? [];
  const size = Number(readTag(first, 'group-size') ?? Number.NaN);
  const isSealed = members.some(({ lv }) => lv.tags.includes(sealedTag));
  return {
    id,
    name: readTag(first, 'group-name'),
    createdMs: members[0]?.createdMs ?? 0,
    members,
    isSealed,
    isComplete: isSealed && members.length === size,
  };
}
