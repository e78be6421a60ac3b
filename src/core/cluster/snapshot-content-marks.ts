/** The names that everybody who deals with snapshots in a cluster agreed upon. */

const prefix = 'snapshot.storage.kubernetes.io';
const groupPrefix = 'groupsnapshot.storage.kubernetes.io';

/** What tells of one content: made or going, and held until we let it go. */
export type ContentMarks = {
  /** `yes` from before it is asked for until it is known what became of it. */
  readonly beingCreated: string;
  /** Whoever wanted it gave it up, and both name each other. */
  readonly beingDeleted: string;
  readonly finalizer: string;
};

export const snapshotMarks: ContentMarks = {
  beingCreated: `${prefix}/volumesnapshot-being-created`,
  beingDeleted: `${prefix}/volumesnapshot-being-deleted`,
  finalizer: `${prefix}/volumesnapshotcontent-bound-protection`,
};

export const groupMarks: ContentMarks = {
  beingCreated: `${groupPrefix}/volumegroupsnapshot-being-created`,
  beingDeleted: `${groupPrefix}/volumegroupsnapshot-being-deleted`,
  finalizer: `${groupPrefix}/volumegroupsnapshotcontent-bound-protection`,
};

/** On a content that is part of a group: it lives and dies with that. */
export const memberAnnotation = 'groupsnapshot.storage.k8s.io/volumeGroupSnapshotHandle';

/** On a VolumeSnapshot: always, when it is bound and deletes, when it is part of a group. */
export const sourceFinalizer = `${prefix}/volumesnapshot-as-source-protection`;
export const boundFinalizer = `${prefix}/volumesnapshot-bound-protection`;
export const memberFinalizer = `${prefix}/volumesnapshot-in-group-protection`;
/** On a claim, while a snapshot of it is not ready. */
export const claimFinalizer = `${prefix}/pvc-as-source-protection`;

export const defaultClassAnnotation = `${prefix}/is-default-class`;
export const deletionSecretName = `${prefix}/deletion-secret-name`;
export const deletionSecretNamespace = `${prefix}/deletion-secret-namespace`;

export const snapshotGroup = 'snapshot.storage.k8s.io';

/** In which the kinds of group snapshots can be read, the best first. */
export const groupSnapshotVersions = ['v1', 'v1beta2', 'v1beta1'] as const;

/** By this the driver finds again what it made. */
export function snapshotName(snapshotUid: string): string {
  return `snapshot-${snapshotUid}`;
}

export function groupSnapshotName(groupUid: string): string {
  return `groupsnapshot-${groupUid}`;
}

export function contentName(snapshotUid: string): string {
  return `snapcontent-${snapshotUid}`;
}
