import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { VolumeAttributesClass } from '../../api/objects/storage.ts';
import { type Blocked, blocked, failures } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { showList } from '../../base/show.ts';
import { type ClaimEvent, changeConditions, saysAlready } from './conditions.ts';
import { isClaimOf } from './health.ts';

/** Conditions of a claim that say how far a change of its attributes is. */
const ownConditions = ['ModifyingVolume', 'ModifyVolumeError'];

/**
 * A class with parameters would have us change a volume, and there is nothing that we could change.
 * One without is only a name, which a claim may bear.
 */
export function attributesRefusal(
  attributes: VolumeAttributesClass,
  driver: string,
): Blocked | undefined {
  const { metadata, driverName, parameters = {} } = attributes;
  const name = `the VolumeAttributesClass ${metadata.name}`;
  if (driverName !== driver) {
    const message = `${name} is of the driver ${driverName}, and the volume of ${driver}`;
    return blocked('AttributesUnsupported', message);
  }
  const keys = Object.keys(parameters).toSorted();
  if (keys.length === 0) return undefined;
  const what = `${keys.length === 1 ? 'the parameter' : 'the parameters'} ${showList(keys)}`;
  return blocked('AttributesUnsupported', `${name} has ${what}, and ${driver} can change none`);
}

export type ModifyView = {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
  readonly driver: string;
  readonly nowText: string;
};

/** The class of the name that was asked for, if there is one. */
export type KnownClass = {
  readonly name: string;
  readonly found: VolumeAttributesClass | undefined;
};

export type ModifyDecision =
  /** With `afterMs` somebody may change something that we are not told of. */
  | { readonly kind: 'rest'; readonly afterMs?: number }
  /** The class must be known before anything is decided. */
  | { readonly kind: 'ask'; readonly className: string }
  | { readonly kind: 'write-volume'; readonly patch: object }
  | { readonly kind: 'write-claim'; readonly patch: object; readonly event?: ClaimEvent };

/** What is to be done next so that a claim has the class it names, or knows why it has not. */
export function decideModify(view: ModifyView, known?: KnownClass): ModifyDecision {
  const { claim, volume, driver } = view;
  const isBound = claim.status?.phase === 'Bound' && claim.metadata.deletionTimestamp === undefined;
  if (!isBound || volume?.spec.csi?.driver !== driver) return { kind: 'rest' };
  if (!isClaimOf(claim, volume)) return { kind: 'rest' };
  const current = claim.status?.currentVolumeAttributesClassName ?? '';
  const target = targetOf(claim);
  if (target === '' || target === current) return takenBack(view);
  if (known?.name !== target) return { kind: 'ask', className: target };
  if (known.found === undefined) return missing(view, target);
  const refusal = attributesRefusal(known.found, driver);
  if (refusal !== undefined) return refused(view, target, refusal);
  if (volume.spec.volumeAttributesClassName !== target) {
    const { resourceVersion } = volume.metadata;
    const spec = { volumeAttributesClassName: target };
    return { kind: 'write-volume', patch: { metadata: { resourceVersion }, spec } };
  }
  return accepted(view, target);
}

/** What somebody began is brought to an end before the next begins. */
function targetOf({ spec, status }: PersistentVolumeClaim): string {
  const { status: state, targetVolumeAttributesClassName } = status?.modifyVolumeStatus ?? {};
  const begun = state === 'InProgress' ? targetVolumeAttributesClassName : undefined;
  return begun ?? spec.volumeAttributesClassName ?? '';
}

function takenBack(view: ModifyView): ModifyDecision {
  const { modifyVolumeStatus, conditions = [] } = view.claim.status ?? {};
  const isMarked = conditions.some(({ type }) => ownConditions.includes(type));
  if (modifyVolumeStatus === undefined && !isMarked) return { kind: 'rest' };
  return {
    kind: 'write-claim',
    patch: patchOf(view, { modifyVolumeStatus: null }),
    event: {
      ...{ type: 'Normal', reason: 'VolumeModifyCancelled' },
      message: 'The claim has the attributes that it had, and asks for no others.',
    },
  };
}

function missing(view: ModifyView, target: string): ModifyDecision {
  const remedy = 'Create it, or name another one';
  const message = `There is no VolumeAttributesClass ${target}. Remedy: ${remedy}.`;
  return failed(view, { target, state: 'Pending', message, afterMs: limits.attributesClassLookMs });
}

function refused(view: ModifyView, target: string, { code, message }: Blocked): ModifyDecision {
  const text = `${code}: ${message}. Remedy: ${failures[code].hint}`;
  const afterMs = limits.infeasibleRetryMs;
  return failed(view, { target, state: 'Infeasible', message: text, afterMs });
}

function failed(
  view: ModifyView,
  why: {
    readonly target: string;
    readonly state: 'Pending' | 'Infeasible';
    readonly message: string;
    readonly afterMs: number;
  },
): ModifyDecision {
  const { modifyVolumeStatus: before, conditions } = view.claim.status ?? {};
  const condition = { type: 'ModifyVolumeError', status: 'True', message: why.message };
  const isMarked =
    before?.status === why.state && before.targetVolumeAttributesClassName === why.target;
  if (isMarked && saysAlready(conditions, condition)) return { kind: 'rest', afterMs: why.afterMs };
  const { nowText, claim } = view;
  const drop = ['ModifyingVolume'];
  return {
    kind: 'write-claim',
    patch: {
      metadata: { resourceVersion: claim.metadata.resourceVersion },
      status: {
        modifyVolumeStatus: { targetVolumeAttributesClassName: why.target, status: why.state },
        conditions: changeConditions(conditions, { set: [condition], drop, nowText }),
      },
    },
    event: { type: 'Warning', reason: 'VolumeModifyFailed', message: why.message },
  };
}

/** The volume bears the name already: a claim that was ahead of it could lose it again. */
function accepted(view: ModifyView, target: string): ModifyDecision {
  const message = `The volume has the VolumeAttributesClass ${target}.`;
  return {
    kind: 'write-claim',
    patch: patchOf(view, {
      currentVolumeAttributesClassName: target,
      modifyVolumeStatus: null,
    }),
    event: { type: 'Normal', reason: 'VolumeModifySuccessful', message },
  };
}

function patchOf({ claim, nowText }: ModifyView, status: object): object {
  const drop = ownConditions;
  const conditions = changeConditions(claim.status?.conditions, { drop, nowText });
  const { resourceVersion } = claim.metadata;
  return { metadata: { resourceVersion }, status: { ...status, conditions } };
}
