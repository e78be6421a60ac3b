import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Desk } from './desk.ts';
import type { Pods } from './pods.ts';

export const selectedNode = 'volume.kubernetes.io/selected-node';
const storageProvisioner = 'volume.kubernetes.io/storage-provisioner';
const bindCompleted = 'pv.kubernetes.io/bind-completed';
const preResize = 'volume.alpha.kubernetes.io/pre-resize-capacity';

/**
 * What kube-controller-manager does with claims and volumes, one write for each object and round:
 * between any two of them others may act.
 */
export class VolumeController {
  readonly #desk: Desk;
  readonly #pods: Pods;

  constructor(desk: Desk, pods: Pods) {
    this.#desk = desk;
    this.#pods = pods;
  }

  round(): void {
    for (const claim of this.#desk.claims) this.#claim(claim);
    for (const volume of this.#desk.volumes) this.#volume(volume);
    this.#protect();
  }

  #claim(claim: PersistentVolumeClaim): void {
    if ((claim.spec.volumeName ?? '') !== '') {
      this.#finishBinding(claim);
      return;
    }
    if (claim.metadata.deletionTimestamp !== undefined) return;
    const volume = this.#desk.volumes.find((one) => isMeant(one, claim));
    if (volume === undefined) this.#wantProvisioning(claim);
    else this.#bind(claim, volume);
  }

  /** Who waits for a consumer is given to the provisioner when the scheduler has chosen a node. */
  #wantProvisioning({ metadata, spec }: PersistentVolumeClaim): void {
    const storageClass = this.#desk.storageClass(spec.storageClassName);
    if (storageClass === undefined) return;
    const annotations = metadata.annotations ?? {};
    const isWaiting = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
    if (isWaiting && annotations[selectedNode] === undefined) return;
    const { provisioner } = storageClass;
    if (annotations[storageProvisioner] === provisioner) return;
    const wanted = {
      [storageProvisioner]: provisioner,
      'volume.beta.kubernetes.io/storage-provisioner': provisioner,
    };
    this.#desk.patch(collections.claims, metadata, { metadata: { annotations: wanted } });
  }

  #bind(claim: PersistentVolumeClaim, volume: PersistentVolume): void {
    const { uid, name } = claim.metadata;
    if (volume.metadata.deletionTimestamp !== undefined) return;
    if (volume.spec.claimRef?.uid !== uid) {
      const patch = { spec: { claimRef: { uid } } };
      this.#desk.patch(collections.volumes, volume.metadata, patch);
    } else if (volume.status?.phase !== 'Bound') this.#phase(volume, 'Bound');
    else {
      this.#desk.patch(
        collections.claims,
        { name, namespace: claim.metadata.namespace },
        {
          metadata: {
            annotations: { [bindCompleted]: 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' },
          },
          spec: { volumeName: volume.metadata.name },
        },
      );
    }
  }

  #finishBinding(claim: PersistentVolumeClaim): void {
    const volume = this.#desk.volume(claim.spec.volumeName ?? '');
    const isOurs = volume?.spec.claimRef?.uid === claim.metadata.uid;
    const phase = isOurs ? 'Bound' : 'Lost';
    if (claim.status?.phase === phase) return;
    if (volume === undefined || !isOurs) {
      const isOver = claim.metadata.deletionTimestamp !== undefined;
      if (!isOver) this.#desk.status(collections.claims, claim.metadata, { status: { phase } });
      return;
    }
    // Its size is taken over when it becomes bound, and never again.
    const before = volume.metadata.annotations?.[preResize];
    const capacity = before === undefined ? volume.spec.capacity : { storage: before };
    const status = { phase, capacity, accessModes: volume.spec.accessModes };
    this.#desk.status(collections.claims, claim.metadata, { status });
  }

  #volume(volume: PersistentVolume): void {
    const { claimRef } = volume.spec;
    const phase = volume.status?.phase;
    if (claimRef?.name === undefined) {
      if (phase !== 'Available') this.#phase(volume, 'Available');
      return;
    }
    if (claimRef.uid === undefined || claimRef.uid === '') return;
    const claim = this.#desk.claim(claimRef.name, claimRef.namespace);
    const isThere = claim?.metadata.uid === claimRef.uid;
    const elsewhere = claim?.spec.volumeName ?? '';
    const isLeft = !isThere || (elsewhere !== '' && elsewhere !== volume.metadata.name);
    if (isLeft && phase !== 'Released' && phase !== 'Failed') this.#phase(volume, 'Released');
    else if (!isLeft && elsewhere !== '' && phase !== 'Bound') this.#phase(volume, 'Bound');
  }

  /** Nothing that is used goes away. */
  #protect(): void {
    for (const claim of this.#desk.claims) {
      const { deletionTimestamp, name } = claim.metadata;
      if (deletionTimestamp === undefined || this.#pods.using(name).length > 0) continue;
      this.#desk.finalizers(collections.claims, claim, { drop: 'kubernetes.io/pvc-protection' });
    }
    for (const volume of this.#desk.volumes) {
      const isBound = volume.status?.phase === 'Bound';
      if (volume.metadata.deletionTimestamp === undefined || isBound) continue;
      this.#desk.finalizers(collections.volumes, volume, { drop: 'kubernetes.io/pv-protection' });
    }
  }

  #phase(volume: PersistentVolume, phase: string): void {
    if (volume.status?.phase === phase) return;
    this.#desk.status(collections.volumes, volume.metadata, { status: { phase } });
  }
}

/** Made for this claim, or written by hand with its name. */
function isMeant({ spec }: PersistentVolume, { metadata }: PersistentVolumeClaim): boolean {
  const { claimRef } = spec;
  if (claimRef?.name !== metadata.name || claimRef.namespace !== metadata.namespace) return false;
  return claimRef.uid === undefined || claimRef.uid === '' || claimRef.uid === metadata.uid;
}
