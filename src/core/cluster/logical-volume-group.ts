import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { showList } from '../../base/show.ts';
import { groupOf, idOf, isGoing, isMade, kindOf, sourceOf } from './logical-volume.ts';
import { groupAnnotation } from './names.ts';

/**
 * Snapshots of one moment. Each member is a LogicalVolume of its own with three notes: the id of
 * the group, how many members it has, and what the group was called by who asked for it. An agent
 * takes them together, when it sees all of them, and none before.
 */
export const groupSizeAnnotation = 'quarry.io/snapshot-group-size';
export const groupNameAnnotation = 'quarry.io/snapshot-group-name';

export type VolumeGroup = {
  readonly id: string;
  readonly name: string;
  /** How many there are when it is whole. */
  readonly size: number;
  readonly members: readonly LogicalVolume[];
  readonly isReady: boolean;
};

export function groupNotes(group: { readonly id: string; readonly name: string; size: number }) {
  return {
    [groupAnnotation]: group.id,
    [groupSizeAnnotation]: String(group.size),
    [groupNameAnnotation]: group.name,
  };
}

export function groupById(all: Iterable<LogicalVolume>, id: string): VolumeGroup | undefined {
  return groupOfMembers([...all].filter((volume) => groupOf(volume) === id));
}

/** One that was begun under this name, whole or not. What is being deleted is none of it. */
export function groupByName(all: Iterable<LogicalVolume>, name: string): VolumeGroup | undefined {
  const begun = [...all].filter(
    (volume) => !isGoing(volume) && volume.metadata.annotations?.[groupNameAnnotation] === name,
  );
  const id = begun[0] === undefined ? undefined : groupOf(begun[0]);
  return groupOfMembers(begun.filter((volume) => groupOf(volume) === id));
}

/** Of all that was ever begun under this name, as far as any of it is left. */
export function groupIdsNamed(all: Iterable<LogicalVolume>, name: string): ReadonlySet<string> {
  const begun = [...all].filter(
    ({ metadata }) => metadata.annotations?.[groupNameAnnotation] === name,
  );
  return new Set(begun.flatMap((volume) => groupOf(volume) ?? []));
}

function groupOfMembers(members: readonly LogicalVolume[]): VolumeGroup | undefined {
  const [first] = members;
  const id = first === undefined ? undefined : groupOf(first);
  if (first === undefined || id === undefined) return undefined;
  const notes = first.metadata.annotations ?? {};
  const size = Number(notes[groupSizeAnnotation] ?? Number.NaN);
  const isWhole = members.length === size && members.every((one) => isMade(one) && !isGoing(one));
  return { id, name: notes[groupNameAnnotation] ?? '', size, members, isReady: isWhole };
}

/** Whoever asks for snapshots of one moment must ask for what one node can hold still. */
export function groupSourcesRefusal(sources: readonly LogicalVolume[]): Blocked | undefined {
  const nodes = [...new Set(sources.map(({ spec }) => spec.nodeName))];
  if (nodes.length <= 1) return undefined;
  const message = `the volumes are on ${showList(nodes)}, and nobody can hold them still together`;
  return blocked('CannotHoldStill', message);
}

/** A repeated request is the same request. */
export function groupDiffers(
  group: VolumeGroup,
  sourceIds: readonly string[],
  named: (name: string | undefined) => LogicalVolume | undefined,
): Blocked | undefined {
  const has = group.members.map((member) => sourceOf(member, named(member.spec.source))?.id ?? '');
  const isSame = group.size === sourceIds.length && has.every((id) => sourceIds.includes(id));
  if (isSame) return undefined;
  const message = `the group snapshot ${group.name} exists and is of ${showList(has)}`;
  return blocked('VolumeDiffers', message);
}

/** What a caller believes to be in a group must be so; what is gone already does not matter. */
export function membersRefusal(
  id: string,
  members: readonly LogicalVolume[],
  snapshotIds: readonly string[],
  all: Iterable<LogicalVolume>,
): Blocked | undefined {
  if (snapshotIds.length === 0) return undefined;
  const ours = new Set(members.map(idOf));
  const others = new Set([...all].filter((one) => kindOf(one) === 'snapshot').map(idOf));
  const strange = snapshotIds.filter((one) => !ours.has(one) && others.has(one));
  const unnamed = [...ours].filter((one) => !snapshotIds.includes(one));
  const problems = [
    ...(strange.length === 0 ? [] : [`${showList(strange)} is not in it`]),
    ...(unnamed.length === 0 ? [] : [`${showList(unnamed)} is in it and was not named`]),
  ];
  if (problems.length === 0) return undefined;
  const message = `snapshot_ids do not agree with the group ${id}: ${problems.join('; ')}`;
  return blocked('InvalidRequest', message);
}
