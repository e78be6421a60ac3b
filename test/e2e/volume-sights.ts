import { setTimeout as sleep } from 'node:timers/promises';
import { bytesOf } from './quantity.ts';
import type { E2eStage } from './stage.ts';

/** What can be seen of one volume at a moment, in the cluster and on its node. */
export type VolumeSight = {
  readonly hasClaim: boolean;
  readonly isBound: boolean;
  readonly claimBytes: bigint;
  readonly hasVolume: boolean;
  readonly volumeBytes: bigint;
  /** Its LogicalVolume. */
  readonly hasRecord: boolean;
  readonly isGoing: boolean;
  readonly isMade: boolean;
  readonly wantedBytes: bigint;
  readonly madeBytes: bigint;
  readonly hasDevice: boolean;
  /** Kubelet has begun with it, and ended. */
  readonly isAsked: boolean;
  readonly isMounted: boolean;
};

type Meta = { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
type Claim = {
  readonly metadata: Meta;
  readonly status?: { readonly phase?: string; readonly capacity?: { readonly storage: string } };
};
type Volume = {
  readonly metadata: Meta;
  readonly spec: { readonly capacity: { readonly storage: string } };
};
type Logical = {
  readonly metadata: Meta;
  readonly spec: { readonly size: string };
  readonly status?: { readonly volumeID?: string; readonly currentSize?: string };
};

/** Follows the volumes of some claims on one node. */
export class VolumeSights {
  readonly #stage: E2eStage;
  readonly #node: string;
  readonly #claims: readonly string[];
  /** UIDs of claims, and names of LVs, as they were seen once: they outlive their objects. */
  readonly #uids = new Map<string, string>();
  readonly #lvs = new Map<string, string>();

  constructor(stage: E2eStage, node: string, claims: readonly string[]) {
    this.#stage = stage;
    this.#node = node;
    this.#claims = claims;
  }

  /** Names of the LVs, of all volumes that were ever seen. */
  get lvs(): readonly string[] {
    return [...this.#lvs.values()];
  }

  async look(): Promise<readonly VolumeSight[]> {
    const [claims, volumes, records, onNode] = await Promise.all([
      this.#list<Claim>('/api/v1/namespaces/default/persistentvolumeclaims'),
      this.#list<Volume>('/api/v1/persistentvolumes'),
      this.#list<Logical>('/apis/topolvm.io/v1/logicalvolumes'),
      this.#stage.cluster.node(this.#node).sh(onNodeScript),
    ]);
    return this.#claims.map((name) => {
      const claim = claims.get(name);
      if (claim !== undefined) this.#uids.set(name, claim.metadata.uid);
      const volumeName = `pvc-${this.#uids.get(name)}`;
      const record = records.get(volumeName);
      if (record !== undefined) this.#lvs.set(name, record.metadata.uid);
      const device = `data-${(this.#lvs.get(name) ?? 'none').replaceAll('-', '--')}`;
      return {
        ...sightOf(claim, volumes.get(volumeName), record),
        hasDevice: onNode.split('\n').includes(device),
        isAsked: onNode.includes(`/${volumeName}/vol_data.json`),
        isMounted: onNode.includes(`/${volumeName}/mount `),
      };
    });
  }

  async #list<T extends { readonly metadata: Meta }>(
    path: string,
  ): Promise<ReadonlyMap<string, T>> {
    const list = await this.#stage.cluster.api.get<{ readonly items: readonly T[] }>(path);
    return new Map((list?.items ?? []).map((one) => [one.metadata.name, one]));
  }
}

const onNodeScript = `
cat /sys/block/dm-*/dm/name 2>/dev/null
cd /var/lib/kubelet/pods && ls -d */volumes/kubernetes.io~csi/*/vol_data.json 2>/dev/null
cat /proc/mounts`;

function sightOf(
  claim: Claim | undefined,
  volume: Volume | undefined,
  record: Logical | undefined,
): Omit<VolumeSight, 'hasDevice' | 'isAsked' | 'isMounted'> {
  return {
    hasClaim: claim !== undefined,
    isBound: claim?.status?.phase === 'Bound',
    claimBytes: bytesOf(claim?.status?.capacity?.storage ?? '0'),
    hasVolume: volume !== undefined,
    volumeBytes: bytesOf(volume?.spec.capacity.storage ?? '0'),
    hasRecord: record !== undefined,
    isGoing: record === undefined || record.metadata.deletionTimestamp !== undefined,
    isMade: record?.status?.volumeID !== undefined,
    wantedBytes: bytesOf(record?.spec.size ?? '0'),
    madeBytes: bytesOf(record?.status?.currentSize ?? '0'),
  };
}

/** How far something has come: so many of all that will be true of its volumes. */
export type Progress = { readonly done: number; readonly all: number };

export function progressOf<T>(
  things: readonly T[],
  steps: readonly ((thing: T) => boolean)[],
): Progress {
  const done = steps.reduce((sum, step) => sum + things.filter(step).length, 0);
  return { done, all: steps.length * things.length };
}

const stepWithinMs = 240_000;

/** Looks as often as it can until so much is done, and tells how much was. */
export async function untilDone(look: () => Promise<Progress>, wanted: number): Promise<number> {
  const deadlineMs = performance.now() + stepWithinMs;
  for (;;) {
    const { done } = await look();
    if (done >= wanted) return done;
    if (performance.now() > deadlineMs) {
      throw new Error(`${done} of ${wanted} steps after ${stepWithinMs} ms`);
    }
    await sleep(20);
  }
}
