import type {
  SnapshotError,
  VolumeGroupSnapshotClass,
  VolumeGroupSnapshotContent,
} from '../../api/objects/snapshot.ts';
import {
  type ContentSurroundings,
  type ContentView,
  classProblem,
  noUid,
  sharersOf,
} from './snapshot-content.ts';
import { groupMarks, groupSnapshotName } from './snapshot-content-marks.ts';
import { nanoseconds, type TakenSnapshot, wholeNumber } from './snapshot-content-status.ts';

/** Undefined: it is another driver's. */
export function groupContentView(
  content: VolumeGroupSnapshotContent,
  around: ContentSurroundings<VolumeGroupSnapshotContent, VolumeGroupSnapshotClass>,
): ContentView | undefined {
  const { metadata, spec, status } = content;
  const className = spec.volumeGroupSnapshotClassName;
  const named = className === undefined ? undefined : around.classOf(className);
  if (spec.driver !== around.driver) return undefined;
  if (named !== undefined && named.driver !== around.driver) return undefined;
  const { volumeHandles = [], groupSnapshotHandles } = spec.source;
  const uid = spec.volumeGroupSnapshotRef.uid ?? '';
  const handle = groupHandleOf(content);
  return {
    isGoing: metadata.deletionTimestamp !== undefined,
    isHeld: metadata.finalizers?.includes(groupMarks.finalizer) === true,
    isBeingCreated: metadata.annotations?.[groupMarks.beingCreated] !== undefined,
    isBeingDeleted: metadata.annotations?.[groupMarks.beingDeleted] !== undefined,
    isBound: uid !== '',
    isKept: spec.deletionPolicy !== 'Delete',
    origin:
      groupSnapshotHandles !== undefined
        ? {
            kind: 'given',
            handle: groupSnapshotHandles.volumeGroupSnapshotHandle,
            memberIds: groupSnapshotHandles.volumeSnapshotHandles,
          }
        : volumeHandles.length === 0
          ? { kind: 'none' }
          : { kind: 'made', name: groupSnapshotName(uid), sourceIds: volumeHandles },
    handle: status?.volumeGroupSnapshotHandle,
    isReady: status?.readyToUse === true,
    problem: uid === '' ? noUid : classProblem(className, named),
    sharers: sharersOf(
      content,
      around.others,
      (other) =>
        handle !== undefined &&
        groupHandleOf(other) === handle &&
        other.spec.driver === around.driver,
    ),
  };
}

export function groupHandleOf({ spec, status }: VolumeGroupSnapshotContent): string | undefined {
  return (
    status?.volumeGroupSnapshotHandle ?? spec.source.groupSnapshotHandles?.volumeGroupSnapshotHandle
  );
}

export type TakenGroup = {
  readonly id: string;
  readonly createdMs: number;
  readonly isReady: boolean;
  readonly members: readonly (TakenSnapshot & { readonly sourceId: string | undefined })[];
};

export type GroupStatus = {
  readonly volumeGroupSnapshotHandle: string;
  readonly creationTime: string;
  readonly readyToUse: boolean;
  readonly error: SnapshotError | null;
  readonly volumeSnapshotInfoList?: readonly object[];
  readonly volumeSnapshotHandlePairList?: readonly object[];
};

/** Version v1beta1 knows pairs of handles, and no more of the members. */
export function takenGroupStatus(
  before: VolumeGroupSnapshotContent['status'],
  taken: TakenGroup,
  options: { readonly version: string; readonly timeOf: (ms: number) => string },
): GroupStatus {
  const members = taken.members.filter(({ sourceId }) => sourceId !== undefined);
  const pairs = members.map(({ id, sourceId }) => ({ volumeHandle: sourceId, snapshotHandle: id }));
  const infos = members.map((member, index) => ({
    ...pairs[index],
    creationTime: nanoseconds(member.createdMs ?? taken.createdMs),
    restoreSize: wholeNumber(member.sizeBytes),
    readyToUse: member.isReady && member.sizeBytes > 0n,
  }));
  const isWhole = members.length > 0 && infos.every(({ readyToUse }) => readyToUse);
  return {
    volumeGroupSnapshotHandle: taken.id,
    creationTime: before?.creationTime ?? options.timeOf(taken.createdMs),
    readyToUse: taken.isReady && isWhole,
    error: null,
    ...(options.version === 'v1beta1'
      ? { volumeSnapshotHandlePairList: pairs }
      : { volumeSnapshotInfoList: infos }),
  };
}

export const clearedGroupStatus = {
  volumeGroupSnapshotHandle: null,
  creationTime: null,
  readyToUse: null,
  error: null,
  volumeSnapshotInfoList: null,
  volumeSnapshotHandlePairList: null,
} as const;

/** Those that the group is believed to have; none where the version does not tell. */
export function groupMemberIds({ spec, status }: VolumeGroupSnapshotContent): readonly string[] {
  const listed = status?.volumeSnapshotInfoList ?? [];
  const ids = listed.flatMap(({ snapshotHandle }) => snapshotHandle ?? []);
  return ids.length > 0 ? ids : (spec.source.groupSnapshotHandles?.volumeSnapshotHandles ?? []);
}
