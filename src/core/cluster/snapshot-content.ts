import type { VolumeSnapshotClass, VolumeSnapshotContent } from '../../api/objects/snapshot.ts';
import { type FailureCode, failures } from '../../base/failures.ts';
import { show } from '../../base/show.ts';
import { memberAnnotation, snapshotMarks, snapshotName } from './snapshot-content-marks.ts';

/** What the driver reads of a content, be it of one snapshot or of a group of them. */
export type ContentView = {
  readonly isGoing: boolean;
  /** Our finalizer is on it. Without it nothing waits for us. */
  readonly isHeld: boolean;
  readonly isBeingCreated: boolean;
  readonly isBeingDeleted: boolean;
  /** Whoever wants it is known by its UID. */
  readonly isBound: boolean;
  /** What it stands for outlives it: it is retained, or goes with its group. */
  readonly isKept: boolean;
  readonly origin: ContentOrigin;
  /** As the status has it. */
  readonly handle: string | undefined;
  readonly isReady: boolean;
  /** Why it must not be made, if so. Asked before anything is begun, never after. */
  readonly problem: string | undefined;
  /** Other contents that live by the same handle. */
  readonly sharers: readonly string[];
};

export type ContentOrigin =
  /** To be made by us, under this name. */
  | { readonly kind: 'made'; readonly name: string; readonly sourceIds: readonly string[] }
  /** Somebody wrote down what is there already. */
  | { readonly kind: 'given'; readonly handle: string; readonly memberIds: readonly string[] }
  /** Others take care of it. */
  | { readonly kind: 'none' };

/** One thing to do for a content. */
export type ContentStep =
  | { readonly kind: 'rest' }
  /** Write down that it is going to be made. Nothing is made before. */
  | { readonly kind: 'announce' }
  /** Make it: the same request again finds it. */
  | { readonly kind: 'make'; readonly name: string; readonly sourceIds: readonly string[] }
  | { readonly kind: 'check'; readonly handle: string; readonly memberIds: readonly string[] }
  /** It is known what became of it. */
  | { readonly kind: 'settle' }
  /** Remove what the handle names, or what bears the name, and then let the object go. */
  | { readonly kind: 'remove'; readonly handle?: string; readonly name?: string }
  /** Let the object go. What it stands for stays. */
  | { readonly kind: 'release' }
  | { readonly kind: 'refuse'; readonly during: 'make' | 'remove'; readonly message: string };

const rest = { kind: 'rest' } as const;

export function contentStep(view: ContentView): ContentStep {
  if (mayGo(view)) return ending(view);
  if (view.isReady) return view.isBeingCreated ? { kind: 'settle' } : rest;
  switch (view.origin.kind) {
    case 'none':
      return rest;
    case 'given':
      return view.isGoing ? rest : { ...view.origin, kind: 'check' };
    case 'made':
      return making(view, view.origin);
  }
}

/** Only with the word of who bound it, and only when nothing is under way. */
function mayGo(view: ContentView): boolean {
  if (!view.isGoing) return false;
  if (view.origin.kind === 'given' && !view.isBound) return true;
  return view.isBeingDeleted && !view.isBeingCreated;
}

function ending(view: ContentView): ContentStep {
  const { origin, handle, sharers } = view;
  if (!view.isHeld) return rest;
  if (view.isKept || origin.kind === 'none') return { kind: 'release' };
  const known = handle ?? (origin.kind === 'given' && view.isBound ? origin.handle : undefined);
  if (known === undefined) {
    // What was made may be there although nobody wrote down its handle.
    return origin.kind === 'made' ? { kind: 'remove', name: origin.name } : { kind: 'release' };
  }
  if (sharers.length === 0) return { kind: 'remove', handle: known };
  const message = `${sharers.join(', ')} names the snapshot ${known} too, which would be gone`;
  const remedy = 'Delete that first, or retain this one';
  return { kind: 'refuse', during: 'remove', message: `${message}. ${remedy}` };
}

function making(view: ContentView, origin: ContentOrigin & { kind: 'made' }): ContentStep {
  const make = { kind: 'make', name: origin.name, sourceIds: origin.sourceIds } as const;
  if (view.handle !== undefined && view.isBeingCreated) return { kind: 'settle' };
  // Also while it goes: only an answer tells whether there is something to remove.
  if (view.isBeingCreated) return make;
  if (view.isBeingDeleted) return rest;
  // Looked at again until it is ready, and never made again: that would be another one.
  if (view.handle !== undefined) {
    return view.isGoing ? rest : { kind: 'check', handle: view.handle, memberIds: [] };
  }
  if (view.isGoing) {
    const message = 'it is being deleted, so nothing is made for it any more';
    const remedy = 'Delete the snapshot and make another one';
    return { kind: 'refuse', during: 'make', message: `${message}. ${remedy}` };
  }
  if (view.problem !== undefined) return { kind: 'refuse', during: 'make', message: view.problem };
  return { kind: 'announce' };
}

export type ContentSurroundings<C, K> = {
  readonly driver: string;
  /** The class that the content names, if there is one. */
  readonly classOf: (name: string) => K | undefined;
  readonly others: Iterable<C>;
};

/** Undefined: it is another driver's. */
export function snapshotContentView(
  content: VolumeSnapshotContent,
  around: ContentSurroundings<VolumeSnapshotContent, VolumeSnapshotClass>,
): ContentView | undefined {
  const { metadata, spec, status } = content;
  const className = spec.volumeSnapshotClassName;
  const named = className === undefined ? undefined : around.classOf(className);
  if (spec.driver !== around.driver) return undefined;
  if (named !== undefined && named.driver !== around.driver) return undefined;
  const { volumeHandle, snapshotHandle } = spec.source;
  const isMember = isGroupMember(content);
  const uid = spec.volumeSnapshotRef.uid ?? '';
  const handle = status?.snapshotHandle ?? snapshotHandle;
  return {
    isGoing: metadata.deletionTimestamp !== undefined,
    isHeld: metadata.finalizers?.includes(snapshotMarks.finalizer) === true,
    isBeingCreated: metadata.annotations?.[snapshotMarks.beingCreated] !== undefined,
    isBeingDeleted: metadata.annotations?.[snapshotMarks.beingDeleted] !== undefined,
    isBound: uid !== '',
    isKept: isMember || spec.deletionPolicy !== 'Delete',
    origin:
      snapshotHandle !== undefined
        ? { kind: 'given', handle: snapshotHandle, memberIds: [] }
        : volumeHandle === undefined || isMember
          ? { kind: 'none' }
          : { kind: 'made', name: snapshotName(uid), sourceIds: [volumeHandle] },
    handle: status?.snapshotHandle,
    isReady: status?.readyToUse === true,
    problem: uid === '' ? noUid : classProblem(className, named),
    sharers: sharersOf(content, around.others, (other) =>
      handle === undefined || isGroupMember(other)
        ? false
        : (other.status?.snapshotHandle ?? other.spec.source.snapshotHandle) === handle &&
          other.spec.driver === around.driver,
    ),
  };
}

export const noUid = 'its reference has no UID, and nothing can be named after it';

export function isGroupMember({ metadata, status }: VolumeSnapshotContent): boolean {
  return (
    metadata.annotations?.[memberAnnotation] !== undefined ||
    status?.volumeGroupSnapshotHandle !== undefined
  );
}

/** Those that stay, and would stay without what they stand for. */
export function sharersOf<C extends { readonly metadata: VolumeSnapshotContent['metadata'] }>(
  content: C,
  others: Iterable<C>,
  isSame: (other: C) => boolean,
): readonly string[] {
  if (content.metadata.deletionTimestamp === undefined) return [];
  return [...others]
    .filter(
      ({ metadata }) =>
        metadata.uid !== content.metadata.uid && metadata.deletionTimestamp === undefined,
    )
    .filter(isSame)
    .map(({ metadata }) => metadata.name);
}

const secrets = ['snapshotter', 'snapshotter-list', 'group-snapshotter', 'group-snapshotter-get'];
const reserved = 'csi.storage.k8s.io/';

/** What is ours to read in a class is known to us; the rest is for the driver. */
export function classProblem(
  name: string | undefined,
  found: VolumeSnapshotClass | undefined,
): string | undefined {
  if (name === undefined) return 'it names no class, and a snapshot is made with one';
  if (found === undefined) return `there is no class ${name}. Create it`;
  const known = secrets.flatMap((secret) => [
    `${secret}-secret-name`,
    `${secret}-secret-namespace`,
  ]);
  const strange = Object.keys(found.parameters ?? {}).find(
    (key) => key.startsWith(reserved) && !known.includes(key.slice(reserved.length)),
  );
  if (strange === undefined) return undefined;
  return `the class ${name} has the parameter ${show(strange)}, which nobody knows. Remove it`;
}

/**
 * Is it sure that nothing was made? Where there is no room callers say RESOURCE_EXHAUSTED, which
 * others take for "perhaps": then a look tells.
 */
export function isFinal(code: FailureCode, isSeenAbsent: boolean): boolean {
  switch (failures[code].grpc) {
    case 'CANCELLED':
    case 'UNAVAILABLE':
    case 'ABORTED':
      return false;
    case 'RESOURCE_EXHAUSTED':
      return isSeenAbsent;
    default:
      return true;
  }
}
