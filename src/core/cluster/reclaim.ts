import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { migratedToAnnotation, provisionedByAnnotation, volumeGuard } from './persistent-volume.ts';

export type ReclaimDecision =
  | { readonly kind: 'leave' }
  /** From now on its volume goes first. */
  | { readonly kind: 'guard' }
  /** It is kept for an administrator, and so is its volume. */
  | { readonly kind: 'release' }
  | { readonly kind: 'remove'; readonly handle: string }
  | Blocked;

/** What becomes of a PersistentVolume. `others` are all that there are. */
export function decideVolume(
  volume: PersistentVolume,
  others: Iterable<PersistentVolume>,
  driver: string,
): ReclaimDecision {
  const handle = volume.spec.csi?.volumeHandle;
  if (!isOurs(volume, driver) || handle === undefined) return { kind: 'leave' };
  const { deletionTimestamp, finalizers = [] } = volume.metadata;
  const isGuarded = finalizers.includes(volumeGuard);
  const isGoing = deletionTimestamp !== undefined;
  if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') {
    return { kind: isGuarded ? 'release' : 'leave' };
  }
  switch (volume.status?.phase) {
    case 'Bound':
      return { kind: isGuarded || isGoing ? 'leave' : 'guard' };
    case 'Released':
      if (isGoing && !isGuarded) return { kind: 'leave' };
      return sharedBy(volume, others, driver) ?? { kind: 'remove', handle };
    default:
      return { kind: 'leave' };
  }
}

/** One that an administrator wrote has no annotation, and is ours by its driver. */
function isOurs({ metadata, spec }: PersistentVolume, driver: string): boolean {
  if (spec.csi?.driver !== driver) return false;
  const annotations = metadata.annotations ?? {};
  const by = annotations[provisionedByAnnotation];
  return (by ?? driver) === driver || annotations[migratedToAnnotation] === driver;
}

/** Two PersistentVolumes may name one volume: what one gives up the other may need. */
function sharedBy(
  volume: PersistentVolume,
  others: Iterable<PersistentVolume>,
  driver: string,
): Blocked | undefined {
  const { csi } = volume.spec;
  for (const other of others) {
    if (other.metadata.name === volume.metadata.name) continue;
    if (other.spec.csi?.driver !== driver) continue;
    if (other.spec.csi.volumeHandle !== csi?.volumeHandle || isGivenUp(other)) continue;
    const message = `PersistentVolume ${other.metadata.name} has the same volume handle`;
    return blocked('VolumeInUse', message);
  }
  return undefined;
}

function isGivenUp({ spec, status }: PersistentVolume): boolean {
  return spec.persistentVolumeReclaimPolicy === 'Delete' && status?.phase === 'Released';
}

/** Who has to remove it, as far as the PersistentVolume says so. */
export function nodeOf({ spec }: PersistentVolume): string {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const [first] = terms.flatMap(({ matchExpressions }) => matchExpressions ?? []);
  return `node ${first?.values?.join(' or ') ?? 'unknown'}`;
}
