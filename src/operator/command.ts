import { OperationError } from '../base/failures.ts';
import { realClock } from '../host/clock.ts';
import { connected } from '../kube/connect.ts';
import { HttpTransport } from '../kube/transport.ts';
import { addressOf } from '../process/diagnostics.ts';
import { type Environment, exitCodes, type Run, runRole } from '../process/role.ts';
import {
  type OperatorArguments,
  type OperatorVariables,
  operatorArguments,
  operatorUsage,
} from './arguments.ts';
import { startOperator } from './operator.ts';

export type OperatorEnvironment = Environment & { readonly variables: OperatorVariables };

/** Serves a cluster until it is told to stop. */
export function runOperator(
  argv: readonly string[],
  environment: OperatorEnvironment,
): Promise<number> {
  const read = () => operatorArguments(argv, environment.variables);
  return runRole({ role: 'operator', usage: operatorUsage, read, serve }, environment);
}

async function serve(
  values: OperatorArguments,
  environment: OperatorEnvironment,
  { log, toldToStop }: Run,
): Promise<number> {
  const { connection, namespace: known } = await connected(values, environment, realClock);
  const namespace = values.namespace || known;
  if (namespace === undefined || namespace === '') {
    const message = 'it is not known where the leases are: name the namespace with --namespace';
    throw new OperationError('InvalidConfiguration', message);
  }
  const webhook = addressOf('webhook-address', values['webhook-address']);
  const transport = () => new HttpTransport(connection.endpoint, connection.credentials);
  const operator = await startOperator(
    {
      names: { domain: values.domain, driver: values['driver-name'] },
      ...{ namespace, host: values.host, version: environment.version },
      ...{ csiSocket: values['csi-socket'], metricsAddress: values['metrics-address'] },
      ...{ webhook, actsOnLvmClusters: values['lvm-clusters'] },
      isSnapshotController: values['snapshot-controller'],
    },
    log,
    {
      ...{ transport: transport(), leaseTransport: transport() },
      ...{ clock: realClock, wall: Date.now, chance: Math.random },
    },
  );
  try {
    await Promise.race([toldToStop, operator.failed]);
  } finally {
    await operator.stop();
  }
  return exitCodes.stopped;
}
