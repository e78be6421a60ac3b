import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { OperationError } from '../../src/base/failures.ts';
import { unpublishedAnnotation } from '../../src/core/cluster/names.ts';
import type { VolumeBook } from '../../src/csi/book.ts';
import { Guards } from '../../src/operator/guards.ts';
import { Provisioner } from '../../src/operator/provisioner.ts';
import { Reclaimer } from '../../src/operator/reclaimer.ts';
import type { Stored } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { Json } from '../kube/fake-patch.ts';
import { names, OperatorScene } from '../operator/scene.ts';

export const selectedNode = 'volume.kubernetes.io/selected-node';
export const volumeFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';

// biome-ignore lint/suspicious/noConfusingVoidType: most scenes prepare and answer nothing
type Prepare = (at: ClaimScene) => Partial<VolumeBook> | void;

/** Two nodes with the driver, and the classes `fast` (waits for a pod) and `now` (does not). */
export class ClaimScene extends OperatorScene {
  constructor() {
    super();
    for (const name of ['n1', 'n2']) {
      this.node(name, { 'capacity.topolvm.io/00default': String(2 ** 40) });
      this.csiNode(name);
    }
    this.storageClass('fast', { volumeBindingMode: 'WaitForFirstConsumer' });
    this.storageClass('now', {});
  }

  /** What `prepare` answers takes the place of the book's own. */
  static async begin(t: TestContext, prepare?: Prepare): Promise<ClaimScene> {
    const at = new ClaimScene();
    const own = prepare?.(at);
    await at.start(t);
    const book = {
      create: at.book.create.bind(at.book),
      remove: at.book.remove.bind(at.book),
      ...own,
    } as VolumeBook;
    const cluster = { ...at.cluster, book };
    for (const Duty of [Provisioner, Reclaimer, Guards]) at.run(new Duty(cluster));
    await at.settle();
    return at;
  }

  /** In small steps: requests take turns of the event loop, in which no time passes. */
  override async pass(ms: number): Promise<void> {
    await this.settle();
    for (let left = ms; left > 0; left -= 500) {
      await this.clock.advance(Math.min(left, 500));
      for (let turn = 0; turn < 10; turn += 1) await this.clock.advance(0);
    }
    await this.settle();
  }

  csiNode(name: string, drivers: readonly Json[] = [driverEntry(name)]): void {
    this.api.put(collections.csiNodes, { metadata: { name }, spec: { drivers } });
  }

  storageClass(name: string, more: Json): void {
    this.api.put(collections.classes, {
      metadata: { name },
      ...{ provisioner: names.driver, reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
      ...more,
    });
  }

  /** A claim that the cluster's own controllers have left to us, for a pod on `n1`. */
  claim(name: string, spec: Json = {}, annotations: Json = { [selectedNode]: 'n1' }): Stored {
    return this.api.put(collections.claims, {
      metadata: {
        ...{ name, namespace: 'ns' },
        annotations: { 'volume.kubernetes.io/storage-provisioner': names.driver, ...annotations },
      },
      spec: {
        ...{ accessModes: ['ReadWriteOnce'], storageClassName: 'fast', volumeMode: 'Filesystem' },
        resources: { requests: { storage: '1Gi' } },
        ...spec,
      },
      status: { phase: 'Pending' },
    });
  }

  claimNow(name: string): Stored | undefined {
    return this.api.one(collections.claims, name, 'ns');
  }

  change(collection: string, name: string, merge: (object: Stored) => Json): Stored {
    const namespace = collection === collections.claims ? 'ns' : undefined;
    const found = this.api.one(collection, name, namespace) ?? assert.fail(`no ${name}`);
    return this.api.put(collection, merge(found) as Stored);
  }

  persistentVolumes(): readonly Stored[] {
    return this.api.all(collections.volumes);
  }

  persistentVolume(claim: Stored): Stored | undefined {
    return this.api.one(collections.volumes, `pvc-${claim.metadata.uid}`);
  }

  recordOf(claim: Stored) {
    return this.volume(`pvc-${claim.metadata.uid}`);
  }

  isMarked(claim: Stored): boolean {
    return this.recordOf(claim)?.metadata.annotations?.[unpublishedAnnotation] !== undefined;
  }

  /** As the volume controller of Kubernetes does once there is a PersistentVolume. */
  bind(claim: Stored): void {
    const volume = this.persistentVolume(claim) ?? assert.fail('there is no volume to bind');
    const { name } = volume.metadata;
    this.phase(name, 'Bound');
    this.change(collections.claims, claim.metadata.name, (found) => ({
      ...found,
      spec: { ...(found['spec'] as Json), volumeName: name },
      status: { phase: 'Bound' },
    }));
  }

  phase(volumeName: string, phase: string): void {
    this.change(collections.volumes, volumeName, (found) => ({ ...found, status: { phase } }));
  }

  policy(volumeName: string, persistentVolumeReclaimPolicy: string): void {
    this.change(collections.volumes, volumeName, (found) => ({
      ...found,
      spec: { ...(found['spec'] as Json), persistentVolumeReclaimPolicy },
    }));
  }

  /** The claim goes, and its volume is given back. */
  giveBack(claim: Stored): void {
    this.api.delete(collections.claims, claim.metadata.name, 'ns');
    if (this.persistentVolume(claim) !== undefined) {
      this.phase(`pvc-${claim.metadata.uid}`, 'Released');
    }
  }

  /** A claim with a bound volume on `n1`. */
  async bound(name: string, spec: Json = {}): Promise<Stored> {
    const claim = this.claim(name, spec);
    await this.settle();
    this.made(`pvc-${claim.metadata.uid}`);
    await this.settle();
    this.bind(claim);
    await this.settle();
    return this.claimNow(name) ?? assert.fail();
  }

  /** What `kubectl describe` shows. */
  told(reason: string): readonly string[] {
    return this.events.filter((event) => event.reason === reason).map(({ message }) => message);
  }

  get writes() {
    return this.api.writes.filter(({ isDone }) => isDone);
  }

  writesOf(collection: string): readonly string[] {
    return this.writes.filter((note) => note.collection === collection).map(({ verb }) => verb);
  }

  snapshot(name: string, status: Json = {}, metadata: Json = {}): Stored {
    const snapshot = this.api.put(collections.snapshots, {
      metadata: { name, namespace: 'ns', ...metadata },
      spec: { source: { persistentVolumeClaimName: 'origin' } },
      status: {
        ...{ readyToUse: true, restoreSize: '1Gi' },
        ...{ boundVolumeSnapshotContentName: `content-${name}`, ...status },
      },
    });
    return snapshot;
  }

  content(snapshot: Stored, handle: string, spec: Json = {}, metadata: Json = {}): void {
    const { name, namespace, uid } = snapshot.metadata;
    this.api.put(collections.contents, {
      metadata: { name: `content-${name}`, ...metadata },
      spec: {
        ...{ deletionPolicy: 'Delete', driver: names.driver, source: { volumeHandle: 'x' } },
        ...{ volumeSnapshotRef: { name, namespace, uid }, sourceVolumeMode: 'Filesystem' },
        ...spec,
      },
      status: { snapshotHandle: handle, restoreSize: 2 ** 30, readyToUse: true },
    });
  }
}

export function driverEntry(nodeID: string): Json {
  return { name: names.driver, nodeID, topologyKeys: ['topology.topolvm.io/node'] };
}

export function fromSnapshot(name: string): Json {
  const dataSource = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name };
  return { dataSource, dataSourceRef: dataSource };
}

export function fromClaim(name: string): Json {
  const dataSource = { kind: 'PersistentVolumeClaim', name };
  return { dataSource, dataSourceRef: dataSource };
}

/** As our agents write a refusal into the status. */
export function refusal(code: OperationError['code'], text: string): string {
  return `${code}: ${text}. Remedy: (of the node)`;
}
