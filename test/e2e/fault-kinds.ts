import { setTimeout as sleep } from 'node:timers/promises';
import type { PodObject } from '../../lab/cluster/index.ts';
import type { Chance } from '../world/chance.ts';
import { leaderOf, namespace, ourPods, untilCalm } from './calm.ts';
import type { E2eStage } from './stage.ts';

/** Something that goes wrong on a node or in the control plane. */
export type FaultKind = {
  readonly name: string;
  /** Everything that takes time, so that the fault itself comes at its moment. */
  arm(stage: E2eStage, node: string, chance: Chance): Promise<Fault>;
};

export type Fault = {
  readonly what: string;
  strike(): Promise<void>;
  heal(): Promise<void>;
};

type Role = 'agent' | 'operator';

/** A pattern for pgrep: it runs with flags of its own between the two programs. */
export function processOf(role: Role): string {
  return `^/usr/bin/node .*/usr/bin/quarry ${role}`;
}

/** Kubelet starts it again, later and later; a pod that was begun anew does not wait. */
async function armKill(
  stage: E2eStage,
  role: Role,
  node: string,
  pod: PodObject | undefined,
): Promise<Fault> {
  if (pod === undefined) throw new Error(`there is no ${role} on ${node}`);
  const guest = stage.cluster.node(node);
  let pids = '';
  await untilCalm(stage, `${role} runs on ${node}`, async () => {
    // A child that has not become another program yet has the same name.
    const found = await guest.sh(
      `for each in $(pgrep -f '${processOf(role)}'); do
        parent=$(ps -o ppid= -p $each | tr -d ' ')
        [ -z "$parent" ] || tr '\\0' ' ' </proc/$parent/cmdline |
          grep -q '${processOf(role)}' || echo $each
      done`,
    );
    pids = found.trim().split('\n').join(' ');
    return pids !== '';
  });
  const restarts = pod.status.containerStatuses?.[0]?.restartCount ?? 0;
  return {
    what: `${role} on ${node} killed`,
    strike: async () => {
      await guest.sh(`kill -9 ${pids}`);
    },
    heal: async () => {
      if (restarts === 0) return;
      const words = ['delete', 'pod', `--namespace=${namespace}`, pod.metadata.name];
      await stage.cluster.kubectl([...words, '--force', '--grace-period=0']);
    },
  };
}

const agentKilled: FaultKind = {
  name: 'the agent is killed',
  arm: async (stage, node) => {
    const pods = await ourPods(stage);
    const isIt = ({ metadata, spec }: PodObject) =>
      spec.nodeName === node && metadata.name.startsWith('vg-manager-');
    return armKill(stage, 'agent', node, pods.find(isIt));
  },
};

const operatorKilled: FaultKind = {
  name: 'the operator is killed',
  arm: async (stage, node) => {
    const leader = await leaderOf(stage);
    const pod = (await ourPods(stage)).find(({ metadata }) => metadata.name === leader);
    return armKill(stage, 'operator', pod?.spec.nodeName ?? node, pod);
  },
};

const apiServerKilled: FaultKind = {
  name: 'the API server is killed',
  arm: async (stage, _node, chance) => {
    const server = stage.cluster.server('kube-apiserver');
    const awayMs = chance.between(0, 12_000);
    return {
      what: `API server killed for ${awayMs} ms`,
      strike: () => server.stop(),
      heal: async () => {
        await sleep(awayMs);
        server.start();
      },
    };
  },
};

const kubeletRestarted: FaultKind = {
  name: 'kubelet is restarted',
  arm: async (stage, node, chance) => {
    const awayMs = chance.between(0, 6_000);
    return {
      what: `kubelet of ${node} killed for ${awayMs} ms`,
      strike: () => stage.cluster.stopKubelet(node),
      heal: async () => {
        await sleep(awayMs);
        stage.cluster.startKubelet(node);
      },
    };
  },
};

const powerCut: FaultKind = {
  name: 'a node loses its power',
  arm: async (stage, node) => ({
    what: `power of ${node} cut`,
    strike: () => stage.cluster.node(node).cutPower({ loseUnflushed: true }),
    heal: () => stage.cluster.startNode(node, { timeoutMs: 240_000 }),
  }),
};

/** Sometimes so short that nobody notices, sometimes longer than leases and the node's grace. */
const networkCut: FaultKind = {
  name: 'a node loses its network',
  arm: async (stage, node, chance) => {
    const awayMs = chance.happens(0.5)
      ? chance.between(1_000, 8_000)
      : chance.between(20_000, 30_000);
    return {
      what: `network of ${node} cut for ${awayMs} ms`,
      strike: () => stage.cluster.node(node).cutNetwork(),
      heal: async () => {
        await sleep(awayMs);
        await stage.cluster.node(node).healNetwork();
      },
    };
  },
};

export const faultKinds: readonly FaultKind[] = [
  agentKilled,
  operatorKilled,
  apiServerKilled,
  kubeletRestarted,
  powerCut,
  networkCut,
];
