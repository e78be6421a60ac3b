import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { Bytes } from '../../base/bytes.ts';
import { type Blocked, type FailureCode, failures } from '../../base/failures.ts';
import { isAccountedFor, type Recorded, type SeenIn } from '../catalog.ts';
import { type DeviceClass, findDeviceClass } from '../device-class.ts';
import { copySourceName } from '../names.ts';
import { findLv, type ObservedHost } from '../observed.ts';
import { volumeCondition } from '../publication/condition.ts';
import type { VolumeCondition } from '../publication/status.ts';
import { readTag } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { groupIn } from './agent-group.ts';
import { conditionWrite } from './health.ts';
import { sourceOf } from './logical-volume.ts';
import { type ClusterNames, clusterNames } from './names.ts';

/** A LogicalVolume of this node, and what is known of the rest of the world. */
export type AgentView = {
  readonly names: ClusterNames;
  readonly node: string;
  readonly object: LogicalVolume;
  /** The object that `spec.source` names, if there is one. */
  readonly source: LogicalVolume | undefined;
  /** Objects of this node that are in the same group snapshot, this one among them. */
  readonly members: readonly AgentMember[];
  readonly classes: readonly DeviceClass[];
  readonly host: ObservedHost;
  /** Where it was when it was to go, if we have seen it then. */
  readonly seenIn: SeenIn | undefined;
  /** The request to grow that was refused for good, in this life of the process. */
  readonly refusedRequest: string | undefined;
  /** Why nothing new is done: the operator may mean something else by what it writes. */
  readonly skew: Blocked | undefined;
};

export type AgentMember = {
  readonly object: LogicalVolume;
  readonly source: LogicalVolume | undefined;
};

/** What is to be done for an object now. After that it is looked at again. */
export type AgentDecision =
  | { readonly kind: 'rest'; readonly why: string }
  /** Something else must change first, and a watch tells when it did. */
  | { readonly kind: 'wait'; readonly why: string }
  /** Finalizer and labels, as the controller should have set them. */
  | {
      readonly kind: 'mark';
      readonly finalizers: readonly string[];
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'create'; readonly volume: WantedVolume }
  | { readonly kind: 'snapshot'; readonly snapshot: WantedSnapshot }
  | { readonly kind: 'group'; readonly group: WantedGroup }
  | {
      readonly kind: 'expand';
      readonly id: string;
      readonly sizeBytes: Bytes;
      readonly request: string;
    }
  /** The size was never told. */
  | { readonly kind: 'fill'; readonly sizeBytes: Bytes }
  | {
      readonly kind: 'remove';
      readonly id: string;
      readonly volume: Recorded['kind'];
      /** What is left of the finalizers then. */
      readonly finalizers: readonly string[];
    }
  /** The annotation that says what is wrong with it; null takes it off. */
  | { readonly kind: 'condition'; readonly value: string | null }
  /** It cannot be made, and never will: told as its status once nothing of it is on the disks. */
  | { readonly kind: 'fail'; readonly code: FailureCode; readonly message: string }
  /** Only a person can say what is right. */
  | { readonly kind: 'refuse'; readonly code: FailureCode; readonly message: string };

export type WantedVolume = {
  readonly id: string;
  readonly name: string;
  readonly className: string;
  readonly optionClass: string;
  readonly sizeBytes: Bytes;
  readonly source: { readonly kind: Recorded['kind']; readonly id: string } | undefined;
};

export type WantedSnapshot = {
  readonly id: string;
  readonly name: string;
  readonly sourceId: string;
};

export type WantedGroup = {
  readonly id: string;
  readonly name: string;
  /** Ids of the snapshots by the ids of their sources. */
  readonly members: ReadonlyMap<string, string>;
};

export function decideLogicalVolume(view: AgentView): AgentDecision {
  const decision = decideInWords(view);
  if (view.skew === undefined || !isNewWork(decision)) return decision;
  return { ...view.skew, kind: 'refuse' };
}

/** Also to call something impossible is an answer to words that may mean something else. */
function isNewWork({ kind }: AgentDecision): boolean {
  switch (kind) {
    case 'create':
    case 'snapshot':
    case 'group':
    case 'expand':
    case 'remove':
    case 'fail':
      return true;
    case 'rest':
    case 'wait':
    case 'mark':
    case 'fill':
    case 'condition':
    case 'refuse':
      return false;
  }
}

function decideInWords(view: AgentView): AgentDecision {
  const { names, node, object } = view;
  const { metadata, spec, status } = object;
  const { pendingDeletionAnnotation, volumeFinalizer } = clusterNames(names);
  if (spec.nodeName !== node) return { kind: 'rest', why: `it belongs to ${spec.nodeName}` };
  if (metadata.annotations?.[pendingDeletionAnnotation] === 'true') {
    return { kind: 'rest', why: 'its node is being deleted' };
  }
  const isMarked = (metadata.finalizers ?? []).includes(volumeFinalizer);
  if (metadata.deletionTimestamp !== undefined) {
    return isMarked ? decideRemoval(view) : { kind: 'rest', why: 'somebody let it go' };
  }
  const marks = missingMarks(view);
  if (marks !== undefined) return marks;
  const { volumeID = '', code = 0 } = status ?? {};
  if (volumeID === '' && code !== 0) return { kind: 'rest', why: 'it failed for good' };
  return volumeID === '' ? decideCreation(view) : decideSize(view, volumeID);
}

/** The kind of volume that an object stands for, for those that carry no tags of ours. */
export function recordedAs(
  object: LogicalVolume,
  idOf: (name: string) => string | undefined,
): Recorded {
  const { name, deviceClass, source } = object.spec;
  return {
    kind: isSnapshot(object) ? 'snapshot' : 'volume',
    name,
    className: deviceClass === '' ? undefined : deviceClass,
    sourceId: source === undefined || source === '' ? undefined : idOf(source),
  };
}

function isSnapshot({ spec }: LogicalVolume): boolean {
  return hasSource(spec.source) && spec.accessType === 'ro';
}

function hasSource(source: string | undefined): source is string {
  return source !== undefined && source !== '';
}

/** What an older controller left out: without the finalizer an object could go before its LV. */
function missingMarks({ names, node, object }: AgentView): AgentDecision | undefined {
  const { volumeFinalizer, nodeLabel, createdByLabel, createdBy } = clusterNames(names);
  const { finalizers = [], labels = {} } = object.metadata;
  // A longer name fits no label: such a node is watched by its field only.
  const own = { [createdByLabel]: createdBy, ...(isLabel(node) ? { [nodeLabel]: node } : {}) };
  const missing = Object.entries(own).filter(([key]) => labels[key] === undefined);
  const isMarked = finalizers.includes(volumeFinalizer);
  if (isMarked && missing.length === 0) return undefined;
  return {
    kind: 'mark',
    finalizers: isMarked ? finalizers : [...finalizers, volumeFinalizer],
    labels: Object.fromEntries(missing),
  };
}

function isLabel(value: string): boolean {
  return value.length <= 63;
}

/**
 * The LV goes first. "Gone" must be seen: where the class is unknown nobody knows which group to
 * look into, and a disk that comes back would bring a volume that nobody remembers. Unless it is
 * noted: a class that was kept for its volumes goes with the last one, before that is told.
 */
function decideRemoval({ names, object, classes, host, seenIn }: AgentView): AgentDecision {
  const { metadata, spec, status } = object;
  const { volumeFinalizer } = clusterNames(names);
  const id = metadata.uid;
  const other = otherVolume(object);
  if (other !== undefined) return other;
  const hasFailed = (status?.code ?? 0) !== 0 && (status?.volumeID ?? '') === '';
  const deviceClass = findDeviceClass(classes, spec.deviceClass ?? '');
  const isNowhere = groupsWith(host, id).length === 0 && !isAccountedFor(seenIn, host);
  if (isBlocked(deviceClass) && !hasFailed && isNowhere) {
    const message =
      `${spec.name} cannot be called gone: ${deviceClass.message}; put its class back, or take ` +
      `the finalizer ${volumeFinalizer} off by hand if the volume is surely gone`;
    return { ...deviceClass, kind: 'refuse', message };
  }
  const finalizers = (metadata.finalizers ?? []).filter((name) => name !== volumeFinalizer);
  return { kind: 'remove', id, volume: isSnapshot(object) ? 'snapshot' : 'volume', finalizers };
}

/** The UID is the id of the volume. A status that says another was copied from somewhere. */
function otherVolume({ metadata, spec, status }: LogicalVolume): AgentDecision | undefined {
  const { volumeID = '' } = status ?? {};
  if (volumeID === '' || volumeID === metadata.uid) return undefined;
  const message = `${spec.name} is ${metadata.uid}, and its status.volumeID is ${volumeID}`;
  return { kind: 'refuse', code: 'VolumeDiffers', message };
}

function decideCreation(view: AgentView): AgentDecision {
  const { object, source } = view;
  const { metadata, spec } = object;
  const sizeBytes = parseQuantity(spec.size);
  if (typeof sizeBytes !== 'bigint') return failed(sizeBytes);
  const id = metadata.uid;
  const { name, deviceClass: className = '', lvcreateOptionClass: optionClass = '' } = spec;
  const volume = { id, name, className, optionClass, sizeBytes };
  const unserved = elsewhere(view);
  if (unserved !== undefined) return unserved;
  if (!hasSource(spec.source)) return { kind: 'create', volume: { ...volume, source: undefined } };
  const from = sourceFor({ object, source }, view.host);
  if (from.kind !== 'from') return from;
  const group = groupIn(object);
  if (group !== undefined) return isBlocked(group) ? failed(group) : decideGroup(view, group);
  const sourceId = from.source.id;
  if (isSnapshot(object)) return { kind: 'snapshot', snapshot: { id, name, sourceId } };
  return { kind: 'create', volume: { ...volume, source: from.source } };
}

/** Begun before its class was given another group: a second one would hide the first for ever. */
function elsewhere({ object, host, classes }: AgentView): AgentDecision | undefined {
  const { uid } = object.metadata;
  const isServed = (name: string) => classes.some(({ vg }) => vg === name);
  const group = groupsWith(host, uid).find((name) => !isServed(name));
  if (group === undefined) return undefined;
  const message =
    `${object.spec.name} is there as ${group}/${uid}, in a volume group that no device class ` +
    'names; name the group in a class, or remove that volume by hand if it is surely not wanted';
  return { kind: 'refuse', code: 'VolumeGroupNotServed', message };
}

type From = {
  readonly kind: 'from';
  readonly source: { readonly kind: Recorded['kind']; readonly id: string };
};

/** What is on the disks already says what it was made from, whatever became of its source since. */
function sourceFor(member: AgentMember, host: ObservedHost): From | AgentDecision {
  const { object, source } = member;
  const begun = host.vgs
    .map((vg) => findLv(vg, object.metadata.uid))
    .find((lv) => lv !== undefined);
  const noted = begun === undefined ? undefined : (readTag(begun.tags, 'source') ?? begun.origin);
  if (begun !== undefined && noted !== undefined) {
    const kind = readTag(begun.tags, 'from') === 'snapshot' ? 'snapshot' : 'volume';
    return { kind: 'from', source: { kind, id: noted } };
  }
  const trouble = sourceTrouble(member);
  if (trouble !== undefined) return trouble;
  if (source === undefined) return missingSource(object);
  const kind = isSnapshot(source) ? 'snapshot' : 'volume';
  return { kind: 'from', source: { kind, id: source.metadata.uid } };
}

function missingSource({ spec }: LogicalVolume): AgentDecision {
  const { name, source, nodeName } = spec;
  const message = `${name} is to be made from ${source}, which is not on ${nodeName}`;
  return { kind: 'fail', code: 'SourceNotFound', message };
}

/** The controller wrote down which volume was meant. A name may mean another one by now. */
function isOtherSource(object: LogicalVolume, { metadata }: LogicalVolume): boolean {
  const meant = sourceOf(object, undefined);
  return meant !== undefined && meant.id !== metadata.uid;
}

/** Why nothing can be made from its source, or not yet. */
function sourceTrouble({ object, source }: AgentMember): AgentDecision | undefined {
  const { spec } = object;
  if (spec.accessType !== 'ro' && spec.accessType !== 'rw') {
    const message = `spec.accessType of ${spec.name} is ${spec.accessType ?? 'not set'}: ro or rw`;
    return { kind: 'fail', code: 'InvalidRequest', message };
  }
  if (source === undefined || isOtherSource(object, source)) return missingSource(object);
  if ((source.status?.volumeID ?? '') !== '') return undefined;
  if ((source.status?.code ?? 0) === 0) {
    return { kind: 'wait', why: `${spec.source} is not made yet` };
  }
  const message = `${spec.source}, which ${spec.name} is to be made from, could not be made`;
  return { kind: 'fail', code: 'SourceNotFound', message };
}

/** All snapshots of a group are taken at one moment: when the last of its objects is here. */
function decideGroup(
  { members, host }: AgentView,
  group: { readonly id: string; readonly size: number; readonly name: string },
): AgentDecision {
  const failed = members.find(({ object }) => (object.status?.code ?? 0) !== 0);
  if (failed !== undefined) {
    const message = `${failed.object.spec.name} of the group ${group.name} could not be taken`;
    return { kind: 'fail', code: 'GroupSnapshotFailed', message };
  }
  const present = members.filter(({ object }) => object.metadata.deletionTimestamp === undefined);
  if (present.length < group.size) {
    const why = `${present.length} of ${group.size} members of the group ${group.name} are here`;
    return { kind: 'wait', why };
  }
  const ids = new Map<string, string>();
  for (const member of present) {
    const from = sourceFor(member, host);
    if (from.kind !== 'from') return from;
    ids.set(from.source.id, member.object.metadata.uid);
  }
  return { kind: 'group', group: { id: group.id, name: group.name, members: ids } };
}

/** Objects of old versions have no currentSize: what was asked for counts, and is seen to. */
function decideSize(view: AgentView, volumeID: string): AgentDecision {
  const { object, host, refusedRequest } = view;
  const other = otherVolume(object);
  if (other !== undefined) return other;
  const wanted = parseQuantity(object.spec.size);
  if (typeof wanted !== 'bigint') return { ...wanted, kind: 'refuse' };
  const { currentSize = '' } = object.status ?? {};
  const current = currentSize === '' ? undefined : parseQuantity(currentSize);
  const isEnough = typeof current === 'bigint' && wanted <= current;
  if (isEnough) return decideCondition(object, host);
  const request = requestOf(view);
  if (request === refusedRequest) return { kind: 'rest', why: 'it was refused to grow' };
  if (isSnapshot(object)) return decideSnapshotSize(object, host);
  return { kind: 'expand', id: volumeID, sizeBytes: wanted, request };
}

/** What is wrong with the LV stands beside its status, for whoever tells the claim's owner. */
function decideCondition(object: LogicalVolume, host: ObservedHost): AgentDecision {
  const write = conditionWrite(object, conditionOn(object, host));
  if (write.kind === 'keep') return { kind: 'rest', why: 'it is as it should be' };
  return { kind: 'condition', value: write.value };
}

function conditionOn({ metadata }: LogicalVolume, host: ObservedHost): VolumeCondition {
  const id = metadata.uid;
  const vg = host.vgs.find((group) => findLv(group, id) !== undefined);
  const lv = vg === undefined ? undefined : findLv(vg, id);
  if (vg !== undefined && lv !== undefined) return volumeCondition(lv, vg);
  return { isAbnormal: true, message: `no volume group of this node has the volume ${id}` };
}

/** A snapshot never grows: its size is told once. */
function decideSnapshotSize({ metadata, spec, status }: LogicalVolume, host: ObservedHost) {
  const lv = host.vgs.flatMap(({ lvs }) => lvs).find(({ name }) => name === metadata.uid);
  const isTold = (status?.currentSize ?? '') !== '';
  if (isTold || lv === undefined)
    return { kind: 'rest', why: `${spec.name} is a snapshot` } as const;
  return { kind: 'fill', sizeBytes: lv.sizeBytes } as const;
}

/** A repeated request to grow has another time: what was refused before is tried again. */
function requestOf({ names, object }: AgentView): string {
  const { resizeRequestedAnnotation } = clusterNames(names);
  return `${object.spec.size} ${object.metadata.annotations?.[resizeRequestedAnnotation] ?? ''}`;
}

function failed({ code, message }: Blocked): AgentDecision {
  return { kind: 'fail', code, message };
}

export type Failure = { readonly code: FailureCode; readonly message: string };

export type Verdict =
  | { readonly kind: 'final'; readonly code: FailureCode; readonly message: string }
  | { readonly kind: 'again' };

/**
 * May a failure to make a volume be told? Whoever hears of it looks for another node, so nothing
 * of the volume may be on this one, nor appear later. `host` was looked at after the failure, and
 * `away` are groups that are not on it.
 */
export function verdictOnCreation(
  { code, message }: Failure,
  id: string,
  host: ObservedHost,
  away: readonly string[],
): Verdict {
  const isThere =
    groupsWith(host, id).length > 0 || groupsWith(host, copySourceName(id)).length > 0;
  if (!isFinal(code) || isThere || away.length > 0) return { kind: 'again' };
  return { kind: 'final', code, message };
}

/** Growing that failed is told only where it will not come about by itself. */
export function verdictOnGrowth({ code, message }: Failure): Verdict {
  return isFinal(code) ? { kind: 'final', code, message } : { kind: 'again' };
}

/** Statuses that make callers ask again with the same request are no answer to keep. */
function isFinal(code: FailureCode): boolean {
  const { grpc, retry } = failures[code];
  return retry !== 'backoff' && !unsettled.has(grpc);
}

const unsettled: ReadonlySet<string> = new Set(['UNAVAILABLE', 'ABORTED', 'CANCELLED']);

function groupsWith(host: ObservedHost, name: string): readonly string[] {
  return host.vgs.filter((vg) => findLv(vg, name) !== undefined).map((vg) => vg.name);
}
