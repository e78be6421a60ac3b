import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { StorageClass } from '../api/objects/storage.ts';
import { type Blocked, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { showBytes } from '../base/show.ts';
import { unpublishedAnnotation } from '../core/cluster/names.ts';
import {
  type ClaimDecision,
  type ClaimView,
  checkMade,
  claimUidOf,
  classNameOf,
  decideClaim,
  type Hold,
  heldMs,
  holdFor,
  isInfeasible,
  isWaiting,
  isWorthTelling,
  type MadeVolume,
  mayBegin,
  mayMove,
  volumeNameOf,
} from '../core/cluster/provisioning.ts';
import { type FoundSource, wantedSource } from '../core/cluster/sources.ts';
import { selectedNode, selectedNodeAnnotation } from '../core/cluster/topology.ts';
import { KubeError } from '../kube/errors.ts';
import type { ObjectName } from '../kube/kind.ts';
import { claimKind, logicalVolumeKind } from '../kube/kinds.ts';
import { pointer } from '../kube/patch.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import type { Asked } from './endings.ts';
import { aboutClaim, asFailure, failed, isTrouble } from './provisioner-events.ts';
import { publish } from './provisioner-publish.ts';
import { findAttributes, findSource, guardSource } from './provisioner-sources.ts';
import { untilAnswered } from './provisioner-wait.ts';

type Creation = Extract<ClaimDecision, { readonly kind: 'create' }>;

/** One claim while it is worked on. */
type Turn = {
  readonly claim: PersistentVolumeClaim;
  readonly source: FoundSource;
  readonly signal: AbortSignal;
};

/**
 * Makes a volume for each claim that waits for one. What was begun is remembered by the
 * LogicalVolume alone: a process that dies at any point leaves nothing that the next one needs.
 */
export class Provisioner implements Duty {
  readonly #cluster: Cluster;
  readonly #identity: string;
  #queue: WorkQueue;
  /** Claims that wait, by UID: a name may be used again by another claim. */
  readonly #waiting = new Map<string, ObjectName>();
  readonly #holds = new Map<string, Hold>();
  /** Claims and classes of which something was told that is worth telling once. */
  readonly #told = new Set<string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
    const { wall, chance, names } = cluster;
    this.#identity = `${wall()}-${Math.floor(chance() * 10_000)}-${names.driver}`;
    this.#queue = this.#newQueue();
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#queue = this.#newQueue();
    const ends = this.#listen();
    try {
      await this.#queue.run(signal);
    } finally {
      for (const end of ends) end();
      for (const memory of [this.#waiting, this.#holds, this.#told]) memory.clear();
    }
  }

  #newQueue(): WorkQueue {
    const { clock, chance, log } = this.#cluster;
    return new WorkQueue({
      ...{ clock, chance, workers: limits.clusterWorkers },
      ...{ firstWaitMs: limits.clusterRetryMs, longestWaitMs: limits.clusterRetryMsMax },
      work: (uid, signal) => this.#work(uid, signal),
      trouble: (uid, error, waitMs) => {
        if (!isTrouble(error)) throw error;
        log({ level: 'warn', message: error.message, volume: `pvc-${uid}`, waitMs });
      },
    });
  }

  /** Whatever a claim waits for wakes it. */
  #listen(): readonly (() => void)[] {
    const { claims, classes, csiNodes, logicalVolumes, volumes } = this.#cluster.stores;
    return [
      claims.onChange((change) => {
        const { object } = change;
        if (change.type !== 'deleted' && isWaiting(object, this.#cluster.names.driver)) {
          this.#waiting.set(object.metadata.uid, object.metadata);
          this.#queue.add(object.metadata.uid);
        } else this.#forget(object.metadata.uid);
        if (change.type !== 'modified' || object.status?.phase !== 'Bound') return;
        if (change.before.status?.phase !== 'Bound') this.#wake((one) => isCopyOf(one, object));
      }),
      classes.onChange(({ type, object }) => {
        if (type === 'deleted') return;
        const { name } = object.metadata;
        this.#told.delete(name);
        this.#wake((claim) => classNameOf(claim) === name);
      }),
      csiNodes.onChange(({ type, object }) => {
        const { name } = object.metadata;
        if (type !== 'deleted') this.#wake((claim) => (selectedNode(claim) ?? name) === name);
      }),
      logicalVolumes.onChange(({ object }) => {
        if (object.status?.volumeID !== undefined) this.#wakeFor(object.metadata.name);
      }),
      volumes.onChange(({ type, object }) => {
        if (type === 'deleted') this.#wakeFor(object.metadata.name);
      }),
    ];
  }

  #forget(uid: string): void {
    this.#cluster.endings.forget(creationOf(uid));
    this.#waiting.delete(uid);
    this.#holds.delete(uid);
    this.#told.delete(uid);
  }

  #wake(isMeant: (claim: PersistentVolumeClaim) => boolean): void {
    for (const [uid, name] of this.#waiting) {
      const claim = this.#cluster.stores.claims.get(name);
      if (claim?.metadata.uid === uid && isMeant(claim)) this.#queue.add(uid);
    }
  }

  #wakeFor(volumeName: string): void {
    const uid = claimUidOf(volumeName);
    if (uid !== undefined && this.#waiting.has(uid)) this.#queue.add(uid);
  }

  async #work(uid: string, signal: AbortSignal): Promise<Again> {
    const { client, stores, clock } = this.#cluster;
    const name = this.#waiting.get(uid);
    const known = name === undefined ? undefined : stores.claims.get(name);
    if (name === undefined || known?.metadata.uid !== uid) return undefined;
    if (!mayBegin(this.#view(known))) return undefined;
    const waitMs = heldMs(this.#holds.get(uid), this.#classOf(known), clock.nowMs());
    if (waitMs > 0) return { afterMs: waitMs };
    // The store may lag behind: a claim that was bound or deleted since must not get a volume.
    const claim = await client.find(claimKind, name, { signal });
    if (claim?.metadata.uid !== uid || !mayBegin(this.#view(claim))) return undefined;
    this.#cluster.endings.begun(creationOf(uid));
    try {
      return await this.#decide(claim, signal);
    } catch (error) {
      // What we may not write, for example. What passes by itself nobody is told.
      if (error instanceof KubeError) this.#failed(claim, asFailure(error));
      throw error;
    }
  }

  async #decide(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<Again> {
    const source = await findSource(this.#cluster, claim, signal);
    const attributes = await findAttributes(this.#cluster, claim, signal);
    const decision = decideClaim({ ...this.#view(claim), source, attributes });
    return this.#carryOut(decision, { claim, source, signal });
  }

  async #carryOut(decision: ClaimDecision, turn: Turn): Promise<Again> {
    const { claim, signal } = turn;
    switch (decision.kind) {
      case 'leave':
        return undefined;
      case 'populate':
        if (this.#isNews(claim.metadata.uid)) this.#tell(claim, 'Provisioning', decision.message);
        return undefined;
      case 'blocked':
        return this.#refused(claim, decision);
      case 'reschedule':
        await this.#reschedule(claim, decision.because, signal);
        return undefined;
      case 'create':
        return this.#create(decision, turn);
    }
  }

  async #create(decision: Creation, turn: Turn): Promise<Again> {
    const { book, clock, stores } = this.#cluster;
    const { order, nodes } = decision;
    const { claim, signal } = turn;
    this.#noteSecrets(decision);
    await guardSource(this.#cluster, turn.source, signal);
    this.#tell(claim, 'Provisioning', `making the volume ${order.name}`);
    const what = () => {
      const node = stores.logicalVolumes.get({ name: order.name })?.spec.nodeName;
      const it = order.source === undefined ? 'the volume is not made' : 'the copy is not complete';
      return `${it} on ${node ?? nodes?.join(' or ') ?? 'any node'}`;
    };
    let made: MadeVolume;
    try {
      made = await untilAnswered({ clock, signal, what }, (until) =>
        book.create(order, nodes, until),
      );
    } catch (error) {
      if (error instanceof OperationError) return this.#notMade(turn, error);
      throw error;
    }
    const wrong = checkMade(order, made);
    if (wrong !== undefined) return this.#undo(turn, made, wrong);
    const isClaimed = stores.claims.get(claim.metadata)?.metadata.uid === claim.metadata.uid;
    if (!isClaimed) return this.#collect(turn, made);
    const { storageClass, parameters } = decision;
    const { names } = this.#cluster;
    const identity = this.#identity;
    try {
      const publication = { claim, storageClass, parameters, made, names, identity };
      await publish(this.#cluster, publication, signal);
    } catch (error) {
      if (error instanceof OperationError) return this.#refused(claim, error);
      throw error;
    }
    const text = `made the volume ${order.name} of ${showBytes(made.sizeBytes)} on ${made.node}`;
    this.#tell(claim, 'ProvisioningSucceeded', text);
    const isCopy = order.source !== undefined;
    this.#cluster.endings.done({ ...creationOf(claim.metadata.uid), isCopy });
    const { id, node } = made;
    this.#cluster.log({ level: 'info', message: 'volume made', volume: order.name, id, node });
    return undefined;
  }

  /** The claim goes elsewhere only if nothing can appear where it was. */
  async #notMade({ claim, signal }: Turn, error: OperationError): Promise<Again> {
    const { client, names } = this.#cluster;
    if (!mayMove(error.code, claim)) return this.#refused(claim, error);
    const name = { name: volumeNameOf(claim) };
    const record = await client.find(logicalVolumeKind(names.domain), name, { signal });
    if (record !== undefined) return this.#refused(claim, error);
    await this.#reschedule(claim, error, signal);
    return undefined;
  }

  #refused(claim: PersistentVolumeClaim, failure: Blocked | OperationError): Again {
    const { clock } = this.#cluster;
    this.#failed(claim, failure);
    if (!isInfeasible(failure.code))
      throw new OperationError(failure.code, failure.message, { cause: failure });
    const hold = holdFor(this.#classOf(claim), clock.nowMs());
    this.#holds.set(claim.metadata.uid, hold);
    return { afterMs: limits.claimHoldMs };
  }

  /** The scheduler waits for this: it chooses another node. */
  async #reschedule(
    claim: PersistentVolumeClaim,
    because: Blocked | OperationError,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, stores } = this.#cluster;
    this.#failed(claim, because);
    const { resourceVersion } = claim.metadata;
    const operations = [
      { op: 'test', path: pointer('metadata', 'resourceVersion'), value: resourceVersion },
      { op: 'remove', path: pointer('metadata', 'annotations', selectedNodeAnnotation) },
    ] as const;
    const patch = { type: 'json', operations } as const;
    // An old copy that still has the node would be provisioned there once more.
    stores.claims.putOwn(await client.patch(claimKind, claim.metadata, patch, { signal }));
  }

  /**
   * Its claim went meanwhile. If we do not get to it, the record says that nobody knows the volume,
   * and it is collected with the orphans.
   */
  async #collect(turn: Turn, made: MadeVolume): Promise<Again> {
    const { claim, signal } = turn;
    const now = await this.#cluster.client.find(claimKind, claim.metadata, { signal });
    if (now?.metadata.uid !== claim.metadata.uid) await this.#removeNobodys(turn, made);
    return undefined;
  }

  /** What is not what was ordered goes, if it is certain that nobody was ever given it. */
  async #undo(turn: Turn, made: MadeVolume, wrong: Blocked): Promise<Again> {
    await this.#removeNobodys(turn, made);
    return this.#refused(turn.claim, wrong);
  }

  async #removeNobodys({ claim, signal }: Turn, made: MadeVolume): Promise<void> {
    const { client, book, names, recorder, clock } = this.#cluster;
    const kind = logicalVolumeKind(names.domain);
    const record = await client.find(kind, { name: volumeNameOf(claim) }, { signal });
    const isNobodys =
      record?.metadata.uid === made.id &&
      record.metadata.annotations?.[unpublishedAnnotation] !== undefined;
    try {
      if (!isNobodys) return;
      const what = () => `${made.node} has not removed the volume ${made.id}`;
      const remove = (until: AbortSignal) => book.remove('volume', made.id, until);
      await untilAnswered({ clock, signal, what }, remove);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      recorder.event(aboutClaim(claim), failed('ProvisioningCleanupFailed', error));
    }
  }

  #view(claim: PersistentVolumeClaim): ClaimView {
    const { stores, names } = this.#cluster;
    const name = volumeNameOf(claim);
    return {
      ...{ claim, names, attributes: undefined, source: { kind: 'none' } },
      storageClass: this.#classOf(claim),
      volume: stores.volumes.get({ name }),
      record: stores.logicalVolumes.get({ name }),
      nodes: {
        node: (node) => stores.nodes.get({ name: node }),
        csiNode: (node) => stores.csiNodes.get({ name: node }),
        all: () => stores.csiNodes.values(),
      },
    };
  }

  #classOf(claim: PersistentVolumeClaim): StorageClass | undefined {
    const name = classNameOf(claim);
    return name === '' ? undefined : this.#cluster.stores.classes.get({ name });
  }

  #noteSecrets({ storageClass, parameters }: Creation): void {
    const { secretKeys } = parameters;
    const { name } = storageClass.metadata;
    if (secretKeys.length === 0 || !this.#isNews(name)) return;
    const message = 'no volume needs a secret: those of the class are not read';
    this.#cluster.log({ level: 'info', message, storageClass: name, keys: secretKeys });
  }

  #isNews(key: string): boolean {
    const isNews = !this.#told.has(key);
    this.#told.add(key);
    return isNews;
  }

  #failed(claim: PersistentVolumeClaim, failure: Blocked | OperationError): void {
    this.#cluster.endings.failed(creationOf(claim.metadata.uid), failure);
    if (!isWorthTelling(failure.code)) return;
    this.#cluster.recorder.event(aboutClaim(claim), failed('ProvisioningFailed', failure));
  }

  #tell(claim: PersistentVolumeClaim, reason: string, message: string): void {
    this.#cluster.recorder.event(aboutClaim(claim), { type: 'Normal', reason, message });
  }
}

function creationOf(uid: string): Asked {
  return { operation: 'create', key: uid };
}

function isCopyOf(claim: PersistentVolumeClaim, { metadata }: PersistentVolumeClaim): boolean {
  const wanted = wantedSource(claim);
  if (wanted.kind !== 'claim' || wanted.name !== metadata.name) return false;
  return wanted.namespace === metadata.namespace;
}
