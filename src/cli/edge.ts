import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/host.ts';
import { KubeClient } from '../kube/client.ts';
import { connected } from '../kube/connect.ts';
import { type KubeCode, KubeError, kubeCodes } from '../kube/errors.ts';
import { HttpTransport } from '../kube/transport.ts';
import { type Environment, exitCodes, nsenter, UsageError } from './context.ts';
import { applyEdge } from './edge-apply.ts';
import { edgeHealth } from './edge-health.ts';
import type { EdgeDoors } from './edge-sight.ts';

/** Where MicroShift puts that of its administrator. */
const microShiftKubeconfig = '/var/lib/microshift/resources/kubeadmin/kubeconfig';

export const edgeUsage = `quarry edge: storage of a cluster that has one node, by a file on it

  quarry edge apply     give the cluster what the file says; the agent starts anew if it changed
  quarry edge health    wait until storage is well; else ends with 1, and says what is not

  --lvmd FILE           lvmd.yaml of this host (default /etc/microshift/lvmd.yaml)
  --default-group NAME  the volume group of the default, where there is no file (default rhel)
  --namespace NAME      where everything is (default openshift-storage)
  --kubeconfig FILE     the way to the API server (default: KUBECONFIG, or that of MicroShift,
                        ${microShiftKubeconfig})
  --replace-topolvm     of apply: take the programs of TopoLVM away that MicroShift ran before
  --timeout SECONDS     of health: how long to wait (default 300)
  --nsenter             run lvm in the namespaces of process 1 (inside a container)
`;

/** `quarry edge VERB`: for whoever owns a device, its file, and nothing else of the cluster. */
export async function edge(argv: readonly string[], environment: Environment): Promise<number> {
  const { values, positionals } = edgeFlags(argv, environment);
  const [verb, ...more] = positionals;
  if (values.help) {
    environment.print(edgeUsage);
    return exitCodes.done;
  }
  if ((verb !== 'apply' && verb !== 'health') || more.length > 0) {
    throw new UsageError(`edge knows apply and health; not ${show(positionals.join(' '))}`);
  }
  const timeoutMs = secondsOf(values.timeout) * 1000;
  const way = new Way(values.kubeconfig, environment);
  const { path } = environment;
  const { lvmd: file, 'default-group': defaultGroup, namespace } = values;
  const doors: EdgeDoors = {
    ...{ print: environment.print, warn: environment.warn, clock: realClock },
    hostFor: (lvm) => realHost({ prefix: values.nsenter ? nsenter : [], path, lvm }),
    ...{ readText: textIn, connect: () => way.open() },
  };
  const options = { file, defaultGroup, namespace };
  try {
    const replacesTopolvm = values['replace-topolvm'];
    if (verb === 'apply') return await applyEdge(doors, { ...options, replacesTopolvm });
    return await edgeHealth(doors, { ...options, timeoutMs });
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    environment.warn(`quarry: ${error.code}: ${error.message}`);
    return retried(error.code) ? exitCodes.retryLater : exitCodes.failed;
  } finally {
    way.close();
  }
}

export function edgeFlags(argv: readonly string[], { variables }: Pick<Environment, 'variables'>) {
  const kubeconfig = variables.kubeconfig || microShiftKubeconfig;
  return parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      lvmd: { type: 'string', default: '/etc/microshift/lvmd.yaml' },
      'default-group': { type: 'string', default: 'rhel' },
      namespace: { type: 'string', default: 'openshift-storage' },
      kubeconfig: { type: 'string', default: kubeconfig },
      'replace-topolvm': { type: 'boolean', default: false },
      timeout: { type: 'string', default: '300' },
      nsenter: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
}

function secondsOf(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageError(`--timeout is ${show(text)}: write seconds, such as 300`);
}

async function textIn(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const message = `${file} cannot be read: ${(error as Error).message}`;
    throw new OperationError('InvalidConfiguration', message, { cause: error });
  }
}

/** The API server, which may not be there yet. */
class Way {
  readonly #kubeconfig: string;
  readonly #environment: Environment;
  #transport: HttpTransport | undefined;
  #client: KubeClient | undefined;

  constructor(kubeconfig: string, environment: Environment) {
    this.#kubeconfig = kubeconfig;
    this.#environment = environment;
  }

  async open(): Promise<KubeClient> {
    if (this.#client !== undefined) return this.#client;
    const { variables } = this.#environment;
    const kubeconfig = this.#kubeconfig;
    const { connection } = await connected({ kubeconfig }, { variables }, realClock);
    const transport = new HttpTransport(connection.endpoint, connection.credentials);
    this.#transport = transport;
    this.#client = new KubeClient({ transport, clock: realClock, chance: Math.random });
    return this.#client;
  }

  close(): void {
    this.#transport?.close();
  }
}

/** While a host starts much is not there yet, and others write, too. */
const early: ReadonlySet<KubeCode> = new Set<KubeCode>([
  ...(['NotFound', 'KindMissing', 'AlreadyExists', 'Conflict'] as const),
]);

function retried(code: KubeCode): boolean {
  return early.has(code) || kubeCodes[code] === 'backoff';
}
