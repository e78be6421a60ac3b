import { hostname } from 'node:os';
import { parseArgs } from 'node:util';
import { failures, OperationError } from '../base/failures.ts';
import { startStandalone } from './standalone.ts';

export type Environment = {
  readonly path: string;
  readonly print: (text: string) => void;
  readonly warn: (text: string) => void;
};

const usage = `quarry standalone: the CSI driver on this host, without a cluster

  --config FILE        lvmd.yaml (default /etc/topolvm/lvmd.yaml)
  --csi-socket PATH    (default /run/topolvm/csi-topolvm.sock)
  --node-id NAME       (default: the host's name)
  --driver-name NAME   (default topolvm.io)
  --nsenter            run programs in the namespaces of process 1 (inside a container)
`;

const nsenter = ['nsenter', '--target', '1', '--mount', '--uts', '--ipc', '--net', '--pid', '--'];

/** Serves until it is told to stop, and gives the exit code. */
export async function runStandalone(
  argv: readonly string[],
  environment: Environment,
): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      config: { type: 'string', default: '/etc/topolvm/lvmd.yaml' },
      'csi-socket': { type: 'string', default: '/run/topolvm/csi-topolvm.sock' },
      'node-id': { type: 'string', default: hostname() },
      'driver-name': { type: 'string', default: 'topolvm.io' },
      nsenter: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    environment.print(usage);
    return 0;
  }
  const log = (event: object) => environment.print(toLine(event));
  try {
    const standalone = await startStandalone(
      {
        lvmdFile: values.config,
        csiSocket: values['csi-socket'],
        node: values['node-id'],
        driver: values['driver-name'],
        version: '0.1.0',
        prefix: values.nsenter ? nsenter : [],
        path: environment.path,
      },
      log,
    );
    await toldToStop();
    await standalone.stop();
    return 0;
  } catch (error) {
    if (!(error instanceof OperationError)) throw error;
    environment.warn(`quarry: ${error.code}: ${error.message}`);
    environment.warn(`quarry: ${failures[error.code].hint}`);
    return error.code === 'InvalidConfiguration' ? 2 : 1;
  }
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
