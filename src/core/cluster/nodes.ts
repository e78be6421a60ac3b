import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { Node } from '../../api/objects/storage.ts';
import { showList } from '../../base/show.ts';
import { type ClusterNames, clusterNames } from './names.ts';

/**
 * An administrator's word that data may go: `volumes` on a Node that is being deleted, `true` on a
 * LogicalVolume whose Node is gone. Claims are never deleted: that needs no help of ours.
 */
export const discardAnnotation = 'quarry.io/discard';

export type NodeDecision =
  | { readonly kind: 'leave' }
  /** Nobody waits for us. What is on the node is kept: its objects stay, and so do its disks. */
  | { readonly kind: 'release'; readonly message: string | undefined }
  | { readonly kind: 'discard'; readonly volumes: readonly LogicalVolume[] };

/** How many names stand in a message. */
const namesMax = 5;

/** A Node that is being deleted. TopoLVM would delete claims and volumes; we ask first. */
export function decideNode(
  node: Node,
  volumes: readonly LogicalVolume[],
  names: ClusterNames,
): NodeDecision {
  const { metadata } = node;
  const { nodeFinalizer } = clusterNames(names);
  const isHeld = metadata.finalizers?.includes(nodeFinalizer) === true;
  if (metadata.deletionTimestamp === undefined || !isHeld) return { kind: 'leave' };
  const word = metadata.annotations?.[discardAnnotation];
  if (word === 'volumes' && volumes.length > 0) return { kind: 'discard', volumes };
  if (volumes.length === 0) return { kind: 'release', message: undefined };
  const some = volumes.slice(0, namesMax).map((volume) => volume.metadata.name);
  const more = volumes.length > namesMax ? [`${volumes.length - namesMax} more`] : [];
  const message =
    `${volumes.length} volumes stay behind and are kept: ${showList([...some, ...more])}. ` +
    'Remedy: bring the node back under its name; to give one of them up, annotate its ' +
    `LogicalVolume with ${discardAnnotation}=true.`;
  return { kind: 'release', message };
}

export type StrandedDecision =
  | { readonly kind: 'leave' }
  /** The object goes, and nobody asks the node: it is gone. */
  | { readonly kind: 'discard' }
  | { readonly kind: 'tell'; readonly message: string };

/** A LogicalVolume and its Node. Being away is not being gone, and gone is not given up. */
export function decideStranded(
  volume: LogicalVolume,
  node: Node | undefined,
  names: ClusterNames,
): StrandedDecision {
  const { metadata, spec } = volume;
  const { volumeFinalizer, pendingDeletionAnnotation } = clusterNames(names);
  const isGivenUp = metadata.annotations?.[discardAnnotation] === 'true';
  // Cut off while it was given up: agents leave it alone, so nobody else would end it.
  const isBegun =
    metadata.deletionTimestamp !== undefined &&
    metadata.annotations?.[pendingDeletionAnnotation] === 'true';
  if (isGivenUp && (node === undefined || isBegun)) return { kind: 'discard' };
  if (node !== undefined) return { kind: 'leave' };
  const isStuck =
    metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(volumeFinalizer);
  if (isStuck !== true) return { kind: 'leave' };
  const message =
    `it is deleted, and the node ${spec.nodeName} that has its data is not in the cluster. ` +
    'Remedy: bring the node back, and it goes by itself; to give the data up, annotate the ' +
    `LogicalVolume with ${discardAnnotation}=true.`;
  return { kind: 'tell', message };
}

/** Finalizers of versions of TopoLVM that nobody has run for years: they hold claims up for ever. */
export const deadClaimFinalizers = ['topolvm.io/pvc', 'topolvm.cybozu.com/pvc'] as const;
