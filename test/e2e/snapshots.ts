import assert from 'node:assert/strict';
import { type Look, waitUntil } from '../../lab/cluster/wait.ts';
import {
  ensureSnapshotController,
  installKinds,
  SnapshotController,
  type SnapshotParts,
} from '../../lab/snapshots/index.ts';
import type { E2eStage } from './stage.ts';

export const snapshotGroup = 'snapshot.storage.k8s.io';
export const groupSnapshotGroup = 'groupsnapshot.storage.k8s.io';

type Meta = {
  readonly name: string;
  readonly uid: string;
  readonly deletionTimestamp?: string;
};

export type Snapshot = {
  readonly metadata: Meta;
  readonly spec: { readonly source: { readonly persistentVolumeClaimName?: string } };
  readonly status?: {
    readonly boundVolumeSnapshotContentName?: string;
    readonly readyToUse?: boolean;
    readonly restoreSize?: string;
    readonly volumeGroupSnapshotName?: string;
    readonly error?: { readonly message?: string };
  };
};

export type SnapshotContent = {
  readonly metadata: Meta;
  readonly status?: { readonly snapshotHandle?: string; readonly readyToUse?: boolean };
};

/** A class of each policy, named after it. */
export const policies = ['delete', 'retain'] as const;
export type Policy = (typeof policies)[number];

const readyWithinMs = 180_000;

/**
 * Snapshots on a stage: the kinds and the stock controller, put into a cluster that already runs
 * Quarry.
 *
 *   const snapshots = await Snapshots.open(stage);
 *   await snapshots.take('before', 'data');
 *   await stage.claim('restored', { dataSource: snapshots.source('before') });
 *   await snapshots.remove('before');
 *   await snapshots.close(); // before the stage
 */
export class Snapshots {
  readonly controller: SnapshotController;
  readonly #stage: E2eStage;

  private constructor(stage: E2eStage, controller: SnapshotController) {
    this.#stage = stage;
    this.controller = controller;
  }

  static async open(stage: E2eStage): Promise<Snapshots> {
    const { cluster } = stage;
    const parts = await snapshotParts();
    await installKinds(cluster, parts.definitions);
    await installKinds(cluster, parts.groupDefinitions);
    const snapshots = new Snapshots(stage, await SnapshotController.start(cluster, parts));
    await snapshots.classes();
    return snapshots;
  }

  /** A class of each policy; they go with their kinds. */
  async classes(): Promise<void> {
    await this.#stage.cluster.apply(policies.flatMap(classesOf));
  }

  async close(): Promise<void> {
    await this.controller.stop();
  }

  /** Takes it and waits until it can be restored. */
  async take(name: string, claim: string, policy: Policy = 'delete'): Promise<Snapshot> {
    await this.apply(name, claim, policy);
    return this.ready(name);
  }

  async apply(name: string, claim: string, policy: Policy = 'delete'): Promise<void> {
    await this.#stage.cluster.apply([
      {
        ...{ apiVersion: `${snapshotGroup}/v1`, kind: 'VolumeSnapshot', metadata: { name } },
        spec: { volumeSnapshotClassName: policy, source: { persistentVolumeClaimName: claim } },
      },
    ]);
  }

  async ready(name: string): Promise<Snapshot> {
    const look = async (): Promise<Look<Snapshot>> => {
      const snapshot = await this.find(name);
      if (snapshot?.status?.readyToUse === true) return { found: snapshot };
      return { missing: JSON.stringify(snapshot?.status ?? 'no status') };
    };
    return waitUntil(`the snapshot ${name} is ready`, look, { timeoutMs: readyWithinMs }).catch(
      async (error: unknown) => {
        throw new Error(`${String(error)}\n${await this.describe()}`, { cause: error });
      },
    );
  }

  find(name: string): Promise<Snapshot | undefined> {
    const path = `/apis/${snapshotGroup}/v1/namespaces/default/volumesnapshots/${name}`;
    return this.#stage.cluster.api.get<Snapshot>(path);
  }

  /** The content that a snapshot which is ready was bound to. */
  async contentOf(name: string): Promise<SnapshotContent> {
    const bound = (await this.find(name))?.status?.boundVolumeSnapshotContentName;
    const path = `/apis/${snapshotGroup}/v1/volumesnapshotcontents/${bound}`;
    const content = await this.#stage.cluster.api.get<SnapshotContent>(path);
    assert(content !== undefined, `the content of ${name} is missing`);
    return content;
  }

  /** For a claim that is to have what the snapshot has. */
  source(name: string) {
    return { apiGroup: snapshotGroup, kind: 'VolumeSnapshot', name } as const;
  }

  async remove(...names: readonly string[]): Promise<void> {
    await this.#stage.remove('volumesnapshots', ...names);
  }

  async list(): Promise<readonly Snapshot[]> {
    return this.#items<Snapshot>(snapshotGroup, 'volumesnapshots');
  }

  /** On top of the stage's own: what snapshots leave behind. */
  async audit(): Promise<void> {
    await this.#stage.audit();
    await this.#stage
      .until('no snapshot is left', async () => (await this.#left()).length === 0)
      .catch(async () => assert.deepEqual(await this.#left(), []));
  }

  async #left(): Promise<readonly string[]> {
    const lists = await Promise.all([
      this.#items<Snapshot>(snapshotGroup, 'volumesnapshots'),
      this.#items<Snapshot>(snapshotGroup, 'volumesnapshotcontents'),
      this.#items<Snapshot>(groupSnapshotGroup, 'volumegroupsnapshots'),
      this.#items<Snapshot>(groupSnapshotGroup, 'volumegroupsnapshotcontents'),
    ]);
    return lists.flat().map(({ metadata }) => metadata.name);
  }

  async #items<T>(group: string, plural: string): Promise<readonly T[]> {
    const path = `/apis/${group}/v1/${plural}`;
    const list = await this.#stage.cluster.api.get<{ readonly items: readonly T[] }>(path);
    return list?.items ?? [];
  }

  async describe(): Promise<string> {
    const kinds = 'volumesnapshots,volumesnapshotcontents,volumegroupsnapshots';
    const words = ['get', `${kinds},volumegroupsnapshotcontents`, '--output=yaml'];
    const said = await this.#stage.cluster.tryKubectl(words);
    const stage = await this.#stage.describe();
    return [said.stdout, said.stderr, stage, await this.controller.describe()].join('\n');
  }
}

/** Builds them where that was not done yet: call it before anything that has to be quick. */
export function snapshotParts(): Promise<SnapshotParts> {
  return ensureSnapshotController((line) => process.stderr.write(`lab: ${line}\n`));
}

function classesOf(name: Policy): readonly object[] {
  const deletionPolicy = name === 'delete' ? 'Delete' : 'Retain';
  const rest = { metadata: { name }, driver: 'topolvm.io', deletionPolicy };
  return [
    { apiVersion: `${snapshotGroup}/v1`, kind: 'VolumeSnapshotClass', ...rest },
    { apiVersion: `${groupSnapshotGroup}/v1`, kind: 'VolumeGroupSnapshotClass', ...rest },
  ];
}
