import { readFile } from 'node:fs/promises';
import { OperationError } from '../base/failures.ts';
import type { Connection } from './credentials.ts';
import { KubeError } from './errors.ts';
import type { RunProgram } from './exec-credentials.ts';
import { fromKubeconfig } from './from-kubeconfig.ts';
import { inCluster, ownNamespace } from './in-cluster.ts';
import { readKubeconfig } from './kubeconfig.ts';
import type { Clock, WallClock } from './ports.ts';

export type ConnectOptions = {
  /** Paths, parted by colons; '' where there is none. Then a pod has its own way in. */
  readonly kubeconfig: string;
  /** Of the kubeconfig, where it is not the current one. */
  readonly context?: string | undefined;
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly serviceHost: string;
  readonly servicePort: string;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly run?: RunProgram;
};

export type Connected = {
  readonly connection: Connection;
  /** The one we live in, where that is known. */
  readonly namespace: string | undefined;
};

/** The way to the API server: a kubeconfig that was named, or what kubelet gives to a pod. */
export async function connect(options: ConnectOptions): Promise<Connected> {
  const { kubeconfig, serviceHost: host, servicePort, clock } = options;
  if (kubeconfig !== '') return withKubeconfig(kubeconfig, options);
  const port = Number(servicePort);
  if (host === '' || !Number.isInteger(port) || port <= 0) {
    const message =
      'there is no kubeconfig, and this is no pod: KUBERNETES_SERVICE_HOST is not set';
    throw new KubeError('NoCredentials', message);
  }
  const namespace = await ownNamespace(clock).catch(() => undefined);
  return { connection: inCluster({ host, port, clock }), namespace };
}

type Told = Pick<ConnectOptions, 'kubeconfig'>;
type Surrounding = { readonly variables: Pick<ConnectOptions, 'serviceHost' | 'servicePort'> };

/** For a process that starts: where no way leads there, it was started with a mistake. */
export async function connected(
  { kubeconfig }: Told,
  { variables }: Surrounding,
  clock: Clock,
): Promise<Connected> {
  try {
    return await connect({ ...variables, kubeconfig, clock, wall: Date.now });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const message = `${error.message}; name one with --kubeconfig`;
    throw new OperationError('InvalidConfiguration', message, { cause: error });
  }
}

async function withKubeconfig(paths: string, options: ConnectOptions): Promise<Connected> {
  const files = await Promise.all(
    paths.split(':').map(async (path) => ({ path, text: await textOf(path) })),
  );
  const context = readKubeconfig(files, options.context);
  const { clock, wall, run } = options;
  const doors = { clock, wall, ...(run === undefined ? {} : { run }) };
  return { connection: fromKubeconfig(context, doors), namespace: context.namespace };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    const message = `the kubeconfig ${path} cannot be read: ${(cause as Error).message}`;
    throw new KubeError('NoCredentials', message, { cause });
  }
}
