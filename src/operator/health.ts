import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { BugError } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import {
  decideHealth,
  type HealthDecision,
  isClaimOf,
  type NodeTrouble,
  nodeTrouble,
} from '../core/cluster/health.ts';
import { isKubeError } from '../kube/errors.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import { type Again, WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import { onClaimChange } from './resizer.ts';
import { subjectOf } from './resizer-pair.ts';

/** Claims are told when something is wrong with their volume or its node, and when it is well. */
export class VolumeHealth implements Duty {
  readonly #cluster: Cluster;
  /** Nodes that are away, by name, and since when we know it. */
  readonly #troubles = new Map<string, { readonly what: NodeTrouble; readonly sinceMs: number }>();
  /** What was told and could not be noted yet, by the UID of the LogicalVolume. */
  readonly #unnoted = new Map<string, string>();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { stores, clock, chance, log } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1 },
      ...{ firstWaitMs: limits.expandRetryMs, longestWaitMs: limits.infeasibleRetryMs },
      work: (name, stop) => this.#round(name, stop),
      trouble: (logicalVolume, error, waitMs) => {
        if (error instanceof BugError) throw error;
        const message = `a claim could not be told of its volume: ${String(error)}`;
        log({ level: 'warn', message, logicalVolume, waitMs });
      },
    });
    const look = (volume: LogicalVolume | undefined) => {
      if (volume !== undefined && this.#decide(volume).kind !== 'rest') {
        queue.add(volume.metadata.name);
      }
    };
    const { logicalVolumes, volumes, claims, nodes } = stores;
    const lookOnNode = (name: string) => {
      for (const volume of logicalVolumes.values()) if (volume.spec.nodeName === name) look(volume);
    };
    const ends = [
      logicalVolumes.onChange((change) => {
        if (change.type === 'deleted') this.#unnoted.delete(change.object.metadata.uid);
        else look(change.object);
      }),
      // A claim gets a volume that something was wrong with before.
      ...onClaimChange(
        { claims, volumes },
        {
          changed: (name) => {
            const volumeName = claims.get(name)?.spec.volumeName;
            if (volumeName !== undefined) look(logicalVolumes.get({ name: volumeName }));
          },
        },
      ),
      nodes.onChange((change) => {
        const isNews =
          change.type !== 'modified' || nodeTrouble(change.before) !== nodeTrouble(change.object);
        if (isNews) lookOnNode(change.object.metadata.name);
      }),
    ];
    try {
      await queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }

  #decide(logicalVolume: LogicalVolume): HealthDecision {
    const { clock } = this.#cluster;
    const trouble = this.#troubleOf(logicalVolume.spec.nodeName);
    return decideHealth({
      ...{ logicalVolume, findClaim: () => this.#claimOf(logicalVolume) },
      ...{ trouble: trouble?.what, troubleSinceMs: trouble?.sinceMs ?? 0, nowMs: clock.nowMs() },
    });
  }

  #troubleOf(name: string) {
    const { stores, clock } = this.#cluster;
    const what = nodeTrouble(stores.nodes.get({ name }));
    const before = this.#troubles.get(name);
    if (what === undefined) this.#troubles.delete(name);
    else if (before?.what !== what) {
      this.#troubles.set(name, { what, sinceMs: before?.sinceMs ?? clock.nowMs() });
    }
    return this.#troubles.get(name);
  }

  /** By the handle: a volume may have come to another claim than the one it was made for. */
  #claimOf({ metadata, spec, status }: LogicalVolume): PersistentVolumeClaim | undefined {
    const { volumes, claims } = this.#cluster.stores;
    const handle = status?.volumeID ?? metadata.uid;
    const isIt = (source: { driver: string; volumeHandle: string } | undefined) =>
      source?.driver === this.#cluster.names.driver && source.volumeHandle === handle;
    const named = volumes.get({ name: spec.name });
    const volume = isIt(named?.spec.csi)
      ? named
      : [...volumes.values()].find((candidate) => isIt(candidate.spec.csi));
    const { name, namespace } = volume?.spec.claimRef ?? {};
    const claim = name === undefined ? undefined : claims.get({ name, namespace });
    if (claim === undefined || volume === undefined) return undefined;
    return isClaimOf(claim, volume) ? claim : undefined;
  }

  async #round(name: string, signal: AbortSignal): Promise<Again> {
    const { stores, client, names, recorder, log } = this.#cluster;
    const volume = stores.logicalVolumes.get({ name });
    if (volume === undefined) return undefined;
    const decision = this.#decide(volume);
    if (decision.kind === 'rest') return undefined;
    if (decision.kind === 'wait') return { afterMs: decision.afterMs };
    const { uid } = volume.metadata;
    const { claim, events, newsKey, patch } = decision;
    // Told first: a note without a word to anybody would hide that a volume is in danger.
    if (this.#unnoted.get(uid) !== newsKey) {
      this.#unnoted.set(uid, newsKey);
      for (const event of events) {
        recorder.event(subjectOf(claim), event);
        log({ level: 'warn', message: event.message, volume: uid });
      }
    }
    try {
      const kind = logicalVolumeKind(names.domain);
      const body = { type: 'merge', body: patch } as const;
      stores.logicalVolumes.putOwn(await client.patch(kind, { name }, body, { signal }));
      this.#unnoted.delete(uid);
      return undefined;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined;
      // The watch brings what changed, and with it another look.
      if (isKubeError(error, 'Conflict')) return { afterMs: limits.expandRetryMs };
      throw error;
    }
  }
}
