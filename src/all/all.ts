import { type Agent, type AgentOptions, startAgent } from '../agent/agent.ts';
import type { Clock, Host } from '../engine/ports.ts';
import type { LeaseTimes } from '../kube/lease.ts';
import type { Chance, WallClock } from '../kube/ports.ts';
import type { Transport } from '../kube/transport.ts';
import { type Operator, startOperator } from '../operator/operator.ts';
import { Diagnostics } from '../process/diagnostics.ts';
import type { Address } from '../process/http-server.ts';
import type { Log } from '../process/log.ts';
import { mergeFamilies, renderFamilies } from '../process/registry.ts';

export type AllOptions = {
  readonly agent: AgentOptions;
  /** The host, for events and leases. */
  readonly host: string;
  /** '' for none: the duties call the controller in this process. */
  readonly controllerSocket: string;
  /** Where API servers ask about LVMClusters; undefined for nowhere. */
  readonly webhook?: Address | undefined;
  readonly isSnapshotController: boolean;
  readonly leaseTimes?: LeaseTimes;
};

export type AllDoors = {
  readonly host: (lvm: readonly string[]) => Host;
  /** Both roles speak through it. */
  readonly transport: Transport;
  readonly leaseTransport: Transport;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly chance: Chance;
  /** That of the machine, unless told otherwise. */
  readonly sinceBootMs?: () => number;
};

type Parts = { readonly options: AllOptions; readonly log: Log; readonly doors: AllDoors };

/** Both roles on the only node of a cluster. */
export async function startAll(options: AllOptions, log: Log, doors: AllDoors): Promise<All> {
  const all = new All({ options, log, doors });
  try {
    await all.start();
  } catch (error) {
    await all.stop();
    throw error;
  }
  return all;
}

export class All {
  /** Rejects when one of the roles cannot go on: the process has to end. */
  readonly failed: Promise<never>;
  readonly #parts: Parts;
  readonly #diagnostics: Diagnostics;
  #fail: (error: unknown) => void = () => undefined;
  #agent: Agent | undefined;
  #operator: Operator | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
    this.#diagnostics = new Diagnostics({
      metrics: () => this.metrics(),
      readiness: () => this.readiness(),
      status: () => this.status(),
    });
  }

  /** Kubelet is served first: mounting what is here needs nothing of the cluster. */
  async start(): Promise<void> {
    const { options, log } = this.#parts;
    await this.#diagnostics.serve(options.agent.metricsAddress, log);
    this.#agent = await this.#startAgent();
    this.#agent.failed.catch((error: unknown) => this.#fail(error));
    this.#operator = await this.#startOperator();
    this.#operator.failed.catch((error: unknown) => this.#fail(error));
  }

  /** Duties first, while the node can still end what they began; then the agent. */
  async stop(): Promise<void> {
    const { transport, leaseTransport } = this.#parts.doors;
    try {
      await this.#operator?.stop();
    } finally {
      await this.#agent?.stop();
    }
    await this.#diagnostics.stop();
    transport.close();
    leaseTransport.close();
  }

  metrics(): string {
    const agent = this.#agent?.standalone.figures() ?? [];
    const operator = this.#operator?.metrics.families() ?? [];
    return renderFamilies(mergeFamilies([...agent, ...operator]));
  }

  async readiness(): Promise<readonly string[]> {
    if (this.#agent === undefined || this.#operator === undefined) return ['it is starting'];
    const node = await this.#agent.standalone.readiness();
    return [...node, ...(await this.#operator.readiness())];
  }

  status(): object {
    return { agent: this.#agent?.standalone.status(), operator: this.#operator?.status() };
  }

  #startAgent(): Promise<Agent> {
    const { options, log, doors } = this.#parts;
    const { clock, chance, host } = doors;
    const transport = lent(doors.transport);
    return startAgent({ ...options.agent, metricsAddress: '0' }, log, (lvm) => ({
      ...{ host: host(lvm), clock, chance, transport },
    }));
  }

  #startOperator(): Promise<Operator> {
    const { options, log, doors } = this.#parts;
    const { names, namespace, version } = options.agent;
    const { host, controllerSocket: csiSocket, isSnapshotController, leaseTimes } = options;
    const { webhook } = options;
    return startOperator(
      {
        ...{ names, namespace, version, host, csiSocket, isSnapshotController, webhook },
        actsOnLvmClusters: options.agent.makesGroups ?? false,
        ...{ metricsAddress: '0', ...(leaseTimes === undefined ? {} : { leaseTimes }) },
      },
      log,
      {
        ...{ ...doors, transport: lent(doors.transport) },
        leaseTransport: lent(doors.leaseTransport),
      },
    );
  }
}

/** Who borrows a transport leaves it open for the other role. */
function lent(transport: Transport): Transport {
  return {
    send: (call) => transport.send(call),
    open: (call, idleMs) => transport.open(call, idleMs),
    refuseCredentials: () => transport.refuseCredentials(),
    close: () => undefined,
  };
}
