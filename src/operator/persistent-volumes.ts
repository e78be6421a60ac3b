import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import { limits } from '../base/limits.ts';
import { freedFrom, hostLabel, missingHost } from '../core/cluster/persistent-volume.ts';
import { isKubeError } from '../kube/errors.ts';
import { persistentVolumeKind } from '../kube/kinds.ts';
import { type Patch, pointer } from '../kube/patch.ts';
import { WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import { aboutVolume, isTrouble } from './provisioner-events.ts';

/** What LVMS does to PersistentVolumes of its classes: the label of their node, and a warning. */
export class PersistentVolumes implements Duty {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance, log, stores, names } = this.#cluster;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: 1 },
      ...{ firstWaitMs: limits.clusterRetryMs, longestWaitMs: limits.clusterRetryMsMax },
      work: async (name, until) => {
        await this.#label(name, until);
        return undefined;
      },
      trouble: (volume, error, waitMs) => {
        if (!isTrouble(error)) throw error;
        log({ level: 'warn', message: error.message, volume, waitMs });
      },
    });
    const end = stores.volumes.onChange((change) => {
      if (change.type === 'deleted') return;
      const { object } = change;
      if (missingHost(object, names) !== undefined) queue.add(object.metadata.name);
      if (change.type === 'modified') this.#tellIfFreed(change.before, object);
    });
    try {
      await queue.run(signal);
    } finally {
      end();
    }
  }

  async #label(name: string, signal: AbortSignal): Promise<void> {
    const { client, stores, names } = this.#cluster;
    const volume = stores.volumes.get({ name });
    const host = volume === undefined ? undefined : missingHost(volume, names);
    if (volume === undefined || host === undefined) return;
    const patch = labelOn(volume, host);
    try {
      const written = await client.patch(persistentVolumeKind, volume.metadata, patch, { signal });
      stores.volumes.putOwn(written);
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
    }
  }

  #tellIfFreed(before: PersistentVolume, volume: PersistentVolume): void {
    const { recorder, names } = this.#cluster;
    const claim = freedFrom(before, volume, names);
    if (claim === undefined) return;
    const message = `claim ${claim} does not hold it any more: whoever claims it next gets the \
data that is in it`;
    const reason = 'ClaimReferenceRemoved';
    recorder.event(aboutVolume(volume), { type: 'Warning', reason, message });
  }
}

/** Only on the object as it is known: somebody else may label it at the same moment. */
function labelOn({ metadata }: PersistentVolume, host: string): Patch {
  const { resourceVersion, labels } = metadata;
  const add =
    labels === undefined
      ? { op: 'add', path: pointer('metadata', 'labels'), value: { [hostLabel]: host } }
      : { op: 'add', path: pointer('metadata', 'labels', hostLabel), value: host };
  const test = { op: 'test', path: pointer('metadata', 'resourceVersion'), value: resourceVersion };
  return { type: 'json', operations: [test, add] } as Patch;
}
