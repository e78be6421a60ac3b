import type { DataSource, PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../api/objects/snapshot.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { showBytes } from '../../base/show.ts';

/** A claim that is copied is kept until the copies are made. */
export const cloneGuard = 'provisioner.storage.kubernetes.io/cloning-protection';
/** And so is a snapshot. */
export const snapshotGuard =
  'provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection';

/** What a volume begins as a copy of. */
export type WantedSource =
  | { readonly kind: 'none' }
  | { readonly kind: 'snapshot' | 'claim'; readonly namespace: string; readonly name: string }
  /** Somebody else fills the volume: a populator that knows the kind. */
  | { readonly kind: 'foreign'; readonly what: string }
  | Blocked;

/** What was found of it. */
export type FoundSource =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'snapshot';
      readonly isInstalled: boolean;
      readonly snapshot: VolumeSnapshot | undefined;
      readonly content: VolumeSnapshotContent | undefined;
    }
  | {
      readonly kind: 'claim';
      readonly claim: PersistentVolumeClaim | undefined;
      readonly volume: PersistentVolume | undefined;
    };

/** The id to copy from. */
export type Source =
  | { readonly kind: 'volume' | 'snapshot'; readonly id: string }
  | undefined
  | Blocked;

export const snapshotGroup = 'snapshot.storage.k8s.io';
const modeChangeAnnotation = 'snapshot.storage.kubernetes.io/allow-volume-mode-change';

export function wantedSource(claim: PersistentVolumeClaim): WantedSource {
  const { namespace = '' } = claim.metadata;
  const reference = claim.spec.dataSourceRef ?? claim.spec.dataSource;
  if (reference === undefined) return { kind: 'none' };
  const kind = kindOf(reference);
  if (kind === 'foreign') {
    const group = reference.apiGroup ?? '';
    return { kind, what: `${reference.kind}${group === '' ? '' : ` of ${group}`}` };
  }
  const from = claim.spec.dataSourceRef?.namespace ?? '';
  if (from !== '' && from !== namespace) {
    const message = `dataSourceRef names ${reference.name} in namespace ${from}`;
    return blocked('ClaimUnsupported', `${message}; sources are taken from ${namespace} only`);
  }
  return { kind, namespace, name: reference.name };
}

function kindOf({ apiGroup = '', kind }: DataSource): 'snapshot' | 'claim' | 'foreign' {
  if (kind === 'VolumeSnapshot' && apiGroup === snapshotGroup) return 'snapshot';
  if (kind === 'PersistentVolumeClaim' && apiGroup === '') return 'claim';
  return 'foreign';
}

export type SourceQuestion = {
  readonly claim: PersistentVolumeClaim;
  readonly wanted: WantedSource;
  readonly found: FoundSource;
  readonly driver: string;
  /** The volume is being made already. */
  readonly isUnderWay: boolean;
};

/** May the volume be made of it, now? */
export function sourceFor(question: SourceQuestion): Source {
  const { wanted, found } = question;
  if (wanted.kind === 'blocked') return wanted;
  if (wanted.kind === 'none' || wanted.kind === 'foreign') return undefined;
  const name = `${wanted.namespace}/${wanted.name}`;
  switch (found.kind) {
    case 'none':
      return blocked('SourceNotReady', `nothing is known of ${name}`);
    case 'snapshot':
      return fromSnapshot(question, found, name);
    case 'claim':
      return fromClaim(question, found, name);
  }
}

function fromSnapshot(
  { claim, driver }: SourceQuestion,
  { isInstalled, snapshot, content }: Extract<FoundSource, { readonly kind: 'snapshot' }>,
  name: string,
): Source {
  const it = `VolumeSnapshot ${name}`;
  if (!isInstalled) {
    return blocked('SnapshotsNotInstalled', `${it} is the source, and there is no such kind`);
  }
  if (snapshot === undefined) return blocked('SourceNotReady', `${it} does not exist`);
  const { deletionTimestamp, finalizers = [] } = snapshot.metadata;
  if (deletionTimestamp !== undefined && !finalizers.includes(snapshotGuard)) {
    return blocked('SourceUnusable', `${it} is being deleted`);
  }
  const error = snapshot.status?.error?.message;
  const why = error === undefined ? '' : `: ${error}`;
  if (snapshot.status?.readyToUse !== true) {
    return blocked('SourceNotReady', `${it} is not ready to use${why}`);
  }
  const bound = snapshot.status.boundVolumeSnapshotContentName;
  if (bound === undefined || content === undefined) {
    return blocked('SourceNotReady', `${it} has no VolumeSnapshotContent`);
  }
  const { volumeSnapshotRef: back, sourceVolumeMode, driver: contentDriver } = content.spec;
  const isMutual =
    back.uid === snapshot.metadata.uid &&
    back.name === snapshot.metadata.name &&
    back.namespace === snapshot.metadata.namespace;
  if (!isMutual) {
    const message = `${it} names VolumeSnapshotContent ${bound}, which belongs to another one`;
    return blocked('SourceUnusable', message);
  }
  if (contentDriver !== driver) {
    return blocked('SourceUnusable', `${it} is of the driver ${contentDriver}, not of ${driver}`);
  }
  const mayChange = content.metadata.annotations?.[modeChangeAnnotation] === 'true';
  if (sourceVolumeMode !== undefined && sourceVolumeMode !== modeOf(claim) && !mayChange) {
    const message = `${it} has the volume mode ${sourceVolumeMode} and the claim ${modeOf(claim)}`;
    return blocked('SourceUnusable', message);
  }
  const id = content.status?.snapshotHandle;
  if (id === undefined) return blocked('SourceNotReady', `${it} has no handle yet`);
  const size = snapshot.status.restoreSize ?? String(content.status?.restoreSize ?? 0);
  return checkSize(claim, size, it) ?? { kind: 'snapshot', id };
}

function fromClaim(
  { claim, driver, isUnderWay }: SourceQuestion,
  { claim: source, volume }: Extract<FoundSource, { readonly kind: 'claim' }>,
  name: string,
): Source {
  const it = `PersistentVolumeClaim ${name}`;
  if (source === undefined) return blocked('SourceNotReady', `${it} does not exist`);
  const { deletionTimestamp, finalizers = [], uid } = source.metadata;
  // What was begun is finished: the guard keeps the source until then.
  const isKept = isUnderWay && finalizers.includes(cloneGuard);
  if (deletionTimestamp !== undefined && !isKept) {
    return blocked('SourceUnusable', `${it} is being deleted`);
  }
  const phase = source.status?.phase ?? 'Pending';
  if (phase !== 'Bound') return blocked('SourceNotReady', `${it} is ${phase}, not Bound`);
  const volumeName = source.spec.volumeName ?? '';
  const isMutual = volume?.spec.claimRef?.uid === uid && volume.status?.phase === 'Bound';
  if (volume === undefined || !isMutual) {
    const message = `${it} is not bound to PersistentVolume ${volumeName} and back`;
    return blocked('SourceNotReady', message);
  }
  if (volume.spec.csi?.driver !== driver) {
    const other = volume.spec.csi?.driver ?? 'no CSI driver';
    return blocked('SourceUnusable', `${it} is of ${other}, not of ${driver}`);
  }
  if (modeOf(source) !== modeOf(claim)) {
    const message = `${it} has the volume mode ${modeOf(source)} and the claim ${modeOf(claim)}`;
    return blocked('SourceUnusable', message);
  }
  const size = source.spec.resources?.requests?.storage ?? '0';
  return checkSize(claim, size, it) ?? { kind: 'volume', id: volume.spec.csi.volumeHandle };
}

function checkSize(claim: PersistentVolumeClaim, size: string, it: string): Blocked | undefined {
  const needed = parseQuantity(size);
  if (typeof needed !== 'bigint') return needed;
  const asked = parseQuantity(claim.spec.resources?.requests?.storage ?? '0');
  if (typeof asked !== 'bigint') return asked;
  if (asked >= needed) return undefined;
  const message = `the claim asks for ${showBytes(asked)}, and ${it} needs ${showBytes(needed)}`;
  return blocked('SourceLarger', message);
}

export function modeOf(claim: PersistentVolumeClaim): string {
  return claim.spec.volumeMode ?? 'Filesystem';
}
