import { Ledger } from '../../src/agent/ledger.ts';
import { LogicalVolumes } from '../../src/agent/logical-volumes.ts';
import { OperationError } from '../../src/base/failures.ts';
import { clusterNames } from '../../src/core/cluster/names.ts';
import { Groups } from '../../src/csi/groups.ts';
import { nodeService } from '../../src/csi/node.ts';
import { Volumes } from '../../src/csi/volumes.ts';
import { Engine } from '../../src/engine/engine.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { isKubeError, KubeError } from '../../src/kube/errors.ts';
import { Informer } from '../../src/kube/informer.ts';
import {
  csiStorageCapacityKind,
  logicalVolumeKind,
  storageClassKind,
} from '../../src/kube/kinds.ts';
import { type AgentProgram, driver, type NodeSurroundings, namespace } from './programs.ts';

const names = { domain: driver, driver };
const kind = logicalVolumeKind(driver);

/** The agent of a node, wired as the role does it. */
export const ourAgent: AgentProgram = (around) => {
  const { host, clock, chance, desired, node } = around;
  const doors = { host, clock, trace: () => undefined };
  const engine = new Engine(doors);
  const publisher = new Publisher({ engine, ...doors });
  const classes = () => desired.deviceClasses;
  const ledger = new Ledger();
  const newId = () => {
    throw new Error('in a cluster every id is given');
  };
  const common = { engine, publisher, classes, newId, nowMs: () => clock.nowMs() };
  const volumes = new Volumes({ ...common, recorded: ledger });
  const groups = new Groups({ ...common, volumes });
  const driverNames = { ...names, version: '0', node };
  return {
    service: nodeService({ volumes, publisher }, driverNames),
    run: async (signal) => {
      await patiently(around, () => engine.recover(desired.volumeGroups.map(({ name }) => name)));
      await patiently(around, () => engine.observe());
      void engine.model.keepFresh(signal);
      const client = around.client();
      const scopes = [{ fieldSelector: `spec.nodeName=${node}` }] as const;
      const informer = new Informer({ client, kind, scopes, clock, chance });
      ledger.follow(informer);
      const capacity = new Capacities(around, volumes);
      const objects = new LogicalVolumes({
        ...{ client, kind, informer, names, node, engine, volumes, groups, classes },
        ...{ clock, chance, log: (event) => around.log({ ...event, message: event.message }) },
        changed: () => undefined,
      });
      engine.model.onReport((seen) => objects.looked(seen));
      await Promise.all([informer.run(signal), objects.run(signal), capacity.run(signal)]);
    },
  };
};

async function patiently(around: NodeSurroundings, work: () => Promise<unknown>): Promise<void> {
  for (;;) {
    try {
      await work();
      return;
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      await around.clock.sleep(2_000);
    }
  }
}

/** Stands in for the duty that tells capacity: once a second, and only what changed. */
class Capacities {
  readonly #around: NodeSurroundings;
  readonly #volumes: Volumes;
  readonly #told = new Map<string, string>();

  constructor(around: NodeSurroundings, volumes: Volumes) {
    this.#around = around;
    this.#volumes = volumes;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance } = this.#around;
    const client = this.#around.client();
    const kind = storageClassKind;
    const classes = new Informer({ client, kind, scopes: [{}], clock, chance });
    void classes.run(signal);
    while (!signal.aborted) {
      try {
        for (const { metadata, parameters } of classes.values()) {
          await this.#tell(client, metadata.name, parameters?.[`${driver}/device-class`] ?? '');
        }
      } catch (error) {
        if (!(error instanceof KubeError) && !(error instanceof OperationError)) throw error;
      }
      await clock.sleep(1_000, signal);
    }
  }

  async #tell(client: KubeClient, storageClassName: string, deviceClass: string): Promise<void> {
    const { node } = this.#around;
    const room = await this.#volumes.capacity(deviceClass, '');
    if (room === undefined) return;
    const capacity = String(room.availableBytes);
    const sizes = { capacity, maximumVolumeSize: String(room.largestBytes) };
    if (this.#told.get(storageClassName) === JSON.stringify(sizes)) return;
    const name = `csisc-${node}-${storageClassName}`;
    try {
      const patch = { type: 'merge', body: sizes } as const;
      await client.patch(csiStorageCapacityKind, { namespace, name }, patch);
    } catch (error) {
      if (!isKubeError(error, 'NotFound')) throw error;
      const matchLabels = { [clusterNames(names).topologyKey]: node };
      await client.create(csiStorageCapacityKind, {
        metadata: { namespace, name },
        ...{ storageClassName, nodeTopology: { matchLabels }, ...sizes },
      });
    }
    this.#told.set(storageClassName, JSON.stringify(sizes));
  }
}
