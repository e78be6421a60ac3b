import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { showBytes } from '../../base/show.ts';
import { idOf, isGoing, kindOf, sizeOf } from './logical-volume.ts';
import { claimAnnotation, unpublishedAnnotation } from './names.ts';

/** What is known of whoever may have a volume. */
export type Owners = {
  /** UIDs of all claims. */
  readonly claims: ReadonlySet<string>;
  /** Handles of all PersistentVolumes of our driver. */
  readonly handles: ReadonlySet<string>;
  /** Names of all PersistentVolumes. */
  readonly volumes: ReadonlySet<string>;
};

/** How long a volume must have been nobody's. */
export const orphanGraceMs = 300_000;

export type OrphanDecision =
  | { readonly kind: 'leave' }
  /** No PersistentVolume ever was, and its claim is gone: nobody can miss it. */
  | { readonly kind: 'remove'; readonly reason: 'never-published'; readonly message: string }
  /** It may be all that is left of somebody's data: only an administrator knows. */
  | {
      readonly kind: 'report';
      readonly reason: 'claim-gone' | 'no-persistent-volume';
      readonly message: string;
    };

/**
 * A volume that nobody has. A retained volume, a restored backup of the cluster and a new
 * installation look alike, so only our own mark, set before anything was made and taken off before
 * a PersistentVolume came, allows it to be removed.
 */
export function decideOrphan(volume: LogicalVolume, owners: Owners): OrphanDecision {
  if (kindOf(volume) === 'snapshot' || isGoing(volume)) return { kind: 'leave' };
  const { name, annotations = {} } = volume.metadata;
  if (owners.handles.has(idOf(volume)) || owners.volumes.has(name)) return { kind: 'leave' };
  const claim = claimOf(volume);
  if (claim !== undefined && owners.claims.has(claim)) return { kind: 'leave' };
  const whose = annotations[claimAnnotation];
  const what = `${name} on ${volume.spec.nodeName}, ${showBytes(sizeOf(volume))}`;
  const mark = annotations[unpublishedAnnotation];
  // Without its claim's name nobody could look whether it is really gone.
  if (mark !== undefined && mark !== '' && whose !== undefined) {
    const message = `${what}: the claim ${whose} is gone, and no PersistentVolume ever was`;
    return { kind: 'remove', reason: 'never-published', message };
  }
  const reason = claim === undefined ? 'no-persistent-volume' : 'claim-gone';
  const gone = claim === undefined ? 'no PersistentVolume has it' : `its claim is gone`;
  const message =
    `${what}: ${gone}. Remedy: to use the data, make a PersistentVolume with volumeHandle ` +
    `${idOf(volume)}; to destroy it, delete the LogicalVolume.`;
  return { kind: 'report', reason, message };
}

/** The UID of the claim it was made for: in our mark, or in the name that provisioners give. */
export function claimOf({ metadata }: LogicalVolume): string | undefined {
  const mark = metadata.annotations?.[unpublishedAnnotation];
  if (mark !== undefined && mark !== '') return mark;
  return /^pvc-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(metadata.name)?.[1];
}
