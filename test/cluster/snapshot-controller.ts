import type { VolumeSnapshot, VolumeSnapshotContent } from '../../src/api/objects/snapshot.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Desk } from './desk.ts';
import { isBound } from './scheduler.ts';

const prefix = 'snapshot.storage.kubernetes.io';
const sourceProtection = `${prefix}/volumesnapshot-as-source-protection`;
const boundProtection = `${prefix}/volumesnapshot-bound-protection`;
const contentProtection = `${prefix}/volumesnapshotcontent-bound-protection`;
export const claimProtection = `${prefix}/pvc-as-source-protection`;
const beingDeleted = `${prefix}/volumesnapshot-being-deleted`;

/** The part of snapshots that every cluster has once, whatever the driver. */
export class SnapshotController {
  readonly #desk: Desk;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  round(): void {
    for (const snapshot of this.#desk.snapshots) {
      if (snapshot.metadata.deletionTimestamp === undefined) this.#keep(snapshot);
      else this.#leave(snapshot);
    }
    this.#freeClaims();
  }

  #keep(snapshot: VolumeSnapshot): void {
    const add = { add: sourceProtection };
    if (this.#desk.finalizers(collections.snapshots, snapshot, add)) return;
    const content = this.#contentOf(snapshot);
    if (content === undefined) this.#create(snapshot);
    else {
      const bound = { add: boundProtection };
      if (this.#desk.finalizers(collections.snapshots, snapshot, bound)) return;
      this.#tell(snapshot, content);
    }
  }

  #create(snapshot: VolumeSnapshot): void {
    const claimName = snapshot.spec.source.persistentVolumeClaimName ?? '';
    const claim = this.#desk.claim(claimName, snapshot.metadata.namespace);
    const theClass = this.#desk.snapshotClasses.find(
      ({ metadata }) => metadata.name === snapshot.spec.volumeSnapshotClassName,
    );
    if (claim === undefined || !isBound(claim) || theClass === undefined) return;
    if (claim.metadata.deletionTimestamp !== undefined) return;
    const volume = this.#desk.volume(claim.spec.volumeName ?? '');
    if (volume?.spec.csi?.driver !== theClass.driver) return;
    if (this.#desk.finalizers(collections.claims, claim, { add: claimProtection })) return;
    const { uid, name, namespace } = snapshot.metadata;
    this.#desk.create(collections.contents, {
      metadata: { name: `snapcontent-${uid}`, finalizers: [contentProtection] },
      spec: {
        ...{ deletionPolicy: theClass.deletionPolicy, driver: theClass.driver },
        source: { volumeHandle: volume.spec.csi.volumeHandle },
        ...{ volumeSnapshotClassName: theClass.metadata.name },
        ...{ volumeSnapshotRef: { uid, name, namespace }, sourceVolumeMode: claim.spec.volumeMode },
      },
    });
  }

  #tell(snapshot: VolumeSnapshot, { metadata, status }: VolumeSnapshotContent): void {
    const told = {
      boundVolumeSnapshotContentName: metadata.name,
      readyToUse: status?.readyToUse ?? false,
      ...(status?.restoreSize === undefined ? {} : { restoreSize: String(status.restoreSize) }),
      error: status?.error ?? null,
    };
    this.#desk.status(collections.snapshots, snapshot.metadata, { status: told });
  }

  /** The content goes first, and says when it is gone. */
  #leave(snapshot: VolumeSnapshot): void {
    const content = this.#contentOf(snapshot);
    if (content === undefined || content.spec.deletionPolicy !== 'Delete') {
      if (this.#isRestored(snapshot)) return;
      const drop = { drop: boundProtection };
      if (this.#desk.finalizers(collections.snapshots, snapshot, drop)) return;
      this.#desk.finalizers(collections.snapshots, snapshot, { drop: sourceProtection });
      return;
    }
    if (this.#isRestored(snapshot)) return;
    if (content.metadata.annotations?.[beingDeleted] === undefined) {
      const annotations = { [beingDeleted]: 'yes' };
      this.#desk.patch(collections.contents, content.metadata, { metadata: { annotations } });
    } else if (content.metadata.deletionTimestamp === undefined) {
      this.#desk.delete(collections.contents, content.metadata);
    }
  }

  /** A claim that is not made yet still reads it. */
  #isRestored({ metadata }: VolumeSnapshot): boolean {
    return this.#desk.claims.some(
      ({ spec, status }) =>
        spec.dataSource?.kind === 'VolumeSnapshot' &&
        spec.dataSource.name === metadata.name &&
        status?.phase === 'Pending',
    );
  }

  #freeClaims(): void {
    for (const claim of this.#desk.claims) {
      if (claim.metadata.finalizers?.includes(claimProtection) !== true) continue;
      const isGoing = claim.metadata.deletionTimestamp !== undefined;
      const isRead = this.#desk.snapshots.some(
        (snapshot) =>
          snapshot.spec.source.persistentVolumeClaimName === claim.metadata.name &&
          snapshot.status?.readyToUse !== true &&
          snapshot.metadata.deletionTimestamp === undefined &&
          (!isGoing || this.#contentOf(snapshot) !== undefined),
      );
      if (!isRead) this.#desk.finalizers(collections.claims, claim, { drop: claimProtection });
    }
  }

  #contentOf({ metadata }: VolumeSnapshot): VolumeSnapshotContent | undefined {
    const content = this.#desk.content(`snapcontent-${metadata.uid}`);
    return content?.spec.volumeSnapshotRef.uid === metadata.uid ? content : undefined;
  }
}
