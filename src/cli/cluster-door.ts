import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../base/failures.ts';
import { realClock } from '../host/clock.ts';
import { startCommand } from '../host/run.ts';
import { KubeClient } from '../kube/client.ts';
import { connect } from '../kube/connect.ts';
import { KubeError } from '../kube/errors.ts';
import type { RunProgram } from '../kube/exec-credentials.ts';
import { HttpTransport } from '../kube/transport.ts';
import type { Environment } from './context.ts';

export type ClusterFlags = {
  readonly kubeconfig?: string | undefined;
  readonly context?: string | undefined;
  readonly namespace?: string | undefined;
};

/** Asks the cluster that the flags or the surroundings name, and tells when it cannot be asked. */
export async function withCluster<T>(
  environment: Environment,
  flags: ClusterFlags,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  try {
    const { serviceHost, servicePort } = environment.variables;
    const { connection } = await connect({
      ...{ serviceHost, servicePort, clock: realClock, wall: Date.now },
      kubeconfig: (await kubeconfigOf(environment, flags)) ?? '',
      ...{ context: flags.context, run: runner(environment) },
    });
    const transport = new HttpTransport(connection.endpoint, connection.credentials);
    try {
      const { random: chance } = Math;
      return await work(new KubeClient({ transport, clock: realClock, chance }));
    } finally {
      transport.close();
    }
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    throw asFailure(error);
  }
}

function asFailure(error: KubeError): OperationError {
  if (error.code === 'NoCredentials') {
    const message = `${error.message}; name one with --kubeconfig`;
    return new OperationError('InvalidConfiguration', message, { cause: error });
  }
  const message = `the cluster cannot be asked: ${error.code}: ${error.message}`;
  return new OperationError('ClusterUnavailable', message, { cause: error });
}

/** Is there any way to a cluster, whether or not it answers? */
export async function hasCluster(environment: Environment): Promise<boolean> {
  if (environment.variables.serviceHost !== '') return true;
  return (await kubeconfigOf(environment, {})) !== undefined;
}

/** As kubectl looks for it: the flag, KUBECONFIG, then the file of the user. */
async function kubeconfigOf(
  { variables }: Environment,
  { kubeconfig }: ClusterFlags,
): Promise<string | undefined> {
  if (kubeconfig !== undefined) return kubeconfig;
  if (variables.kubeconfig !== '') return variables.kubeconfig;
  if (variables.home === '') return undefined;
  const own = join(variables.home, '.kube/config');
  return access(own).then(
    () => own,
    () => undefined,
  );
}

/** A kubeconfig may name a program of the user's that hands out credentials. */
function runner({ path, variables }: Environment): RunProgram {
  return ({ argv: [program = '', ...args], env, timeoutMs }) => {
    const command = { argv: [program, ...args], effect: 'reads', timeoutMs } as const;
    const own = { ...variables.all(), ...env };
    return startCommand(command, { prefix: [], path, variables: own }).result;
  };
}
