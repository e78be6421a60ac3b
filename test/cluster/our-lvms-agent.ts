import { LvmdConfiguration, loadConfiguration } from '../../src/agent/lvmd-config.ts';
import { OperationError } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';
import { nodeService } from '../../src/csi/node.ts';
import { Engine } from '../../src/engine/engine.ts';
import { Publisher } from '../../src/engine/publisher.ts';
import { names, workOf } from './our-agent.ts';
import type { AgentProgram, NodeSurroundings } from './programs.ts';

/** The agent of a node whose groups and classes come from LVMClusters, without sockets. */
export const ourLvmsAgent: AgentProgram = (around) => ({
  run: async (signal) => {
    try {
      await live(around, signal);
    } catch (error) {
      // What cannot begin ends with a message, and is started again.
      if (!(error instanceof OperationError)) throw error;
      around.log({ level: 'error', message: `${error.code}: ${error.message}` });
      around.life.die();
    }
  },
});

async function live(around: NodeSurroundings, signal: AbortSignal): Promise<void> {
  const { host, clock, node, disk, life } = around;
  const doors = { host, clock, trace: () => undefined };
  const engine = new Engine(doors);
  const publisher = new Publisher({ engine, ...doors });
  const where = { lvmdFile: 'lvmd.yaml', stateDirectory: '', mayBeEmpty: true };
  const log = (line: { readonly level: string; readonly message: string }) => around.log(line);
  const loaded = await loadConfiguration(where, log, disk.configuration(life));
  const configuration = new LvmdConfiguration(loaded, {
    ...{ log, nowMs: () => clock.nowMs() },
    look: async (age) => {
      const known = age === 'newest' ? engine.model.newest : undefined;
      const seen = known ?? (await engine.observe());
      const made = new Map(disk.known);
      return { host: seen.host, mounts: await publisher.nodeMounts(), made };
    },
  });
  if (configuration.isHopeless) throw await configuration.explain({ mayLook: true });
  await engine.recover(configuration.groups);
  await publisher.thaw();
  await engine.observe();
  await configuration.settle();
  void engine.model.keepFresh(signal);
  const { volumes, work } = workOf(around, {
    ...{ engine, publisher, classes: () => configuration.classes },
    making: {
      files: disk.files(life, () => configuration.reread()),
      lvmd: () => configuration.sight,
    },
  });
  around.serve(nodeService({ volumes, publisher }, { ...names, version: '0', node }));
  engine.model.onReport((report) => void configuration.reconsider(report));
  configuration.onChange(async () => engine.model.hint());
  configuration.onChange(async () => work.reconfigured());
  void follow(around, configuration);
  await work.run(signal);
}

/** Edits of the file are heard at once, and looked for all the same. */
async function follow(
  { disk, life, clock }: NodeSurroundings,
  configuration: LvmdConfiguration,
): Promise<void> {
  disk.onEdit(life, () => {
    void clock.sleep(limits.configSettleMs).then(() => configuration.reread());
  });
  while (!life.isDead) {
    await clock.sleep(limits.configPollMs);
    await configuration.reread();
  }
}
