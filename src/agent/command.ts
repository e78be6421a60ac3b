import { failures, OperationError } from '../base/failures.ts';
import {
  checkArguments,
  type StandaloneArguments,
  standaloneArguments,
  usage,
} from './arguments.ts';
import { startStandalone } from './standalone.ts';

export type Environment = {
  readonly path: string;
  readonly version: string;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
};

const nsenter = ['nsenter', '--target', '1', '--mount', '--uts', '--ipc', '--net', '--pid', '--'];

/**
 * As those of every other command, see docs/guides/standalone.md. `unusable`: what was asked for
 * cannot be understood, or the configuration cannot be used.
 */
const exitCodes = { stopped: 0, failed: 1, unusable: 2, retryLater: 75 } as const;

/** Serves until it is told to stop, and gives the exit code. */
export async function runStandalone(
  argv: readonly string[],
  environment: Environment,
): Promise<number> {
  try {
    const values = standaloneArguments(argv);
    if (!values.help && !values.version) return await serve(values, environment);
    environment.print(values.help ? usage : environment.version);
    return exitCodes.stopped;
  } catch (error) {
    if (error instanceof OperationError) return tell(error, environment);
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (!code.startsWith('ERR_PARSE_ARGS_')) throw error;
    environment.warn(`quarry: ${message}`);
    environment.warn('quarry: `quarry standalone --help` shows the flags');
    return exitCodes.unusable;
  }
}

async function serve(values: StandaloneArguments, environment: Environment): Promise<number> {
  checkArguments(values);
  const log = (event: object) => environment.print(toLine(event));
  for (const flag of values.ignored) {
    log({ level: 'warn', message: `${flag} is ignored: lvmd has no such flag any more` });
  }
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
  await toldToStop();
  await standalone.stop();
  return exitCodes.stopped;
}

function tell(error: OperationError, { warn }: Environment): number {
  warn(`quarry: ${error.code}: ${error.message}`);
  warn(`quarry: ${failures[error.code].hint}`);
  if (error.code === 'InvalidConfiguration') return exitCodes.unusable;
  return failures[error.code].retry === 'backoff' ? exitCodes.retryLater : exitCodes.failed;
}

function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
}

/** One line of JSON for each event; sizes that no number can hold are written as text. */
function toLine(event: object): string {
  const time = new Date().toISOString();
  return JSON.stringify({ time, ...event }, (_key, value: unknown) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}
