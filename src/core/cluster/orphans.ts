import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type {
  VolumeGroupSnapshotContent,
  VolumeSnapshotContent,
} from '../../api/objects/snapshot.ts';
import { showBytes } from '../../base/show.ts';
import { groupHandleOf } from './group-content.ts';
import { groupOf, idOf, isGoing, kindOf, sizeOf } from './logical-volume.ts';
import { groupNameAnnotation } from './logical-volume-group.ts';
import { claimAnnotation, unpublishedAnnotation } from './names.ts';
import { groupSnapshotName, snapshotName } from './snapshot-content-marks.ts';

/** What is known of whoever may have a volume. */
export type Owners = {
  /** UIDs of all claims. */
  readonly claims: ReadonlySet<string>;
  /** Handles of all PersistentVolumes of our driver. */
  readonly handles: ReadonlySet<string>;
  /** Names of all PersistentVolumes. */
  readonly volumes: ReadonlySet<string>;
  /** Undefined where it is not known, as where their kinds are not served. */
  readonly snapshots?: SnapshotOwners | undefined;
};

/** What contents of all drivers say: who names a snapshot of ours has it. */
export type SnapshotOwners = {
  readonly handles: ReadonlySet<string>;
  /** Of snapshots that are being made: nobody wrote down their handles yet. */
  readonly names: ReadonlySet<string>;
  /** Handles and names of group snapshots. */
  readonly groups: ReadonlySet<string> | undefined;
};

/** How long a volume must have been nobody's. */
export const orphanGraceMs = 300_000;

export type OrphanDecision =
  | { readonly kind: 'leave' }
  /** No PersistentVolume ever was, and its claim is gone: nobody can miss it. */
  | { readonly kind: 'remove'; readonly reason: 'never-published'; readonly message: string }
  /** It may be all that is left of somebody's data: only an administrator knows. */
  | { readonly kind: 'report'; readonly reason: ReportReason; readonly message: string };

type ReportReason = 'claim-gone' | 'no-persistent-volume' | 'no-snapshot-content';

/**
 * A volume that nobody has. A retained volume, a restored backup of the cluster and a new
 * installation look alike, so only our own mark, set before anything was made and taken off before
 * a PersistentVolume came, allows it to be removed.
 */
export function decideOrphan(volume: LogicalVolume, owners: Owners): OrphanDecision {
  if (isGoing(volume)) return { kind: 'leave' };
  const { name, annotations = {} } = volume.metadata;
  if (owners.handles.has(idOf(volume)) || owners.volumes.has(name)) return { kind: 'leave' };
  if (kindOf(volume) === 'snapshot') return decideSnapshot(volume, owners.snapshots);
  const claim = claimOf(volume);
  if (claim !== undefined && owners.claims.has(claim)) return { kind: 'leave' };
  const whose = annotations[claimAnnotation];
  const what = whatOf(volume);
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

/** A snapshot that was to outlive its content looks like one whose content was forced away. */
function decideSnapshot(volume: LogicalVolume, owners: SnapshotOwners | undefined): OrphanDecision {
  const { name, uid, annotations = {} } = volume.metadata;
  const id = idOf(volume);
  if (owners === undefined || owners.names.has(name)) return { kind: 'leave' };
  if (owners.handles.has(id) || owners.handles.has(uid)) return { kind: 'leave' };
  const group = groupOf(volume);
  if (group !== undefined) {
    const groupName = annotations[groupNameAnnotation] ?? '';
    const isOwned = owners.groups?.has(group) ?? true;
    if (isOwned || owners.groups?.has(groupName) === true) return { kind: 'leave' };
  }
  const message =
    `${whatOf(volume)}: no VolumeSnapshotContent has this snapshot. Remedy: to use the data, ` +
    `make a VolumeSnapshotContent with snapshotHandle ${id}; to destroy it, delete the ` +
    'LogicalVolume.';
  return { kind: 'report', reason: 'no-snapshot-content', message };
}

/** `groups` are undefined where their kind is not served. */
export function snapshotOwners(
  contents: Iterable<VolumeSnapshotContent>,
  groups: Iterable<VolumeGroupSnapshotContent> | undefined,
): SnapshotOwners {
  const all = [...contents];
  const handlesOf = ({ spec, status }: VolumeSnapshotContent) =>
    [spec.source.snapshotHandle, status?.snapshotHandle].flatMap((handle) => handle ?? []);
  const isUnmade = (content: VolumeSnapshotContent) => handlesOf(content).length === 0;
  return {
    handles: new Set(all.flatMap(handlesOf)),
    names: new Set(all.filter(isUnmade).map(({ spec }) => snapshotNameOf(spec))),
    groups: groups && new Set([...groups].flatMap(groupKeys)),
  };
}

function snapshotNameOf({ volumeSnapshotRef }: VolumeSnapshotContent['spec']): string {
  return snapshotName(volumeSnapshotRef.uid ?? '');
}

function groupKeys(content: VolumeGroupSnapshotContent): readonly string[] {
  const name = groupSnapshotName(content.spec.volumeGroupSnapshotRef.uid ?? '');
  return [name, groupHandleOf(content) ?? name];
}

function whatOf(volume: LogicalVolume): string {
  return `${volume.metadata.name} on ${volume.spec.nodeName}, ${showBytes(sizeOf(volume))}`;
}

/** The UID of the claim it was made for: in our mark, or in the name that provisioners give. */
export function claimOf({ metadata }: LogicalVolume): string | undefined {
  const mark = metadata.annotations?.[unpublishedAnnotation];
  if (mark !== undefined && mark !== '') return mark;
  return /^pvc-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.exec(metadata.name)?.[1];
}
