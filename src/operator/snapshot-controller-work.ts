import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../api/objects/snapshot.ts';
import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import {
  contentNameOf,
  isBoundTo,
  type NewContent,
  type SnapshotStep,
  type SnapshotView,
  snapshotStep,
} from '../core/cluster/snapshot-common-binding.ts';
import { freedClaim, heldContent, restoresOf } from '../core/cluster/snapshot-common-guard.ts';
import type { SnapshotNews } from '../core/cluster/snapshot-common-status.ts';
import { claimFinalizer, snapshotMarks } from '../core/cluster/snapshot-content-marks.ts';
import { failedStatus } from '../core/cluster/snapshot-content-status.ts';
import { isKubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import { apiVersionOf, type Kind, type KubeObject } from '../kube/kind.ts';
import { claimKind } from '../kube/kinds.ts';
import type { Again } from '../kube/queue.ts';
import type { EventText } from '../kube/recorder.ts';
import type { Cluster } from './duty.ts';
import type { Served } from './kind-watch.ts';
import type { SnapshotKinds } from './snapshotter-kinds.ts';

/** It is told already; the queue comes back later and later. */
export class NotYet extends Error {
  override readonly name = 'NotYet';
}

/** Where a kind is served and where its objects are kept. */
type Home<T extends KubeObject> = { readonly kind: Kind<T>; readonly informer: Informer<T> };

type Homes = {
  readonly snapshots: Served<VolumeSnapshot>;
  readonly contents: Served<VolumeSnapshotContent>;
};

/** Carries out what is decided of snapshots, their contents and the claims they are taken of. */
export class SnapshotWork {
  readonly #cluster: Cluster;
  readonly #kinds: SnapshotKinds;

  constructor(cluster: Cluster, kinds: SnapshotKinds) {
    this.#cluster = cluster;
    this.#kinds = kinds;
  }

  /** `snapshot namespace/name`, `claim namespace/name` or `content name`. */
  async on(key: string, signal: AbortSignal): Promise<Again> {
    const homes = this.#homes();
    if (homes === undefined) return undefined;
    const [noun, place = ''] = key.split(' ');
    const [namespace, name = ''] = place.split('/');
    switch (noun) {
      case 'content':
        await this.#hold(homes, place);
        return undefined;
      case 'claim':
        await this.#free({ namespace, name });
        return undefined;
      default:
        return this.#snapshot(homes, { namespace, name }, signal);
    }
  }

  /** Before everything is known nothing is concluded from what is missing. */
  #homes(): Homes | undefined {
    const { snapshots, contents, classes } = this.#kinds;
    if (snapshots.current === undefined || contents.current === undefined || !classes.isKnown) {
      return undefined;
    }
    return { snapshots: snapshots.current, contents: contents.current };
  }

  async #hold({ contents }: Homes, name: string): Promise<void> {
    const content = contents.informer.get({ name });
    const finalizers = content === undefined ? undefined : heldContent(content);
    if (content === undefined || finalizers === undefined) return;
    await this.#patch(contents, content, { metadata: { finalizers } });
  }

  async #free(place: Place): Promise<void> {
    const { claims } = this.#cluster.stores;
    const claim = claims.get(place);
    if (claim === undefined) return;
    const finalizers = freedClaim(claim, this.#kinds.snapshots.values());
    if (finalizers === undefined) return;
    await this.#patch(this.#claims, claim, { metadata: { finalizers } });
  }

  get #claims(): Home<PersistentVolumeClaim> {
    return { kind: claimKind, informer: this.#cluster.stores.claims };
  }

  /** Step by step until it rests; each write is made upon what it was decided from. */
  async #snapshot(homes: Homes, place: Place, signal: AbortSignal): Promise<Again> {
    for (let pass = 0; pass < limits.passesMax; pass += 1) {
      const snapshot = homes.snapshots.informer.get(place);
      if (snapshot === undefined || signal.aborted) return undefined;
      const step = snapshotStep(this.#view(homes, snapshot));
      if (step.kind === 'rest') return undefined;
      if (step.kind === 'wait') {
        this.#event(homes.snapshots.kind, snapshot, { type: 'Warning', ...step });
        return { afterMs: limits.infeasibleRetryMs };
      }
      const isSeen = await this.#carryOut(homes, snapshot, step);
      // What the store does not show yet, the watch will tell.
      if (!isSeen) return undefined;
    }
    assert(false, 'a snapshot comes to rest');
    return undefined;
  }

  #view({ contents }: Homes, snapshot: VolumeSnapshot): SnapshotView {
    const { claims, volumes } = this.#cluster.stores;
    const { namespace } = snapshot.metadata;
    const claimName = snapshot.spec.source.persistentVolumeClaimName;
    const claim = claimName === undefined ? undefined : claims.get({ namespace, name: claimName });
    const volumeName = claim?.spec.volumeName;
    const isGoing = snapshot.metadata.deletionTimestamp !== undefined;
    return {
      ...{ snapshot, claim, classes: this.#kinds.classes.values() },
      volume: volumeName === undefined ? undefined : volumes.get({ name: volumeName }),
      contentOf: (name) => contents.informer.get({ name }),
      restores: isGoing ? restoresOf(snapshot, claims.values()) : [],
    };
  }

  /** Whether the stores show what was done. */
  async #carryOut(
    homes: Homes,
    snapshot: VolumeSnapshot,
    step: Exclude<SnapshotStep, { kind: 'rest' | 'wait' }>,
  ): Promise<boolean> {
    const { snapshots, contents } = homes;
    switch (step.kind) {
      case 'finalizers':
        await this.#checkFree(contents, snapshot);
        return this.#patch(snapshots, snapshot, { metadata: { finalizers: step.finalizers } });
      case 'choose-class':
        return this.#patch(snapshots, snapshot, {
          spec: { volumeSnapshotClassName: step.className },
        });
      case 'protect-claim': {
        const finalizers = [...(step.claim.metadata.finalizers ?? []), claimFinalizer];
        return this.#patch(this.#claims, step.claim, { metadata: { finalizers } });
      }
      case 'create-content':
        return this.#create(homes, snapshot, step.content);
      case 'bind-content': {
        const { uid } = snapshot.metadata;
        return this.#patch(contents, step.content, { spec: { volumeSnapshotRef: { uid } } });
      }
      case 'mark-content': {
        const annotations = { [snapshotMarks.beingDeleted]: 'yes' };
        return this.#patch(contents, step.content, { metadata: { annotations } });
      }
      case 'delete-content': {
        const { name, uid, resourceVersion } = step.content.metadata;
        await this.#cluster.client.delete(contents.kind, { name }, { uid, resourceVersion });
        return false;
      }
      case 'tell':
        return this.#tell(snapshots, snapshot, step.news);
      case 'fail':
        await this.#fail(snapshots, snapshot, step);
        throw new NotYet(step.message);
    }
  }

  /** Only the server knows that there is no content: one watch may lag behind another. */
  async #checkFree(contents: Served<VolumeSnapshotContent>, snapshot: VolumeSnapshot) {
    const name = contentNameOf(snapshot);
    const { kind, informer } = contents;
    const isGoing = snapshot.metadata.deletionTimestamp !== undefined;
    if (!isGoing || informer.get({ name }) !== undefined) return;
    const content = await this.#cluster.client.find(kind, { name });
    if (content === undefined || !isBoundTo(content, snapshot)) return;
    informer.putOwn(content);
    throw new NotYet(`the VolumeSnapshotContent ${name} is still there`);
  }

  /**
   * A content without its snapshot would stay for ever: nobody deletes one whose snapshot is gone.
   * So the snapshot is looked at once more.
   */
  async #create(homes: Homes, snapshot: VolumeSnapshot, draft: NewContent): Promise<boolean> {
    const { snapshots, contents } = homes;
    const { client } = this.#cluster;
    const { name } = draft.metadata;
    if (await this.#refresh(snapshots, snapshot)) {
      const live = snapshots.informer.get(snapshot.metadata);
      if (live?.metadata.resourceVersion !== snapshot.metadata.resourceVersion) return true;
    } else return false;
    try {
      contents.informer.putOwn(await client.create(contents.kind, { ...draft }));
      return true;
    } catch (error) {
      if (!isKubeError(error, 'AlreadyExists')) throw error;
      const content = await client.find(contents.kind, { name });
      if (content !== undefined) contents.informer.putOwn(content);
      return content !== undefined && contents.informer.get({ name }) !== undefined;
    }
  }

  /** Whether it is still there, and the store shows it as it is. */
  async #refresh({ kind, informer }: Home<VolumeSnapshot>, known: VolumeSnapshot) {
    const { name, namespace, uid, resourceVersion } = known.metadata;
    const live = await this.#cluster.client.find(kind, { namespace, name });
    if (live === undefined || live.metadata.uid !== uid) return false;
    if (live.metadata.resourceVersion !== resourceVersion) informer.putOwn(live);
    const shown = informer.get({ namespace, name })?.metadata.resourceVersion;
    return shown === live.metadata.resourceVersion;
  }

  async #tell(home: Home<VolumeSnapshot>, snapshot: VolumeSnapshot, news: SnapshotNews) {
    const { event, creationNs, ...told } = news;
    const creationTime =
      creationNs === undefined ? {} : { creationTime: timeOf(Number(creationNs / 1_000_000n)) };
    const status = { ...told, ...creationTime };
    const isSeen = await this.#patch(home, snapshot, { status }, 'status');
    if (event !== undefined) this.#event(home.kind, snapshot, { type: 'Normal', ...event });
    return isSeen;
  }

  async #fail(
    home: Home<VolumeSnapshot>,
    snapshot: VolumeSnapshot,
    { reason, message }: { readonly reason: string; readonly message: string },
  ): Promise<void> {
    const status = failedStatus(snapshot.status, message, timeOf(this.#cluster.wall()));
    if (status === undefined) return;
    this.#event(home.kind, snapshot, { type: 'Warning', reason, message });
    await this.#patch(home, snapshot, { status }, 'status');
  }

  /** Only as we know it. Whether the store shows what was written. */
  async #patch<T extends KubeObject>(
    { kind, informer }: Home<T>,
    object: T,
    change: { readonly metadata?: object; readonly spec?: object; readonly status?: object },
    subresource?: 'status',
  ): Promise<boolean> {
    const { namespace, name, resourceVersion } = object.metadata;
    const body = { ...change, metadata: { ...change.metadata, resourceVersion } };
    const place = namespace === undefined ? { name } : { namespace, name };
    const options = subresource === undefined ? {} : { subresource };
    try {
      const patch = { type: 'merge', body } as const;
      const written = await this.#cluster.client.patch(kind, place, patch, options);
      informer.putOwn(written);
      const shown = informer.get(place)?.metadata.resourceVersion;
      return shown === written.metadata.resourceVersion;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return false;
      throw error;
    }
  }

  #event(kind: Kind<VolumeSnapshot>, snapshot: VolumeSnapshot, text: EventText): void {
    const { namespace = '', name, uid } = snapshot.metadata;
    const { type, reason, message } = text;
    const about = { apiVersion: apiVersionOf(kind), kind: kind.kind, namespace, name, uid };
    this.#cluster.recorder.event(about, { type, reason, message });
  }
}

type Place = { readonly namespace?: string | undefined; readonly name: string };

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}
