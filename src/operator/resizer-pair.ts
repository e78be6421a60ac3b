import type { PersistentVolumeClaim } from '../api/objects/claim.ts';
import type { PersistentVolume } from '../api/objects/persistent-volume.ts';
import type { KubeClient } from '../kube/client.ts';
import { isKubeError } from '../kube/errors.ts';
import type { Informer } from '../kube/informer.ts';
import type { ObjectName } from '../kube/kind.ts';
import { claimKind, persistentVolumeKind } from '../kube/kinds.ts';
import type { EventSubject } from '../kube/recorder.ts';

/** A claim and the volume that it names, if there is one. */
export type Pair = {
  readonly claim: PersistentVolumeClaim;
  readonly volume: PersistentVolume | undefined;
};

/** `changed`: somebody else wrote first, so it must be decided anew. */
export type Written<T> = T | 'changed' | 'gone';

export type PairParts = {
  readonly client: Pick<KubeClient, 'find' | 'patch'>;
  readonly claims: Pick<Informer<PersistentVolumeClaim>, 'get' | 'putOwn'>;
  readonly volumes: Pick<Informer<PersistentVolume>, 'get' | 'putOwn'>;
};

/** Claims with their volumes: seen in the stores, looked up at the server, written to. */
export class Pairs {
  readonly #parts: PairParts;

  constructor(parts: PairParts) {
    this.#parts = parts;
  }

  seen(name: ObjectName): Pair | undefined {
    const { claims, volumes } = this.#parts;
    const claim = claims.get(name);
    if (claim === undefined) return undefined;
    const { volumeName } = claim.spec;
    const volume = volumeName === undefined ? undefined : volumes.get({ name: volumeName });
    return { claim, volume };
  }

  async live({ name, namespace }: ObjectName, signal: AbortSignal): Promise<Pair | undefined> {
    const { client } = this.#parts;
    const claim = await client.find(claimKind, { name, namespace }, { signal });
    if (claim === undefined) return undefined;
    const { volumeName } = claim.spec;
    const volume =
      volumeName === undefined
        ? undefined
        : await client.find(persistentVolumeKind, { name: volumeName }, { signal });
    return { claim, volume };
  }

  /** Of the status; annotations travel with it. */
  patchClaim<T extends Pair>(pair: T, body: object, signal: AbortSignal): Promise<Written<T>> {
    const { client, claims } = this.#parts;
    const { name, namespace } = pair.claim.metadata;
    return unlessChanged(async () => {
      const patch = { type: 'merge', body } as const;
      const options = { subresource: 'status', signal };
      const claim = await client.patch(claimKind, { name, namespace }, patch, options);
      claims.putOwn(claim);
      return { ...pair, claim };
    });
  }

  patchVolume<T extends Pair>(pair: T, body: object, signal: AbortSignal): Promise<Written<T>> {
    const { client, volumes } = this.#parts;
    const name = pair.volume?.metadata.name ?? '';
    return unlessChanged(async () => {
      const patch = { type: 'merge', body } as const;
      const volume = await client.patch(persistentVolumeKind, { name }, patch, { signal });
      volumes.putOwn(volume);
      return { ...pair, volume };
    });
  }
}

/** A claim as events name it. */
export function subjectOf({ metadata }: PersistentVolumeClaim): EventSubject {
  const { name, namespace = '', uid } = metadata;
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
}

/** As Kubernetes writes times: whole seconds. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

/** What log lines about a claim have in common. */
export function fieldsOf({ claim, volume }: Pair) {
  return {
    claim: `${claim.metadata.namespace}/${claim.metadata.name}`,
    volume: volume?.spec.csi?.volumeHandle,
  };
}

async function unlessChanged<T>(write: () => Promise<T>): Promise<Written<T>> {
  try {
    return await write();
  } catch (error) {
    if (isKubeError(error, 'Conflict')) return 'changed';
    if (isKubeError(error, 'NotFound')) return 'gone';
    throw error;
  }
}
