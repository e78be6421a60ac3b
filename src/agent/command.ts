import { type Environment, exitCodes, type Run, runRole } from '../process/role.ts';
import {
  checkArguments,
  type StandaloneArguments,
  standaloneArguments,
  usage,
} from './arguments.ts';
import { startStandalone } from './standalone.ts';

export const nsenter = [
  'nsenter',
  '--target',
  '1',
  '--mount',
  '--uts',
  '--ipc',
  '--net',
  '--pid',
  '--',
];

/** Serves until it is told to stop, and gives the exit code. */
export function runStandalone(argv: readonly string[], environment: Environment): Promise<number> {
  const read = () => standaloneArguments(argv);
  return runRole({ role: 'standalone', usage, read, serve }, environment);
}

async function serve(
  values: StandaloneArguments,
  environment: Environment,
  { log, toldToStop }: Run,
): Promise<number> {
  checkArguments(values);
  const standalone = await startStandalone(
    {
      lvmdFile: values.config,
      stateDirectory: values['state-dir'],
      csiSocket: values['csi-socket'],
      metricsAddress: values['metrics-address'],
      node: values['node-id'],
      driver: values['driver-name'],
      version: environment.version,
      prefix: values.nsenter ? nsenter : [],
      path: environment.path,
    },
    log,
  );
  await toldToStop;
  await standalone.stop();
  return exitCodes.stopped;
}
