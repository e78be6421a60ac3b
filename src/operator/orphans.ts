import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { claimAnnotation } from '../core/cluster/names.ts';
import {
  decideOrphan,
  type OrphanDecision,
  type Owners,
  orphanGraceMs,
  type SnapshotOwners,
  snapshotOwners,
} from '../core/cluster/orphans.ts';
import { skewOfOperator } from '../core/cluster/skew.ts';
import { isKubeError } from '../kube/errors.ts';
import { apiVersionOf } from '../kube/kind.ts';
import { claimKind, logicalVolumeKind, persistentVolumeKind } from '../kube/kinds.ts';
import type { Cluster, Duty } from './duty.ts';
import { Since, sweep } from './orphans-sweep.ts';
import type { GroupKinds, SnapshotKinds } from './snapshotter-kinds.ts';

/** How often everything is looked at. */
export const orphanTimes = { everyMs: 60_000, graceMs: orphanGraceMs } as const;

type Found = { readonly volume: LogicalVolume; readonly decision: Orphan };
type Orphan = Exclude<OrphanDecision, { readonly kind: 'leave' }>;

/** Whoever has snapshots; somebody else runs what watches. */
export type SnapshotSights = {
  readonly kinds: Pick<SnapshotKinds, 'contents'>;
  readonly groups: Pick<GroupKinds, 'contents'>;
};

/** Finds volumes that nobody has. They are told of; removed is only what nobody can ever have had. */
export class Orphans implements Duty {
  readonly #cluster: Cluster;
  readonly #snapshots: SnapshotSights | undefined;
  readonly #since = new Since();
  #told = new Set<string>();
  #found: readonly Found[] = [];

  constructor(cluster: Cluster, snapshots?: SnapshotSights) {
    this.#cluster = cluster;
    this.#snapshots = snapshots;
  }

  run(signal: AbortSignal): Promise<void> {
    return sweep(this.#cluster, orphanTimes.everyMs, (stop) => this.#look(stop), signal);
  }

  /** How many there are, by reason. */
  figures(): readonly { readonly reason: string; readonly count: number }[] {
    const reasons = [
      ...(['claim-gone', 'no-persistent-volume', 'no-snapshot-content'] as const),
      'never-published' as const,
    ];
    return reasons.map((reason) => ({
      reason,
      count: this.#found.filter(({ decision }) => decision.reason === reason).length,
    }));
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { stores, clock } = this.#cluster;
    const owners = this.#owners();
    const found: Found[] = [];
    for (const volume of stores.logicalVolumes.values()) {
      const decision = decideOrphan(volume, owners);
      if (decision.kind !== 'leave') found.push({ volume, decision });
    }
    const uids = found.map(({ volume }) => volume.metadata.uid);
    const ages = this.#since.seen(uids, clock.nowMs());
    const isOld = ({ volume }: Found) =>
      (ages.get(volume.metadata.uid) ?? 0) >= orphanTimes.graceMs;
    this.#found = found.filter(isOld);
    this.#told = new Set([...this.#told].filter((uid) => uids.includes(uid)));
    for (const { volume, decision } of this.#found) {
      if (signal.aborted) return;
      const isTold = decision.kind === 'report' || (await this.#remove(volume, signal));
      if (isTold) this.#tell(volume, decision);
    }
  }

  #owners(): Owners {
    const { stores, names } = this.#cluster;
    const volumes = [...stores.volumes.values()];
    const ours = volumes.filter(({ spec }) => spec.csi?.driver === names.driver);
    return {
      claims: new Set([...stores.claims.values()].map(({ metadata }) => metadata.uid)),
      handles: new Set(ours.map(({ spec }) => spec.csi?.volumeHandle ?? '')),
      volumes: new Set(volumes.map(({ metadata }) => metadata.name)),
      snapshots: this.#snapshotOwners(),
    };
  }

  /** Where a kind is not served, or was not read yet, a missing object means nothing. */
  #snapshotOwners(): SnapshotOwners | undefined {
    const contents = this.#snapshots?.kinds.contents.current;
    if (contents === undefined) return undefined;
    const groups = this.#snapshots?.groups.contents.current;
    return snapshotOwners(contents.informer.values(), groups?.informer.values());
  }

  #tell({ metadata }: LogicalVolume, orphan: Orphan): void {
    const { recorder, log, names } = this.#cluster;
    const { message } = orphan;
    const kind = logicalVolumeKind(names.domain);
    const { uid, name } = metadata;
    if (this.#told.has(uid)) return;
    this.#told.add(uid);
    const about = { apiVersion: apiVersionOf(kind), kind: 'LogicalVolume', name, uid };
    const reason = orphan.kind === 'remove' ? 'OrphanRemoved' : 'OrphanedVolume';
    recorder.event(about, { type: 'Warning', reason, message });
    log({ level: 'warn', message, volume: uid });
  }

  /** What the stores say is asked of the server itself, and only the object as it is now is deleted. */
  async #remove(known: LogicalVolume, signal: AbortSignal): Promise<boolean> {
    const { client, names, stores, build } = this.#cluster;
    const node = stores.nodes.get({ name: known.spec.nodeName });
    if (skewOfOperator(node, build) !== undefined) return false;
    const kind = logicalVolumeKind(names.domain);
    const { name, uid } = known.metadata;
    const volume = await client.find(kind, { name }, { signal });
    if (volume === undefined || volume.metadata.uid !== uid) return false;
    if (decideOrphan(volume, await this.#ownersNow(volume, signal)).kind !== 'remove') return false;
    const { resourceVersion } = volume.metadata;
    try {
      return await client.delete(kind, { name }, { uid, resourceVersion, signal });
    } catch (error) {
      // Somebody wrote to it meanwhile, perhaps to publish it.
      if (!isKubeError(error, 'Conflict')) throw error;
      return false;
    }
  }

  async #ownersNow({ metadata }: LogicalVolume, signal: AbortSignal): Promise<Owners> {
    const { client } = this.#cluster;
    const known = this.#owners();
    const [namespace = '', claimName = ''] = (metadata.annotations?.[claimAnnotation] ?? '').split(
      '/',
    );
    const { name } = metadata;
    const volume = await client.find(persistentVolumeKind, { name }, { signal });
    const claim = await client.find(claimKind, { namespace, name: claimName }, { signal });
    return {
      ...known,
      claims: new Set([...known.claims, ...(claim === undefined ? [] : [claim.metadata.uid])]),
      volumes: new Set([...known.volumes, ...(volume === undefined ? [] : [name])]),
    };
  }
}
