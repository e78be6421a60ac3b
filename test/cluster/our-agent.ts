import { ClusterWork, type ClusterWorkParts } from '../../src/agent/cluster-work.ts';
import { Ledger } from '../../src/agent/ledger.ts';
import { OperationError } from '../../src/base/failures.ts';
import { Groups } from '../../src/csi/groups.ts';
import { nodeService } from '../../src/csi/node.ts';
import { Volumes } from '../../src/csi/volumes.ts';
import { Engine } from '../../src/engine/engine.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import { type AgentProgram, driver, type NodeSurroundings, namespace } from './programs.ts';

export const names = { domain: driver, driver };

/** The agent of a node, wired as the role does it, without files and sockets. */
export const ourAgent: AgentProgram = (around) => {
  const { host, clock, desired, node } = around;
  const doors = { host, clock, trace: () => undefined };
  const engine = new Engine(doors);
  const publisher = new Publisher({ engine, ...doors });
  const classes = () => desired.deviceClasses;
  const { volumes, work } = workOf(around, { engine, publisher, classes });
  return {
    run: async (signal) => {
      await patiently(around, () => engine.recover(desired.volumeGroups.map(({ name }) => name)));
      await patiently(around, () => publisher.thaw());
      await patiently(around, () => engine.observe());
      void engine.model.keepFresh(signal);
      around.serve(nodeService({ volumes, publisher }, { ...names, version: '0', node }));
      await work.run(signal);
    },
  };
};

type Parts = Pick<ClusterWorkParts, 'engine' | 'classes' | 'making'> & {
  readonly publisher: Publisher;
};

/** All that an agent does with objects. `making` is of who makes volume groups, too. */
export function workOf(around: NodeSurroundings, parts: Parts) {
  const { clock, chance, node, build } = around;
  const { engine, publisher, classes, making } = parts;
  const ledger = new Ledger();
  const newId = () => {
    throw new Error('in a cluster every id is given');
  };
  const common = { engine, publisher, classes, newId, nowMs: () => clock.nowMs() };
  const removals = around.disk.removals(around.life);
  const volumes = new Volumes({ ...common, recorded: ledger, removals });
  const groups = new Groups({ ...common, volumes });
  const work = new ClusterWork({
    ...{ client: around.client(), names, node, namespace, ledger, engine, volumes, groups },
    ...{ classes, making, removals, clock, chance, build, log: (event) => around.log(event) },
    ...{ hasSchedulerExtender: false, owner: () => Promise.resolve(undefined) },
    strayed: () => undefined,
  });
  return { volumes, work };
}

/** A process that cannot begin is started again and again; this is the same in one life. */
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
