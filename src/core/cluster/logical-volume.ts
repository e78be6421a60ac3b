import type { LogicalVolume, LogicalVolumeSpec } from '../../api/objects/logical-volume.ts';
import { parseQuantity, showQuantity } from '../../api/quantity.ts';
import { type Bytes, noBytes } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { showBytes, showList } from '../../base/show.ts';
import type { VolumeCondition } from '../publication/status.ts';
import type { SizeRange } from '../volume-size.ts';
import { conditionOf } from './health.ts';
import {
  type ClusterNames,
  claimAnnotation,
  clusterNames,
  groupAnnotation,
  unpublishedAnnotation,
} from './names.ts';

/** `volume/ID` or `snapshot/ID`: what it was copied from, also when that is gone. */
export const sourceAnnotation = 'quarry.io/source';

export type VolumeKind = 'volume' | 'snapshot';

/** What a LogicalVolume says of the volume, without the time it was made. */
export type VolumeFacts = {
  readonly id: string;
  readonly kind: VolumeKind;
  readonly name: string | undefined;
  readonly className: string | undefined;
  readonly sourceId: string | undefined;
  readonly sourceKind: VolumeKind;
  readonly groupId: string | undefined;
  readonly sizeBytes: Bytes;
  readonly node: string;
  readonly isReady: boolean;
  readonly condition: VolumeCondition;
};

/** The id of the volume and the name of its LV. TopoLVM writes the UID there, once it is made. */
export function idOf({ metadata, status }: LogicalVolume): string {
  return orNothing(status?.volumeID) ?? metadata.uid;
}

export function isMade({ status }: Pick<LogicalVolume, 'status'>): boolean {
  return orNothing(status?.volumeID) !== undefined;
}

export function isGoing({
  metadata,
}: {
  readonly metadata: { readonly deletionTimestamp?: string };
}): boolean {
  return metadata.deletionTimestamp !== undefined;
}

export function kindOf({ spec }: LogicalVolume): VolumeKind {
  const isCopy = orNothing(spec.source) !== undefined;
  return isCopy && spec.accessType === 'ro' ? 'snapshot' : 'volume';
}

/** What LVM gave. Objects of old versions of TopoLVM do not say: then it is what was asked for. */
export function sizeOf({ spec, status }: LogicalVolume): Bytes {
  return readable(status?.currentSize) ?? readable(spec.size) ?? noBytes;
}

export function askedSizeOf({ spec }: Pick<LogicalVolume, 'spec'>): Bytes {
  return readable(spec.size) ?? noBytes;
}

export function groupOf({ metadata }: LogicalVolume): string | undefined {
  return orNothing(metadata.annotations?.[groupAnnotation]);
}

/** `source`: the LogicalVolume that its source names, while there is one. */
export function volumeFacts(volume: LogicalVolume, source: LogicalVolume | undefined): VolumeFacts {
  const { spec } = volume;
  const from = sourceOf(volume, source);
  return {
    id: idOf(volume),
    kind: kindOf(volume),
    name: spec.name,
    className: spec.deviceClass ?? '',
    sourceId: from?.id,
    sourceKind: from?.kind ?? 'volume',
    groupId: groupOf(volume),
    sizeBytes: sizeOf(volume),
    node: spec.nodeName,
    isReady: isMade(volume) && !isGoing(volume),
    condition: conditionOf(volume),
  };
}

export type SourceId = { readonly kind: VolumeKind; readonly id: string };

/** Our own note outlives the source, and another object of its name is not believed to be it. */
export function sourceOf(
  { metadata, spec }: LogicalVolume,
  named: LogicalVolume | undefined,
): SourceId | undefined {
  const [kind, id = ''] = (metadata.annotations?.[sourceAnnotation] ?? '').split('/');
  if ((kind === 'volume' || kind === 'snapshot') && id !== '') return { kind, id };
  if (orNothing(spec.source) === undefined || named === undefined) return undefined;
  return { kind: kindOf(named), id: idOf(named) };
}

/** What became of an object that somebody waits for. */
export type Progress =
  | { readonly kind: 'waiting' }
  | { readonly kind: 'made'; readonly volume: LogicalVolume }
  /** By the node that was to make it: no LV of it is there, and none will be. */
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }
  | { readonly kind: 'gone' };

export function makingProgress(volume: LogicalVolume | undefined, uid: string): Progress {
  if (volume === undefined || volume.metadata.uid !== uid || isGoing(volume)) {
    return { kind: 'gone' };
  }
  if (isMade(volume)) return { kind: 'made', volume };
  return failureIn(volume) ?? { kind: 'waiting' };
}

/** Only a code that came after the request counts: what was there before was taken away first. */
export function growingProgress(
  volume: LogicalVolume | undefined,
  uid: string,
  asked: Bytes,
): Progress {
  if (volume === undefined || volume.metadata.uid !== uid || isGoing(volume)) {
    return { kind: 'gone' };
  }
  const current = readable(volume.status?.currentSize);
  if (current !== undefined && current >= asked) return { kind: 'made', volume };
  return failureIn(volume) ?? { kind: 'waiting' };
}

export function failureIn({ status }: Pick<LogicalVolume, 'status'>) {
  const { code = 0, message = '' } = status ?? {};
  return code === 0 ? undefined : ({ kind: 'refused', code, message } as const);
}

export type WantedVolume = {
  readonly name: string;
  readonly className: string;
  readonly optionClass: string;
  readonly sizeBytes: Bytes;
  readonly range: SizeRange;
  readonly source: SourceId | undefined;
};

/** A repeated request is the same request, or there is a volume of that name in its way. */
export function volumeDiffers(
  existing: LogicalVolume,
  named: LogicalVolume | undefined,
  wanted: WantedVolume,
): Blocked | undefined {
  const { spec } = existing;
  const { requiredBytes, limitBytes } = wanted.range;
  const size = sizeOf(existing);
  const fits = size >= requiredBytes && (limitBytes === 0n || size <= limitBytes);
  const from = sourceOf(existing, named);
  const differences = [
    ...(kindOf(existing) === 'volume' ? [] : ['as a snapshot']),
    ...((spec.deviceClass ?? '') === wanted.className ? [] : [`in class ${spec.deviceClass}`]),
    ...((spec.lvcreateOptionClass ?? '') === wanted.optionClass
      ? []
      : [`with the option class ${spec.lvcreateOptionClass ?? ''}`]),
    ...(isSameSource(from, wanted.source) ? [] : [`made from ${from?.id ?? spec.source ?? '-'}`]),
    ...(fits || askedSizeOf(existing) === wanted.sizeBytes ? [] : [`of ${size} bytes`]),
  ];
  if (differences.length === 0) return undefined;
  return blocked('VolumeDiffers', `the volume ${wanted.name} exists, ${showList(differences)}`);
}

export function snapshotDiffers(
  existing: LogicalVolume,
  named: LogicalVolume | undefined,
  wanted: { readonly name: string; readonly sourceId: string },
): Blocked | undefined {
  const from = sourceOf(existing, named);
  if (kindOf(existing) === 'snapshot' && from?.id === wanted.sourceId) return undefined;
  const is = kindOf(existing) === 'volume' ? 'is a volume' : `is of ${from?.id ?? 'nothing'}`;
  const message = `the snapshot ${wanted.name} exists and ${is}, not of ${wanted.sourceId}`;
  return blocked('VolumeDiffers', message);
}

/** May a volume begin as a copy of this one? Where it lies is where the copy will be. */
export function sourceRefusal(
  source: LogicalVolume,
  wanted: WantedVolume,
  nodes: readonly string[] | undefined,
): Blocked | undefined {
  const { spec, metadata } = source;
  const size = leastOf(source);
  if (!isMade(source)) {
    return blocked('SourceNotReady', `${metadata.name} is not made yet, and nothing can be copied`);
  }
  if (wanted.sizeBytes < size) {
    const message = `${showBytes(wanted.sizeBytes)} were asked for, and ${metadata.name} has`;
    return blocked('SourceLarger', `${message} ${showBytes(size)}`);
  }
  if ((spec.deviceClass ?? '') !== wanted.className) {
    const is = classText(spec.deviceClass);
    const asked = classText(wanted.className);
    const message = `${metadata.name} is in ${is}, and ${asked} was asked for`;
    return blocked('SourceElsewhere', message);
  }
  if (nodes === undefined || nodes.includes(spec.nodeName)) return undefined;
  const message = `${metadata.name} is on ${spec.nodeName}, and ${showList(nodes)} was asked for`;
  return blocked('SourceOnOtherNode', message);
}

/**
 * A copy asked for with the very words of its source is given the same by LVM, which rounds both
 * up. A snapshot's own size is what claims are told.
 */
function leastOf(source: LogicalVolume): Bytes {
  const [given, asked] = [sizeOf(source), askedSizeOf(source)];
  return kindOf(source) === 'volume' && asked < given ? asked : given;
}

function classText(name: string | undefined): string {
  return name === undefined || name === '' ? 'the default class' : `the class ${name}`;
}

/** Whose volume it is, while no PersistentVolume says so. */
export type ClaimMark = {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
};

/** A LogicalVolume as it is made: everything that must never be missing is in the first write. */
export function newLogicalVolume(
  names: ClusterNames,
  wanted: {
    readonly objectName: string;
    readonly spec: LogicalVolumeSpec;
    readonly source?: SourceId | undefined;
    readonly claim?: ClaimMark | undefined;
    readonly annotations?: Readonly<Record<string, string>>;
  },
) {
  const { objectName, spec, source, claim } = wanted;
  const { createdByLabel, createdBy, volumeFinalizer } = clusterNames(names);
  return {
    metadata: {
      name: objectName,
      labels: { [createdByLabel]: createdBy, ...nodeLabelOf(names, spec.nodeName) },
      annotations: {
        ...wanted.annotations,
        ...(source === undefined ? {} : { [sourceAnnotation]: `${source.kind}/${source.id}` }),
        ...(claim === undefined
          ? {}
          : {
              [claimAnnotation]: `${claim.namespace}/${claim.name}`,
              [unpublishedAnnotation]: claim.uid,
            }),
      },
      finalizers: [volumeFinalizer],
    },
    spec,
  };
}

/** A longer name fits no label: the agent of such a node watches by the field only. */
export function nodeLabelOf(names: ClusterNames, node: string): Readonly<Record<string, string>> {
  return node.length > 63 ? {} : { [clusterNames(names).nodeLabel]: node };
}

export function volumeSpec(
  name: string,
  node: string,
  wanted: Pick<WantedVolume, 'className' | 'optionClass' | 'sizeBytes'> & {
    readonly source?: string | undefined;
    readonly accessType?: 'ro' | 'rw';
  },
): LogicalVolumeSpec {
  const { className, optionClass, sizeBytes, source, accessType } = wanted;
  return {
    ...{ name, nodeName: node, size: showQuantity(sizeBytes) },
    ...(className === '' ? {} : { deviceClass: className }),
    ...(optionClass === '' ? {} : { lvcreateOptionClass: optionClass }),
    ...(source === undefined ? {} : { source, accessType: accessType ?? 'rw' }),
  };
}

/** Who is still being copied from it, if anybody is. */
export function readerOf(
  volume: LogicalVolume,
  all: Iterable<LogicalVolume>,
): LogicalVolume | undefined {
  for (const one of all) {
    if (one.spec.source !== volume.metadata.name || isMade(one) || isGoing(one)) continue;
    if (failureIn(one) === undefined) return one;
  }
  return undefined;
}

function isSameSource(a: SourceId | undefined, b: SourceId | undefined): boolean {
  return a?.id === b?.id && a?.kind === b?.kind;
}

function readable(text: string | undefined): Bytes | undefined {
  if (text === undefined) return undefined;
  const size = parseQuantity(text);
  return typeof size === 'bigint' ? size : undefined;
}

function orNothing(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
