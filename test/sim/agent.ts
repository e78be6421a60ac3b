import { bytes } from '../../src/base/bytes.ts';
import { OperationError } from '../../src/base/failures.ts';
import { desiredClone } from '../../src/core/clone/desired.ts';
import { findDeviceClass } from '../../src/core/device-class.ts';
import type { DesiredNode } from '../../src/core/node.ts';
import { desiredSnapshot } from '../../src/core/snapshot/desired.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../../src/core/volume/desired.ts';
import type { VolumeStatus } from '../../src/core/volume/status.ts';
import type { VgStatus } from '../../src/core/volume-group/status.ts';
import { Engine } from '../../src/engine/engine.ts';
import type { Outcome, Task } from '../../src/engine/job.ts';
import {
  cloneTask,
  snapshotTask,
  thinPoolTask,
  volumeGroupTask,
  volumeTask,
} from '../../src/engine/tasks.ts';
import type { FakeHost } from '../world/fake-host.ts';
import type { FakeWorld } from '../world/world.ts';
import type { Store, Volume } from './store.ts';

export type AgentEyes = {
  /** A volume is about to be reported ready, or gone: the rules look at the disk first. */
  reported(volume: Volume, status: VolumeStatus, askedMiB: number): void;
  /** A refusal is about to be told: it must be true now. */
  refused(volume: Volume, why: { readonly code: string; readonly message: string }): void;
  bug(error: unknown): void;
};

const retryMs = 5_000;

/** One life of our process: it reads the store, asks the engine, and writes what became true. */
export class Agent {
  readonly host: FakeHost;
  readonly engine: Engine;
  readonly #world: FakeWorld;
  readonly #store: Store;
  readonly #node: DesiredNode;
  readonly #eyes: AgentEyes;
  readonly #kept = new Set<string>();
  #isNodeReady = false;
  nodeBlocks: readonly string[] = [];

  constructor(parts: {
    readonly world: FakeWorld;
    readonly store: Store;
    readonly node: DesiredNode;
    readonly eyes: AgentEyes;
  }) {
    this.#world = parts.world;
    this.#store = parts.store;
    this.#node = parts.node;
    this.#eyes = parts.eyes;
    this.host = parts.world.host();
    const clock = parts.world.clock;
    this.engine = new Engine({ host: this.host, clock, trace: () => undefined });
  }

  /** Runs until the process dies. A bug ends it as it would end a real process. */
  start(): void {
    this.#store.listen(() => this.#keepAll());
    void this.#run().catch((error: unknown) => this.#eyes.bug(error));
  }

  async #run(): Promise<void> {
    await this.#until(
      async () => void (await this.engine.recover(this.#node.volumeGroups.map((vg) => vg.name))),
    );
    void this.engine.model.keepFresh(forever);
    while (!(await this.#prepareNode())) await this.#world.clock.sleep(retryMs);
    this.#isNodeReady = true;
    this.#keepAll();
    for (;;) {
      await this.#world.clock.sleep(60_000);
      await this.#prepareNode();
    }
  }

  async #prepareNode(): Promise<boolean> {
    const blocks: string[] = [];
    for (const vg of this.#node.volumeGroups) {
      const { groups } = this.#store;
      const task = volumeGroupTask({ ...vg, uuid: groups.get(vg.name) }, this.#node);
      const submit = () => this.engine.submitNode(task);
      const isSeen = ({ uuid }: VgStatus) => {
        if (uuid === undefined) return;
        const named = this.#world.machine.vgs.filter(({ name }) => name === vg.name);
        const all = named.map((one) => one.uuid);
        this.#store.learn(vg.name, uuid, all);
      };
      blocks.push(...(await this.#bring(submit, isSeen)));
    }
    for (const pool of this.#node.thinPools) {
      // Nothing is put into a group that is not known to be ours.
      if (!this.#store.groups.has(pool.vg)) continue;
      blocks.push(...(await this.#bring(() => this.engine.submit(thinPoolTask(pool)))));
    }
    this.nodeBlocks = blocks;
    return blocks.length === 0;
  }

  async #bring<Status>(
    submit: () => Promise<Outcome<Status>>,
    settled: (status: Status) => unknown = () => undefined,
  ): Promise<readonly string[]> {
    try {
      const outcome = await submit();
      if (outcome.kind === 'settled') settled(outcome.status);
      return outcome.kind === 'settled' ? [] : [`${outcome.code}: ${outcome.message}`];
    } catch (error) {
      if (error instanceof OperationError) return [`${error.code}: ${error.message}`];
      throw error;
    }
  }

  async #until(work: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
        await this.#world.clock.sleep(retryMs);
      }
    }
  }

  #keepAll(): void {
    if (!this.#isNodeReady || this.host.isDead) return;
    for (const volume of this.#store.volumes.values()) {
      if (this.#kept.has(volume.name)) continue;
      this.#kept.add(volume.name);
      void this.#keep(volume)
        .catch((error: unknown) => this.#eyes.bug(error))
        .finally(() => this.#kept.delete(volume.name));
    }
  }

  /** Brings one volume to what is wanted of it, as often as that changes. */
  async #keep(volume: Volume): Promise<void> {
    while (!this.host.isDead) {
      const { generation, sizeMiB } = volume;
      const isThere = volume.settled === generation;
      const outcome = isThere ? undefined : await this.#try(volume);
      if (this.host.isDead) return;
      if (outcome === undefined) await this.#world.clock.sleep(isThere ? 60_000 : retryMs);
      else if (outcome.kind === 'blocked') {
        volume.blocked = outcome;
        this.#eyes.refused(volume, outcome);
        await this.#world.clock.sleep(retryMs);
      } else {
        this.#eyes.reported(volume, outcome.status, sizeMiB);
        if (volume.wanted === 'absent' && generation === volume.generation) {
          this.#store.gone(volume);
          return;
        }
        this.#store.ready(volume, outcome.status, generation);
      }
      // Even a settled volume is asked for again: a boot may have left it inactive.
      if (isThere && volume.wanted === 'present') volume.settled = -1;
    }
  }

  async #try(volume: Volume): Promise<Outcome<VolumeStatus> | undefined> {
    const task = this.#taskOf(volume);
    if (!('plan' in task)) return task;
    const controller = new AbortController();
    volume.cancel = () => controller.abort();
    try {
      return await this.engine.submit(task, controller.signal);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      volume.failure = `${error.code}: ${error.message}`;
      return undefined;
    } finally {
      volume.cancel = undefined;
    }
  }

  #taskOf(volume: Volume): Task<VolumeStatus> | Extract<Outcome<never>, { kind: 'blocked' }> {
    const { name, className, uuid, vg } = volume;
    const classes = this.#node.deviceClasses;
    if (volume.wanted === 'absent') return volumeTask(absentVolume(vg, name, uuid));
    const sizeBytes = bytes(BigInt(volume.sizeMiB) * 1024n * 1024n);
    if (volume.kind === 'volume') {
      const wanted = desiredVolume({ name, className, sizeBytes, uuid }, classes);
      return isBlocked(wanted) ? wanted : volumeTask(wanted);
    }
    const source = volume.source ?? '';
    const sourceUuid = this.#store.everything.get(source)?.uuid;
    if (volume.kind === 'clone') {
      const wanted = desiredClone(
        { name, source, sourceUuid, className, sizeBytes, uuid },
        classes,
      );
      return isBlocked(wanted) ? wanted : cloneTask(wanted);
    }
    const deviceClass = findDeviceClass(classes, className);
    if (isBlocked(deviceClass)) return deviceClass;
    const wanted = desiredSnapshot({ name, source, sourceUuid, deviceClass, uuid });
    return isBlocked(wanted) ? wanted : snapshotTask(wanted);
  }
}

const forever = {
  aborted: false,
  addEventListener: () => undefined,
  removeEventListener: () => undefined,
};
