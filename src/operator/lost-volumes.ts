import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import { idOf } from '../core/cluster/logical-volume.ts';
import { isInUse, lostMessage } from '../core/cluster/lost-volume.ts';
import { orphanGraceMs } from '../core/cluster/orphans.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import type { EventSubject } from '../kube/recorder.ts';
import type { Cluster, Duty } from './duty.ts';
import { Since, sweep } from './orphans-sweep.ts';
import { aboutVolume } from './provisioner-events.ts';

/** How often everything is looked at, and for how long it must have been so. */
export const lostTimes = { everyMs: 60_000, graceMs: orphanGraceMs } as const;

/**
 * Finds PersistentVolumes in use whose LogicalVolume is gone: somebody forced it away, or a backup
 * was restored. Both they and their claims are told, once, and nothing is done.
 */
export class LostVolumes implements Duty {
  readonly #cluster: Cluster;
  readonly #since = new Since();
  #told: ReadonlySet<string> = new Set();

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  run(signal: AbortSignal): Promise<void> {
    return sweep(this.#cluster, lostTimes.everyMs, (stop) => this.#look(stop), signal);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { stores, clock } = this.#cluster;
    const lost = this.#lostIn(handlesOf(stores.logicalVolumes.values()));
    const uids = lost.map(({ metadata }) => metadata.uid);
    const ages = this.#since.seen(uids, clock.nowMs());
    this.#told = new Set(uids.filter((uid) => this.#told.has(uid)));
    const news = lost.filter(({ metadata: { uid } }) => {
      return (ages.get(uid) ?? 0) >= lostTimes.graceMs && !this.#told.has(uid);
    });
    if (news.length === 0) return;
    const confirmed = await this.#confirmed(news);
    if (signal.aborted) return;
    for (const volume of confirmed) this.#tell(volume);
  }

  #lostIn(handles: ReadonlySet<string>): readonly PersistentVolume[] {
    const { stores, names } = this.#cluster;
    return [...stores.volumes.values()].filter(
      (volume) =>
        isInUse(volume, names.driver) && !handles.has(volume.spec.csi?.volumeHandle ?? ''),
    );
  }

  /** A watch may have missed what is there: only the server can say that it is gone. */
  async #confirmed(news: readonly PersistentVolume[]): Promise<readonly PersistentVolume[]> {
    const { client, names } = this.#cluster;
    const { items } = await client.list(logicalVolumeKind(names.domain));
    const handles = handlesOf(items);
    return news.filter(({ spec }) => !handles.has(spec.csi?.volumeHandle ?? ''));
  }

  #tell(volume: PersistentVolume): void {
    const { stores, recorder, log } = this.#cluster;
    this.#told = new Set([...this.#told, volume.metadata.uid]);
    const message = lostMessage(volume, stores.nodes.values());
    for (const about of [aboutVolume(volume), ...claimOf(volume)]) {
      recorder.event(about, { type: 'Warning', reason: 'LogicalVolumeMissing', message });
    }
    log({ level: 'warn', message, volume: volume.spec.csi?.volumeHandle });
  }
}

function claimOf({ spec }: PersistentVolume): readonly EventSubject[] {
  const { name, namespace, uid } = spec.claimRef ?? {};
  if (name === undefined || namespace === undefined || uid === undefined) return [];
  return [{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid }];
}

function handlesOf(volumes: Iterable<Parameters<typeof idOf>[0]>): ReadonlySet<string> {
  return new Set([...volumes].flatMap((volume) => [volume.metadata.uid, idOf(volume)]));
}
