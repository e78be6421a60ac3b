import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { StorageClass, VolumeAttributesClass } from '../../api/objects/storage.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { Bytes } from '../../base/bytes.ts';
import { type Blocked, blocked, type FailureCode, failures } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { showBytes, showList } from '../../base/show.ts';
import type { Access, SizeRange } from '../volume-size.ts';
import type { ClaimMark } from './logical-volume.ts';
import { attributesRefusal } from './modify.ts';
import type { ClusterNames } from './names.ts';
import { type ClassParameters, readParameters } from './parameters.ts';
import { type FoundSource, modeOf, type Source, sourceFor, wantedSource } from './sources.ts';
import { type NodesView, placeClaim, selectedNode } from './topology.ts';

/** All that is known when it is decided what becomes of a claim. */
export type ClaimView = {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass | undefined;
  /** Of a class that the claim names; undefined when it names none or there is none. */
  readonly attributes: VolumeAttributesClass | undefined;
  /** The PersistentVolume with the name that this claim's would have. */
  readonly volume: PersistentVolume | undefined;
  /** The LogicalVolume of this claim: what was begun, and where. */
  readonly record: LogicalVolume | undefined;
  readonly source: FoundSource;
  readonly nodes: NodesView;
  readonly names: ClusterNames;
};

/** A volume to be made. */
export type VolumeOrder = {
  readonly name: string;
  readonly className: string;
  readonly optionClass: string;
  readonly range: SizeRange;
  readonly uses: readonly Access[];
  readonly source: Exclude<Source, Blocked>;
  /** Whose it is until a PersistentVolume says so. */
  readonly claim: ClaimMark;
};

export type ClaimDecision =
  /** Not ours, not yet, or done. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'populate'; readonly message: string }
  | Blocked
  | { readonly kind: 'reschedule'; readonly because: Blocked }
  | {
      readonly kind: 'create';
      readonly order: VolumeOrder;
      readonly nodes: readonly string[] | undefined;
      readonly storageClass: StorageClass;
      readonly parameters: ClassParameters;
    };

const provisionerKeys = [
  'volume.kubernetes.io/storage-provisioner',
  'volume.beta.kubernetes.io/storage-provisioner',
] as const;
const migratedKey = 'pv.kubernetes.io/migrated-to';

/** A pure function of the claim: whoever asks again asks for the same volume. */
export function volumeNameOf({ metadata }: PersistentVolumeClaim): string {
  return `pvc-${metadata.uid}`;
}

/** The claim that a volume with this name would be for. */
export function claimUidOf(volumeName: string): string | undefined {
  return volumeName.startsWith('pvc-') ? volumeName.slice('pvc-'.length) : undefined;
}

/** Is the claim waiting for a volume of ours, as the cluster's own controllers see it? */
export function isWaiting({ metadata, spec }: PersistentVolumeClaim, driver: string): boolean {
  if ((spec.volumeName ?? '') !== '' || metadata.deletionTimestamp !== undefined) return false;
  const annotations = metadata.annotations ?? {};
  const [key, oldKey] = provisionerKeys;
  return (
    (annotations[key] ?? annotations[oldKey]) === driver || annotations[migratedKey] === driver
  );
}

/** Whether anything is to be done at all: of the stores alone, because most claims are done. */
export function mayBegin(view: Omit<ClaimView, 'source' | 'attributes'>): boolean {
  const { claim, storageClass, names, volume } = view;
  if (!isWaiting(claim, names.driver) || volume !== undefined) return false;
  if (storageClass === undefined) return true;
  if (storageClass.provisioner !== names.driver) return false;
  const waits = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
  return !waits || selectedNode(claim) !== undefined;
}

/** What becomes of a claim. */
export function decideClaim(view: ClaimView): ClaimDecision {
  const { claim, storageClass, names, record } = view;
  if (!mayBegin(view)) return { kind: 'leave' };
  if (storageClass === undefined) return classMissing(claim);
  const wanted = wantedSource(claim);
  if (wanted.kind === 'foreign') {
    const message = `the data source is a ${wanted.what}: its populator makes the volume`;
    return { kind: 'populate', message };
  }
  const refusal = checkClaim(view);
  if (refusal !== undefined) return refusal;
  const parameters = readParameters(storageClass, names);
  if ('kind' in parameters) return parameters;
  const { driver } = names;
  const isUnderWay = record !== undefined;
  const source = sourceFor({ claim, wanted, found: view.source, driver, isUnderWay });
  if (source?.kind === 'blocked') return source;
  const order = orderOf(claim, parameters, source);
  if ('kind' in order) return order;
  // What was begun on a node is finished there, whatever became of the node's labels since.
  if (record !== undefined) {
    return { kind: 'create', order, nodes: [record.spec.nodeName], storageClass, parameters };
  }
  const isCopy = source !== undefined;
  const place = placeClaim({ claim, storageClass, isCopy, names }, view.nodes);
  if (place.kind !== 'nodes') return place;
  return { kind: 'create', order, nodes: place.nodes, storageClass, parameters };
}

/** The annotation is from before claims had the field, and still counts. */
export function classNameOf({ metadata, spec }: PersistentVolumeClaim): string {
  const old = metadata.annotations?.['volume.beta.kubernetes.io/storage-class'];
  return old ?? spec.storageClassName ?? '';
}

function classMissing(claim: PersistentVolumeClaim): Blocked {
  const name = classNameOf(claim);
  const message =
    name === '' ? 'the claim names no StorageClass' : `there is no StorageClass ${name}`;
  return blocked('StorageClassMissing', message);
}

const accessModes = ['ReadWriteOnce', 'ReadWriteOncePod'];

/** What no volume of ours can be. */
function checkClaim({ claim, attributes, names }: ClaimView): Blocked | undefined {
  const { spec } = claim;
  if (spec.selector !== undefined) {
    const message = 'the claim has a selector, and a volume that is made for it has no labels';
    return blocked('ClaimUnsupported', message);
  }
  const others = (spec.accessModes ?? []).filter((mode) => !accessModes.includes(mode));
  if (others.length > 0) {
    return blocked('AccessUnsupported', `the claim asks for ${showList(others)}`);
  }
  const wanted = spec.volumeAttributesClassName ?? '';
  if (wanted === '') return undefined;
  if (attributes !== undefined) return attributesRefusal(attributes, names.driver);
  return blocked('StorageClassMissing', `there is no VolumeAttributesClass ${wanted}`);
}

function orderOf(
  claim: PersistentVolumeClaim,
  { className, optionClass, fsType }: ClassParameters,
  source: VolumeOrder['source'],
): VolumeOrder | Blocked {
  const requiredBytes = requestOf(claim);
  if (typeof requiredBytes !== 'bigint') return requiredBytes;
  const { namespace = '', name, uid } = claim.metadata;
  return {
    name: volumeNameOf(claim),
    ...{ className, optionClass, source, claim: { namespace, name, uid } },
    range: { requiredBytes, limitBytes: 0n },
    uses: [modeOf(claim) === 'Block' ? 'block' : { fsType }],
  };
}

export function requestOf(claim: PersistentVolumeClaim): Bytes | Blocked {
  return parseQuantity(claim.spec.resources?.requests?.storage ?? '0');
}

/** A volume as it was made. */
export type MadeVolume = {
  readonly id: string;
  readonly sizeBytes: Bytes;
  readonly node: string;
  readonly sourceId: string | undefined;
  readonly className: string | undefined;
};

/** Why a volume that was made is not what was ordered. It must not be given to anybody. */
export function checkMade(order: VolumeOrder, made: MadeVolume): Blocked | undefined {
  const { range, source } = order;
  if (made.sizeBytes < range.requiredBytes) {
    const asked = showBytes(range.requiredBytes as Bytes);
    const message = `the volume has ${showBytes(made.sizeBytes)}, and ${asked} were asked for`;
    return blocked('VolumeDiffers', message);
  }
  if (source === undefined || made.sourceId === source.id) return undefined;
  const message = `the volume is no copy of the ${source.kind} ${source.id}`;
  return blocked('VolumeDiffers', message);
}

/** It cannot be granted as it is, however often it is asked for. */
export function isInfeasible(code: FailureCode): boolean {
  return failures[code].grpc === 'INVALID_ARGUMENT';
}

/** Of what comes and goes with our own process, or with the API server, claims are told nothing. */
export function isWorthTelling(code: FailureCode): boolean {
  const ours: readonly FailureCode[] = [
    'Cancelled',
    'ClusterUnavailable',
    'NotLeading',
    'StaleView',
  ];
  return !ours.includes(code);
}

/** Another node may do, and there is a scheduler to choose it. For a copy no other will. */
export function mayMove(code: FailureCode, claim: PersistentVolumeClaim): boolean {
  if (failures[code].grpc !== 'RESOURCE_EXHAUSTED') return false;
  return selectedNode(claim) !== undefined && wantedSource(claim).kind === 'none';
}

/** A claim that waits because asking again would be in vain. */
export type Hold = { readonly classUid: string | undefined; readonly untilMs: number };

export function holdFor(storageClass: StorageClass | undefined, nowMs: number): Hold {
  return { classUid: storageClass?.metadata.uid, untilMs: nowMs + limits.claimHoldMs };
}

/** How long it still waits. A class that was made anew may say something else. */
export function heldMs(
  hold: Hold | undefined,
  storageClass: StorageClass | undefined,
  nowMs: number,
): number {
  if (hold === undefined || hold.classUid !== storageClass?.metadata.uid) return 0;
  return Math.max(0, hold.untilMs - nowMs);
}
