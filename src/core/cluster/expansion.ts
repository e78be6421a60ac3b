import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import { parseQuantity, showQuantity } from '../../api/quantity.ts';
import type { Bytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { showBytes } from '../../base/show.ts';
import { type ClaimEvent, changeConditions, hasCondition, saysAlready } from './conditions.ts';
import {
  type Attempt,
  type DriverFailure,
  endingOfFailure,
  nextAttempt,
} from './expansion-failure.ts';
import { type ResizeStatus, targetSize } from './expansion-target.ts';
import { isClaimOf } from './health.ts';

/** Kubernetes' names, which kubelet and the control plane read. */
export const nodeNotRequiredAnnotation = 'volume.kubernetes.io/node-expansion-not-required';
export const sizeBeforeAnnotation = 'volume.alpha.kubernetes.io/pre-resize-capacity';

/** Conditions of a claim that say how far its growth is. All others are somebody else's. */
const ownConditions = [
  ...['Resizing', 'FileSystemResizePending'],
  ...['ControllerResizeError', 'NodeResizeError'],
];

export type ExpansionView = {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
  readonly driver: string;
  /** What this process remembers of the last try. */
  readonly last: Attempt | undefined;
  /** What the driver answered in this very round. */
  readonly grown: { readonly targetBytes: Bytes; readonly sizeBytes: Bytes } | undefined;
  /** Servers before Kubernetes 1.32 drop the sizes under way; then conditions have to do. */
  readonly keepsStatus: boolean;
  readonly nowMs: number;
  /** The time of day, as Kubernetes writes it. */
  readonly nowText: string;
};

/** One thing to do, and then to look again. Patches are merged, and hold only for what was seen. */
export type ExpansionDecision =
  | { readonly kind: 'rest' }
  | { readonly kind: 'wait'; readonly afterMs: number; readonly remember?: Attempt }
  | { readonly kind: 'refuse'; readonly event: ClaimEvent; readonly afterMs: number }
  | { readonly kind: 'expand'; readonly volumeId: string; readonly targetBytes: Bytes }
  | {
      readonly kind: 'write-claim';
      /** `begun` before the driver is called; all others end it. */
      readonly why: 'begun' | 'node-next' | 'grown' | 'given-up';
      /** Of the status; annotations travel with it. */
      readonly patch: object;
      readonly event?: ClaimEvent;
    }
  | { readonly kind: 'write-volume'; readonly why: 'raised' | 'tidied'; readonly patch: object };

/** What is to be done next so that a volume becomes as large as its claim asks. */
export function decideExpansion(view: ExpansionView): ExpansionDecision {
  const pair = pairOf(view);
  if (pair === undefined) return { kind: 'rest' };
  const sizes = sizesOf(view.claim, pair);
  if (sizes === undefined) return { kind: 'rest' };
  if ('event' in sizes) {
    return { kind: 'refuse', event: sizes.event, afterMs: limits.infeasibleRetryMs };
  }
  const { requestBytes, capacityBytes, status } = sizes;
  if (requestBytes <= capacityBytes && status === 'ControllerResizeInfeasible') {
    return givenUp(view);
  }
  const isUnfinished = status === 'ControllerResizeInProgress';
  if (requestBytes <= capacityBytes && !isUnfinished) return tidy(pair, sizes);
  const targetBytes = targetSize({
    ...sizes,
    hasFailedForGood: hasFailedForGood(view.last, sizes.allocatedBytes),
    isFileSystemPending: hasCondition(view.claim.status?.conditions, 'FileSystemResizePending'),
  });
  if (targetBytes === undefined) return { kind: 'rest' };
  return towards(view, pair, { ...sizes, targetBytes });
}

/** The driver did not do it. What is remembered, written and told about that. */
export type FailureDecision = {
  readonly remember: Attempt;
  /** undefined: the claim says so already. */
  readonly patch: object | undefined;
  readonly event: ClaimEvent;
};

export function decideFailure(
  view: ExpansionView,
  targetBytes: Bytes,
  { failure, draw }: { readonly failure: DriverFailure; readonly draw: number },
): FailureDecision {
  const ending = endingOfFailure(failure);
  const { claim, nowMs, nowText } = view;
  const message = `${showBytes(targetBytes)} cannot be given yet. ${failure.message}`;
  const condition = { type: 'ControllerResizeError', status: 'True', message };
  const isInfeasible = ending === 'infeasible' && view.keepsStatus;
  const status: ResizeStatus = isInfeasible
    ? 'ControllerResizeInfeasible'
    : 'ControllerResizeInProgress';
  const isTold = saysAlready(claim.status?.conditions, condition);
  const isStatusSet = !view.keepsStatus || statusOf(claim) === status;
  const patch = {
    metadata: { resourceVersion: claim.metadata.resourceVersion },
    status: {
      conditions: changeConditions(claim.status?.conditions, { set: [condition], nowText }),
      ...(isInfeasible ? { allocatedResourceStatuses: { storage: status } } : {}),
    },
  };
  return {
    remember: nextAttempt(view.last, { targetBytes, ending }, { nowMs, draw }),
    patch: isTold && isStatusSet ? undefined : patch,
    event: { type: 'Warning', reason: 'VolumeResizeFailed', message },
  };
}

/** A claim and the volume that is bound to it and to no other. */
type Pair = { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume };

function pairOf({ claim, volume, driver }: ExpansionView): Pair | undefined {
  const isGoing = (object: Pair['claim'] | Pair['volume']) =>
    object.metadata.deletionTimestamp !== undefined;
  if (volume === undefined || isGoing(claim) || isGoing(volume)) return undefined;
  if (claim.status?.phase !== 'Bound' || volume.spec.csi?.driver !== driver) return undefined;
  return isClaimOf(claim, volume) ? { claim, volume } : undefined;
}

type KnownSizes = {
  readonly volumeBytes: Bytes;
  readonly requestBytes: Bytes;
  readonly capacityBytes: Bytes;
  readonly allocatedBytes: Bytes | undefined;
  readonly status: ResizeStatus | undefined;
};

/** undefined while the claim is being bound: then somebody else still writes its first size. */
function sizesOf(
  { spec, status, metadata }: PersistentVolumeClaim,
  { volume }: Pair,
): KnownSizes | { readonly event: ClaimEvent } | undefined {
  const texts = [
    spec.resources?.requests?.storage,
    status?.capacity?.storage,
    volume.spec.capacity?.storage,
    status?.allocatedResources?.storage,
  ];
  const [request, capacity, held, allocated] = texts.map((text) =>
    text === undefined ? undefined : parseQuantity(text),
  );
  if (request === undefined || capacity === undefined || held === undefined) return undefined;
  for (const size of [request, capacity, held, allocated]) {
    if (typeof size !== 'object') continue;
    const message = `The claim ${metadata.name} cannot grow: ${size.message}.`;
    return { event: { type: 'Warning', reason: 'VolumeResizeFailed', message } };
  }
  return {
    requestBytes: request as Bytes,
    capacityBytes: capacity as Bytes,
    volumeBytes: held as Bytes,
    allocatedBytes: allocated as Bytes | undefined,
    status: resizeStatus(status?.allocatedResourceStatuses?.storage),
  };
}

function statusOf({ status }: PersistentVolumeClaim): ResizeStatus | undefined {
  return resizeStatus(status?.allocatedResourceStatuses?.storage);
}

function resizeStatus(text: string | undefined): ResizeStatus | undefined {
  switch (text) {
    case 'ControllerResizeInProgress':
    case 'ControllerResizeInfeasible':
    case 'NodeResizePending':
    case 'NodeResizeInProgress':
    case 'NodeResizeInfeasible':
      return text;
    default:
      return undefined;
  }
}

function hasFailedForGood(last: Attempt | undefined, allocatedBytes: Bytes | undefined): boolean {
  if (last === undefined || last.targetBytes !== allocatedBytes) return false;
  return last.ending === 'final' || last.ending === 'infeasible';
}

type Way = KnownSizes & { readonly targetBytes: Bytes };

function towards(view: ExpansionView, pair: Pair, way: Way): ExpansionDecision {
  const { targetBytes } = way;
  const { last, grown, nowMs } = view;
  if (grown?.targetBytes === targetBytes) return afterGrowth(view, pair, { ...way, ...grown });
  if (way.status === 'NodeResizeInfeasible' && last?.ending !== 'node') {
    const remember = nextAttempt(last, { targetBytes, ending: 'node' }, { nowMs, draw: 0 });
    return { kind: 'wait', afterMs: remember.notBeforeMs - nowMs, remember };
  }
  const isSame = last?.targetBytes === targetBytes;
  if (isSame && nowMs < last.notBeforeMs)
    return { kind: 'wait', afterMs: last.notBeforeMs - nowMs };
  if (!isBegun(view, way)) return begin(view, pair, way);
  const volumeId = pair.volume.spec.csi?.volumeHandle ?? '';
  return { kind: 'expand', volumeId, targetBytes };
}

/** Is it written that the driver may have been asked for this size? It must be, before it is. */
function isBegun({ claim, keepsStatus }: ExpansionView, way: Way): boolean {
  if (claim.metadata.annotations?.[nodeNotRequiredAnnotation] !== undefined) return false;
  if (!keepsStatus) return hasCondition(claim.status?.conditions, 'Resizing');
  const isUnderWay = way.status === 'ControllerResizeInProgress';
  return isUnderWay && way.allocatedBytes === way.targetBytes;
}

function begin(view: ExpansionView, { volume }: Pair, way: Way): ExpansionDecision {
  const { claim, nowText, last } = view;
  const hasMark = claim.metadata.annotations?.[nodeNotRequiredAnnotation] !== undefined;
  const set = [{ type: 'Resizing', status: 'True' }];
  // What failed before is said until it works, so that a person can read it meanwhile.
  const isAgain = last?.targetBytes === way.targetBytes;
  const drop = isAgain ? [] : ['ControllerResizeError'];
  const sizes = `from ${showBytes(way.volumeBytes)} to ${showBytes(way.targetBytes)}`;
  const message = `The volume ${volume.metadata.name} grows ${sizes}.`;
  return {
    kind: 'write-claim',
    why: 'begun',
    patch: {
      metadata: {
        resourceVersion: claim.metadata.resourceVersion,
        ...(hasMark ? { annotations: { [nodeNotRequiredAnnotation]: null } } : {}),
      },
      status: {
        allocatedResources: { storage: showQuantity(way.targetBytes) },
        allocatedResourceStatuses: { storage: 'ControllerResizeInProgress' },
        conditions: changeConditions(claim.status?.conditions, { set, drop, nowText }),
      },
    },
    ...(isAgain ? {} : { event: { type: 'Normal', reason: 'Resizing', message } as const }),
  };
}

function afterGrowth(
  view: ExpansionView,
  { volume }: Pair,
  grown: Way & { readonly sizeBytes: Bytes },
): ExpansionDecision {
  const isBlock = volume.spec.volumeMode === 'Block';
  if (grown.volumeBytes < grown.sizeBytes) return raise(view, volume, { ...grown, isBlock });
  return isBlock ? concluded(view, grown) : handOver(view, grown);
}

/** The volume is told first: a claim that was ahead of it would be bound to less than it says. */
function raise(
  { claim }: ExpansionView,
  volume: PersistentVolume,
  { sizeBytes, isBlock }: { readonly sizeBytes: Bytes; readonly isBlock: boolean },
): ExpansionDecision {
  const isNoted = volume.metadata.annotations?.[sizeBeforeAnnotation] !== undefined;
  const before = { [sizeBeforeAnnotation]: claim.status?.capacity?.storage };
  return {
    kind: 'write-volume',
    why: 'raised',
    patch: {
      metadata: {
        resourceVersion: volume.metadata.resourceVersion,
        ...(isBlock || isNoted ? {} : { annotations: before }),
      },
      spec: { capacity: { storage: showQuantity(sizeBytes) } },
    },
  };
}

/** The file system is kubelet's. It grows only what is marked so. */
function handOver({ claim, nowText }: ExpansionView, { targetBytes }: Way): ExpansionDecision {
  const message = 'The file system grows when the volume is mounted in a pod.';
  const set = [{ type: 'FileSystemResizePending', status: 'True', message }];
  const drop = ['ControllerResizeError'];
  return {
    kind: 'write-claim',
    why: 'node-next',
    patch: {
      metadata: { resourceVersion: claim.metadata.resourceVersion },
      status: {
        allocatedResources: { storage: showQuantity(targetBytes) },
        allocatedResourceStatuses: { storage: 'NodeResizePending' },
        conditions: changeConditions(claim.status?.conditions, { set, drop, nowText }),
      },
    },
    event: { type: 'Normal', reason: 'FileSystemResizeRequired', message },
  };
}

/** A raw volume has no file system, so it is as large as it says from now on. */
function concluded(
  { claim, nowText }: ExpansionView,
  { sizeBytes }: { readonly sizeBytes: Bytes },
): ExpansionDecision {
  const drop = ownConditions;
  const message = `The volume has ${showBytes(sizeBytes)}.`;
  return {
    kind: 'write-claim',
    why: 'grown',
    patch: {
      metadata: {
        resourceVersion: claim.metadata.resourceVersion,
        annotations: { [nodeNotRequiredAnnotation]: 'true' },
      },
      status: {
        capacity: { storage: showQuantity(sizeBytes) },
        allocatedResourceStatuses: { storage: null },
        conditions: changeConditions(claim.status?.conditions, { drop, nowText }),
      },
    },
    event: { type: 'Normal', reason: 'VolumeResizeSuccessful', message },
  };
}

/** It failed for good, and nobody asks for it any more. */
function givenUp({ claim, nowText }: ExpansionView): ExpansionDecision {
  const drop = ownConditions;
  return {
    kind: 'write-claim',
    why: 'given-up',
    patch: {
      metadata: { resourceVersion: claim.metadata.resourceVersion },
      status: {
        allocatedResourceStatuses: { storage: null },
        conditions: changeConditions(claim.status?.conditions, { drop, nowText }),
      },
    },
  };
}

/** The size before is for who binds the volume anew while its file system has yet to grow. */
function tidy({ volume }: Pair, sizes: KnownSizes): ExpansionDecision {
  const { annotations, resourceVersion } = volume.metadata;
  const isNoted = annotations?.[sizeBeforeAnnotation] !== undefined;
  if (!isNoted || sizes.capacityBytes < sizes.volumeBytes) return { kind: 'rest' };
  const patch = { metadata: { resourceVersion, annotations: { [sizeBeforeAnnotation]: null } } };
  return { kind: 'write-volume', why: 'tidied', patch };
}
