import { startOperator } from '../../src/operator/operator.ts';
import { driver, namespace, type OperatorProgram } from './programs.ts';

/** The operator as it is, without its socket and its metrics. */
export const ourOperator: OperatorProgram = (around) => ({
  run: async () => {
    const { transport, clock, chance, wall, self, log } = around;
    const operator = await startOperator(
      {
        ...{ names: { domain: driver, driver }, namespace, version: '0', host: self },
        ...{ csiSocket: '', metricsAddress: '0' },
      },
      log,
      {
        ...{ transport: transport(), leaseTransport: transport(), clock, chance, wall },
        sinceBootMs: () => 0,
      },
    );
    await operator.failed;
  },
});
