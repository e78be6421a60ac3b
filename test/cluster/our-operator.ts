import type { LvmCluster } from '../../src/api/objects/lvm-cluster.ts';
import { judgesOf } from '../../src/operator/judges.ts';
import { runKinds } from '../../src/operator/kind-watch.ts';
import { lvmsKinds } from '../../src/operator/lvm-clusters-kinds.ts';
import { type Operator, startOperator } from '../../src/operator/operator.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { driver, namespace, type OperatorProgram, type Surroundings } from './programs.ts';

/** The operator as it is, without its socket and its metrics. */
export const ourOperator: OperatorProgram = (around) => ({
  run: async () => {
    const operator = await start(around, { actsOnLvmClusters: false });
    await operator.failed;
  },
});

/** The same, and somebody looks at its figures. */
export function seenOperator(seen: (operator: Operator) => void): OperatorProgram {
  return (around) => ({
    run: async () => {
      const operator = await start(around, { actsOnLvmClusters: false });
      seen(operator);
      await operator.failed;
    },
  });
}

/** The same for LVMClusters: it acts on them, and answers API servers without a socket. */
export const ourLvmsOperator: OperatorProgram = (around) => ({
  run: async (signal) => {
    const { clock, chance } = around;
    const { stores, failed } = await start(around, { actsOnLvmClusters: true });
    const kinds = lvmsKinds({ client: around.client(), clock, chance }, namespace);
    const newestClusters = () =>
      around.stored(collections.lvmClusters) as unknown as readonly LvmCluster[];
    around.judge(
      judgesOf({
        ...{ stores, kinds, namespace, driver, newestClusters },
        isMicroShift: () => false,
      }),
    );
    await Promise.race([failed, runKinds(Object.values(kinds), signal)]);
  },
});

function start(
  around: Surroundings,
  options: { readonly actsOnLvmClusters: boolean },
): Promise<Operator> {
  const { transport, clock, chance, wall, self, log, build } = around;
  return startOperator(
    {
      ...{ names: { domain: driver, driver }, namespace, ...build, host: self },
      ...{ csiSocket: '', metricsAddress: '0', ...options },
    },
    log,
    {
      ...{ transport: transport(), leaseTransport: transport(), clock, chance, wall },
      sinceBootMs: () => 0,
    },
  );
}
