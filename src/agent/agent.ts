import type { KubeObject, OwnerReference } from '../api/objects/metadata.ts';
import { OperationError } from '../base/failures.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import { ownProtocols, type Protocols } from '../core/cluster/protocol.ts';
import { KubeClient } from '../kube/client.ts';
import { type Kind, metadataShape } from '../kube/kind.ts';
import { Limiter } from '../kube/limiter.ts';
import type { Chance } from '../kube/ports.ts';
import type { Transport } from '../kube/transport.ts';
import { ClusterWork } from './cluster-work.ts';
import { Registration } from './kubelet.ts';
import { Ledger } from './ledger.ts';
import { agentLimits } from './limits.ts';
import type { Log } from './log.ts';
import { nodeFiles } from './node-files.ts';
import { Removals } from './removals.ts';
import {
  type Doors,
  type Standalone,
  type StandaloneOptions,
  startStandalone,
} from './standalone.ts';

export type AgentOptions = Omit<
  StandaloneOptions,
  'recorded' | 'removals' | 'driver' | 'domain' | 'mayBeEmpty'
> & {
  readonly names: ClusterNames;
  readonly kubeletRoot: string;
  /** The CSI socket as kubelet finds it: a path of the host. */
  readonly hostSocket: string;
  readonly namespace: string;
  /** The DaemonSet that objects of ours go with; '' for none. */
  readonly daemonSet: string;
  readonly hasSchedulerExtender: boolean;
  /** Makes volume groups as LVMClusters ask for them, and writes lvmd.yaml. */
  readonly makesGroups?: boolean;
  /** Others only in tests. */
  readonly protocols?: Protocols;
};

export type AgentDoors = Doors & { readonly transport: Transport; readonly chance: Chance };

/**
 * The driver on a node of a cluster. The sockets come first and need no API server: what is on this
 * node can be mounted, grown and looked at without one. What objects ask for follows when one is
 * heard.
 */
export async function startAgent(
  options: AgentOptions,
  log: Log,
  doorsFor: (lvm: readonly string[]) => AgentDoors,
): Promise<Agent> {
  const ledger = new Ledger();
  const removals = await Removals.open(options.stateDirectory, log);
  ledger.onGone((id) => removals.forget(id));
  let doors: AgentDoors | undefined;
  const { domain, driver } = options.names;
  const mayBeEmpty = options.makesGroups === true;
  const standalone = await startStandalone(
    { ...options, domain, driver, recorded: ledger, removals, mayBeEmpty },
    log,
    (lvm) => {
      doors = doorsFor(lvm);
      return doors;
    },
  );
  if (doors === undefined) throw new Error('the doors are asked for at the start');
  const agent = new Agent({ options, log, doors, standalone, ledger, removals });
  try {
    await agent.start();
  } catch (error) {
    await agent.stop();
    throw error;
  }
  return agent;
}

type Parts = {
  readonly options: AgentOptions;
  readonly log: Log;
  readonly doors: AgentDoors;
  readonly standalone: Standalone;
  readonly ledger: Ledger;
  readonly removals: Removals;
};

export class Agent {
  readonly standalone: Standalone;
  readonly work: ClusterWork;
  /** Rejects when this process should end: kubelet refuses it, or a bug of ours showed. */
  readonly failed: Promise<never>;
  readonly #parts: Parts;
  readonly #registration: Registration;
  readonly #stopping = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #fail: (error: unknown) => void = () => undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.standalone = parts.standalone;
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    // Nobody may wait for it yet.
    this.failed.catch(() => undefined);
    this.work = this.#clusterWork();
    const { kubeletRoot, hostSocket, names } = parts.options;
    this.#registration = new Registration({
      ...{ kubeletRoot, driver: names.driver, endpoint: hostSocket, log: parts.log },
      logCall: (event) => this.standalone.logCall(event),
      refused: (error) => this.#fail(error),
    });
  }

  async start(): Promise<void> {
    await this.#registration.start();
    this.standalone.configuration.onChange(async () => this.work.reconfigured());
    this.#running = this.work.run(this.#stopping.signal).catch((error: unknown) => {
      this.#fail(error);
    });
  }

  /** Kubelet forgets us first; then what is under way ends, and the sockets go. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#registration.stop();
    await this.#running;
    await this.standalone.stop();
    this.#parts.doors.transport.close();
  }

  /** Is the socket that kubelet knows us by still there? */
  lookForKubelet(): Promise<void> {
    return this.#registration.look();
  }

  #clusterWork(): ClusterWork {
    const { options, log, doors, standalone, ledger, removals } = this.#parts;
    const { clock, chance, transport } = doors;
    const { requestsPerSecond: perSecond, requestsAtOnce: atOnce } = agentLimits;
    const limiter = new Limiter({ perSecond, atOnce }, clock);
    const client = new KubeClient({ transport, clock, chance, limiter });
    const { engine, volumes, groups } = standalone;
    const { lvmdFile, stateDirectory, makesGroups = false, version } = options;
    const reread = () => standalone.configuration.reread();
    return new ClusterWork({
      ...{ client, ledger, engine, volumes, groups, removals, clock, chance, log },
      ...{ names: options.names, node: options.node, namespace: options.namespace },
      build: { version, protocols: options.protocols ?? ownProtocols },
      hasSchedulerExtender: options.hasSchedulerExtender,
      making: makesGroups
        ? {
            files: nodeFiles({ lvmdFile, stateDirectory, reread }),
            lvmd: () => standalone.configuration.sight,
          }
        : undefined,
      owner: () => ownerOf(client, options),
      strayed: (count) => standalone.strayed(count),
      classes: () => standalone.configuration.classes,
    });
  }
}

const daemonSetKind: Kind<KubeObject> = {
  ...{ group: 'apps', version: 'v1', kind: 'DaemonSet', plural: 'daemonsets' },
  isNamespaced: true,
  shape: { metadata: metadataShape },
};

async function ownerOf(
  client: KubeClient,
  { daemonSet: name, namespace }: Pick<AgentOptions, 'daemonSet' | 'namespace'>,
): Promise<OwnerReference | undefined> {
  if (name === '') return undefined;
  const found = await client.find(daemonSetKind, { namespace, name });
  if (found === undefined) {
    const message = `there is no DaemonSet ${namespace}/${name}: correct --daemonset`;
    throw new OperationError('InvalidConfiguration', message);
  }
  const { uid } = found.metadata;
  return { apiVersion: 'apps/v1', kind: 'DaemonSet', name, uid, controller: true };
}
