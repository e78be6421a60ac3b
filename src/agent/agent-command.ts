import { OperationError } from '../base/failures.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/host.ts';
import { connected } from '../kube/connect.ts';
import { HttpTransport } from '../kube/transport.ts';
import { type Environment, exitCodes, type Run, runRole } from '../process/role.ts';
import { type AgentOptions, startAgent } from './agent.ts';
import {
  type AgentArguments,
  agentArguments,
  agentUsage,
  type ClusterVariables,
  checkAgentArguments,
} from './agent-arguments.ts';
import { nsenter } from './command.ts';

export type ClusterEnvironment = Environment & { readonly variables: ClusterVariables };

/** Serves a node until it is told to stop, or until kubelet refuses it. */
export function runAgent(
  argv: readonly string[],
  environment: ClusterEnvironment,
): Promise<number> {
  const read = () => agentArguments(argv, environment.variables);
  return runRole({ role: 'agent', usage: agentUsage, read, serve }, environment);
}

async function serve(
  values: AgentArguments,
  environment: ClusterEnvironment,
  { log, toldToStop }: Run,
): Promise<number> {
  checkAgentArguments(values);
  const { connection, namespace } = await connected(values, environment, realClock);
  const options = agentOptions(values, environment, namespace);
  const { prefix, path } = options;
  const agent = await startAgent(options, log, (lvm) => ({
    host: realHost({ prefix, path, lvm }),
    clock: realClock,
    chance: Math.random,
    transport: new HttpTransport(connection.endpoint, connection.credentials),
  }));
  try {
    await Promise.race([toldToStop, agent.failed]);
  } finally {
    await agent.stop();
  }
  return exitCodes.stopped;
}

export function agentOptions(
  values: AgentArguments,
  { path, version }: Environment,
  known: string | undefined,
): AgentOptions {
  const namespace = values.namespace || known;
  if (namespace === undefined || namespace === '') {
    const message = 'it is not known where to tell capacity: name the namespace with --namespace';
    throw new OperationError('InvalidConfiguration', message);
  }
  return {
    lvmdFile: values.config,
    stateDirectory: values['state-dir'],
    csiSocket: values['csi-socket'],
    metricsAddress: values['metrics-address'],
    node: values['node-name'],
    names: { domain: values.domain, driver: values['driver-name'] },
    kubeletRoot: values['kubelet-root'],
    hostSocket: values['host-socket'] || values['csi-socket'],
    namespace,
    daemonSet: values.daemonset,
    hasSchedulerExtender: values['scheduler-extender'],
    makesGroups: values['lvm-clusters'],
    version,
    prefix: values.nsenter ? nsenter : [],
    path,
  };
}
