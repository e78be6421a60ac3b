import { checkAgentArguments } from '../agent/agent-arguments.ts';
import { agentOptions, type ClusterEnvironment } from '../agent/agent-command.ts';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/host.ts';
import { connected } from '../kube/connect.ts';
import { HttpTransport } from '../kube/transport.ts';
import { addressOf } from '../process/diagnostics.ts';
import { exitCodes, type Run, runRole } from '../process/role.ts';
import { startAll } from './all.ts';
import { type AllArguments, allArguments, allUsage } from './arguments.ts';

/** Serves a cluster of one node until it is told to stop, or until one of the roles ends. */
export function runAll(argv: readonly string[], environment: ClusterEnvironment): Promise<number> {
  const read = () => allArguments(argv, environment.variables);
  return runRole({ role: 'all', usage: allUsage, read, serve }, environment);
}

async function serve(
  values: AllArguments,
  environment: ClusterEnvironment,
  { log, toldToStop }: Run,
): Promise<number> {
  checkAgentArguments(values);
  checkSockets(values);
  const { connection, namespace: known } = await connected(values, environment, realClock);
  const agent = agentOptions(values, environment, known);
  const { prefix, path } = agent;
  const transport = () => new HttpTransport(connection.endpoint, connection.credentials);
  const all = await startAll(
    {
      agent,
      host: values.host,
      controllerSocket: values['controller-socket'],
      webhook: addressOf('webhook-address', values['webhook-address']),
      isSnapshotController: values['snapshot-controller'],
    },
    log,
    {
      host: (lvm) => realHost({ prefix, path, lvm }),
      ...{ transport: transport(), leaseTransport: transport() },
      ...{ clock: realClock, wall: Date.now, chance: Math.random },
    },
  );
  try {
    await Promise.race([toldToStop, all.failed]);
  } finally {
    await all.stop();
  }
  return exitCodes.stopped;
}

/** Two services on one path would take it from each other. */
function checkSockets(values: AllArguments): void {
  const path = values['controller-socket'];
  if (path === '' || (path.startsWith('/') && path !== values['csi-socket'])) return;
  const message = `--controller-socket is ${show(path)}: write an absolute path of its own`;
  throw new OperationError('InvalidConfiguration', message);
}
