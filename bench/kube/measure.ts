import type { Cluster } from '../../lab/cluster/index.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import type { AuditLog } from './audit.ts';
import { runBurst, sweep } from './burst.ts';
import type { Burst, SideFigures, Writes } from './figures.ts';
import { countLvm, stopCounting } from './lvm-runs.ts';
import { timeOf } from './node-time.ts';
import { lookAtProcesses } from './processes.ts';
import type { Seen } from './seen.ts';
import type { Side } from './side.ts';

export type Options = {
  /** How many claims at once, and how often. */
  readonly bursts: readonly { readonly claims: number; readonly rounds: number }[];
  readonly idleSeconds: number;
};

export type Bench = {
  readonly cluster: Cluster;
  readonly client: KubeClient;
  readonly seen: Seen;
  readonly audit: AuditLog;
  readonly options: Options;
  readonly tell: (line: string) => void;
};

/** Claims for which runs of lvm are counted. */
const lvmCounted = 10;
/** A node of the lab starts a pod a second at best: more of them would be all that is seen. */
const claimsPerPod = 5;

export async function measure(side: Side, bench: Bench): Promise<SideFigures> {
  const { client, seen, tell } = bench;
  tell(`${side.name}: installing`);
  await side.install();
  const plan = { name: `${side.name}-warm`, claims: 2, claimsPerPod: 1, time: timed(side, bench) };
  await runBurst(client, seen, plan);
  await sweep(client, seen);
  const { bursts, counted } = await allBursts(side, bench);
  const lvm = await lvmRuns(side, bench);
  tell(`${side.name}: at rest`);
  const { idleSeconds } = bench.options;
  const looks = bench.cluster.nodes.map((node) => lookAtProcesses(node, side.nameOf, idleSeconds));
  const processes = (await Promise.all(looks)).flat();
  await side.uninstall();
  return { side: side.name, bursts, counted, lvm, processes };
}

function timed(side: Side, { cluster }: Bench) {
  return () => timeOf(cluster.nodes, side.nameOf);
}

async function allBursts(side: Side, bench: Bench) {
  const { client, seen, audit, tell, options } = bench;
  const time = timed(side, bench);
  const bursts: Burst[] = [];
  let counted: { readonly claims: number; readonly writes: Writes } = { claims: 0, writes: {} };
  for (const { claims, rounds } of options.bursts) {
    for (let round = 0; round < rounds; round += 1) {
      const name = `${side.name}-${claims}-${round}`;
      const moment = await audit.now();
      const burst = await runBurst(client, seen, { name, claims, claimsPerPod, time });
      const writes = await audit.since(moment, side.namespace);
      // The largest burst tells most: what is written by the clock is spread over all of it.
      if (claims >= counted.claims) counted = { claims, writes };
      bursts.push(burst);
      tell(`${name}: all bound after ${(burst.allBoundMs / 1000).toFixed(1)} s`);
      await sweep(client, seen);
    }
  }
  return { bursts, counted };
}

async function lvmRuns(side: Side, bench: Bench) {
  const { cluster, client, seen } = bench;
  await Promise.all(cluster.nodes.map((node) => countLvm(node)));
  const time = timed(side, bench);
  const plan = { name: `${side.name}-lvm`, claims: lvmCounted, claimsPerPod, time };
  await runBurst(client, seen, plan);
  const runs = await Promise.all(cluster.nodes.map((node) => stopCounting(node)));
  await sweep(client, seen);
  const sum = (of: 'changes' | 'looks') => runs.reduce((total, each) => total + each[of], 0);
  return { claims: lvmCounted, runs: { changes: sum('changes'), looks: sum('looks') } };
}
