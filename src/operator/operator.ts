import { randomUUID } from 'node:crypto';
import { OperationError } from '../base/failures.ts';
import { ourLease } from '../core/cluster/leases.ts';
import type { ClusterNames } from '../core/cluster/names.ts';
import { ownProtocols, type Protocols } from '../core/cluster/protocol.ts';
import type { Build } from '../core/cluster/skew.ts';
import type { CallEvent } from '../csi/call.ts';
import { controllerService } from '../csi/controller.ts';
import { groupControllerService } from '../csi/group-controller.ts';
import { Health, healthService } from '../csi/health.ts';
import { identityService } from '../csi/identity.ts';
import { type RunningServer, startServer } from '../csi/server.ts';
import type { Service } from '../csi/service.ts';
import { isServed } from '../csi/socket-claim.ts';
import { KubeClient } from '../kube/client.ts';
import { leaseClock } from '../kube/clock.ts';
import { Election, type Leadership } from '../kube/election.ts';
import { KubeError } from '../kube/errors.ts';
import { keyOf, type ObjectName } from '../kube/kind.ts';
import { type LeaseTimes, usualTimes } from '../kube/lease.ts';
import { Limiter } from '../kube/limiter.ts';
import type { Chance, Clock, WallClock } from '../kube/ports.ts';
import { EventRecorder } from '../kube/recorder-events.ts';
import type { Transport } from '../kube/transport.ts';
import { Diagnostics } from '../process/diagnostics.ts';
import type { Address } from '../process/http-server.ts';
import type { Log } from '../process/log.ts';
import type { Cluster, Stores } from './duty.ts';
import { Endings } from './endings.ts';
import { LogicalVolumeBook } from './logical-volumes.ts';
import { LvmsPart } from './lvms-part.ts';
import { deleteOldWorkloads } from './old-workloads.ts';
import { type CommonParts, dutiesOf, runDuties, snapshotWatches } from './operator-duties.ts';
import { changeOf, type LeaseParts, leasesChanged, wantedLeases } from './operator-leases.ts';
import { OperatorMetrics } from './operator-metrics.ts';
import { OldController } from './operator-rival.ts';
import { Orphans } from './orphans.ts';
import { LogicalVolumeGroups } from './snapshot-groups.ts';
import { newStores, runStores, storesSynced, unsynced } from './stores.ts';

export type OperatorOptions = {
  readonly names: ClusterNames;
  /** Where we run: our leases and the capacity objects are there. */
  readonly namespace: string;
  /** '' for none. */
  readonly csiSocket: string;
  /** `:8080`, or `0` for none. */
  readonly metricsAddress: string;
  readonly actsOnLvmClusters?: boolean;
  /** Where API servers ask before they take an object; undefined for nowhere. */
  readonly webhook?: Address | undefined;
  readonly version: string;
  /** The host, for events and leases. */
  readonly host: string;
  readonly leaseTimes?: LeaseTimes;
  /** Whether we are the snapshot-controller of the cluster, too. */
  readonly isSnapshotController?: boolean;
  /** Others only in tests. */
  readonly protocols?: Protocols;
};

export type OperatorDoors = {
  readonly transport: Transport;
  /** Connections of its own: a renewal never waits for a list. */
  readonly leaseTransport: Transport;
  readonly clock: Clock;
  readonly wall: WallClock;
  readonly chance: Chance;
  /** That of the machine, unless told otherwise. */
  readonly sinceBootMs?: () => number;
  /** What is done once; others only in tests. */
  readonly duties?: typeof dutiesOf;
};

/** Requests in a second, and at once: a hundred claims at a time must not wait for us. */
const rate = { perSecond: 100, atOnce: 200 } as const;

type Parts = OperatorDoors & { readonly options: OperatorOptions; readonly log: Log };

/** Watches, serves and wants to lead, until it is stopped. */
export async function startOperator(
  options: OperatorOptions,
  log: Log,
  doors: OperatorDoors,
): Promise<Operator> {
  const operator = new Operator({ ...doors, options, log });
  try {
    await operator.start();
  } catch (error) {
    await operator.stop();
    throw error;
  }
  return operator;
}

export class Operator {
  readonly stores: Stores;
  readonly book: LogicalVolumeBook;
  readonly metrics: OperatorMetrics;
  readonly #parts: Parts;
  readonly #client: KubeClient;
  readonly #leases: LeaseParts;
  readonly #oldController: OldController;
  readonly #lvms: LvmsPart;
  readonly #groups: LogicalVolumeGroups;
  readonly #recorder: EventRecorder;
  readonly #diagnostics: Diagnostics;
  readonly #health = new Health();
  readonly #stopping = new AbortController();
  /** No other process has it, nor an earlier life of this one. */
  readonly #self: string;
  /** Rejects with what nobody expected: the process has to end. */
  readonly failed: Promise<never>;
  #fail: (error: unknown) => void = () => undefined;
  #running: readonly Promise<void>[] = [];
  #server: RunningServer | undefined;
  #leadership: Leadership | undefined;
  #orphans: Orphans | undefined;
  #held: readonly ObjectName[] = [];

  constructor(parts: Parts) {
    const { options, transport, leaseTransport, clock, chance, wall } = parts;
    const { names, namespace, version, host } = options;
    this.#parts = parts;
    this.#self = `${host}_${randomUUID()}`;
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
    const trouble = (what: string) => (error: Error, waitMs: number) =>
      this.#trouble(what, error, waitMs);
    const common = { clock, chance };
    const limiter = new Limiter(rate, clock);
    this.#client = new KubeClient({ transport, limiter, ...common });
    const client = this.#client;
    this.stores = newStores({
      ...{ ...common, client, names, namespace },
      trouble: (kind, error, waitMs) => this.#trouble(kind, error, waitMs),
    });
    const { stores } = this;
    this.#lvms = new LvmsPart({
      ...{ ...common, client, stores, names, namespace, webhook: options.webhook },
      ...{ log: parts.log, trouble: (what, error, waitMs) => this.#trouble(what, error, waitMs) },
    });
    this.#leases = {
      ...{ names, namespace, trouble: trouble('leases') },
      clock: leaseClock(clock, parts.sinceBootMs),
      client: new KubeClient({ transport: leaseTransport, ...common }),
    };
    const mayChange = () => this.#mayChange();
    const fenced = client.fenced(() => this.#fence());
    this.book = new LogicalVolumeBook({
      client: fenced,
      names,
      build: this.#build,
      stores,
      clock,
      wall,
      mayChange,
    });
    this.#groups = new LogicalVolumeGroups({ book: this.book, newId: randomUUID, mayChange });
    const source = `${names.driver}_${host}`;
    this.#recorder = new EventRecorder({
      ...{ ...common, client, wall, source, trouble: trouble('events') },
    });
    const telling = { recorder: this.#recorder, log: parts.log };
    this.#oldController = new OldController({ ...this.#leases, ...telling });
    this.metrics = new OperatorMetrics({
      ...{ version, stores, isLeading: () => this.isLeading, nowMs: wall },
      droppedEvents: () => this.#recorder.dropped,
      orphans: () => this.#orphans?.figures() ?? [],
    });
    this.#diagnostics = new Diagnostics({
      metrics: () => this.metrics.text(),
      readiness: () => this.readiness(),
      status: () => this.status(),
    });
  }

  get isLeading(): boolean {
    return this.#leadership?.isHeld() === true;
  }

  async start(): Promise<void> {
    const { signal } = this.#stopping;
    await this.#diagnostics.serve(this.#parts.options.metricsAddress, this.#parts.log);
    await this.#serve();
    const work = [
      runStores(this.stores, signal),
      this.#lvms.run(signal),
      this.#recorder.run(signal),
      this.#campaign(signal),
    ];
    this.#running = work.map((part) => part.catch((error: unknown) => this.#fail(error)));
  }

  /** Duties end first, then the leases are given back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#health.set('', 'NOT_SERVING');
    await this.#server?.stop();
    await Promise.all(this.#running);
    await this.#diagnostics.stop();
    this.#parts.transport.close();
    this.#parts.leaseTransport.close();
  }

  async readiness(): Promise<readonly string[]> {
    const { csiSocket } = this.#parts.options;
    const missing = unsynced(this.stores).map((kind) => `${kind} have not been read yet`);
    const isThere = csiSocket === '' || (await isServed(csiSocket));
    return isThere ? missing : [...missing, `nothing answers on ${csiSocket}`];
  }

  status(): object {
    const { names, version, namespace, csiSocket } = this.#parts.options;
    const { message: waitsFor } = this.#oldController;
    return {
      ...{ ...names, version, namespace, csiSocket, isLeading: this.isLeading },
      leases: this.#held.map((one) => (one.namespace === namespace ? one.name : keyOf(one))),
      ...(waitsFor === undefined ? {} : { waitsFor }),
      notReadYet: unsynced(this.stores),
      orphans: this.#orphans?.figures() ?? [],
    };
  }

  /** Again and again: a term that was lost is followed by another campaign. */
  async #campaign(signal: AbortSignal): Promise<void> {
    const { log, options, wall, chance } = this.#parts;
    await Promise.race([storesSynced(this.stores), aborted(signal)]);
    const self = this.#self;
    while (!signal.aborted) {
      if (options.actsOnLvmClusters === true) {
        await deleteOldWorkloads({ ...this.#leases, log }, signal);
      }
      const names = await wantedLeases(this.#leases, signal);
      if (names === undefined) return;
      const over = new AbortController();
      const stop = () => over.abort();
      signal.addEventListener('abort', stop);
      if (signal.aborted) stop();
      const election = new Election({
        ...{ ...this.#leases, names, self, wall, chance, waits: this.#oldController.saw },
        times: options.leaseTimes ?? usualTimes,
      });
      const lead = (term: Leadership) => this.#lead(term, names);
      try {
        const [ended] = await Promise.all([
          election.run(lead, over.signal).finally(stop),
          this.#watchLeases(names, over.signal).finally(stop),
        ]);
        if (ended === 'lost') log({ level: 'warn', message: 'the lease was lost' });
      } finally {
        signal.removeEventListener('abort', stop);
        this.#oldController.forget();
      }
    }
  }

  /** Ends when the campaign has to begin anew. */
  async #watchLeases(names: readonly ObjectName[], signal: AbortSignal): Promise<void> {
    const change = await leasesChanged(this.#leases, names, signal);
    if (change !== undefined) this.#parts.log({ level: 'warn', message: change });
  }

  async #lead(leadership: Leadership, names: readonly ObjectName[]): Promise<void> {
    const { log, duties = dutiesOf } = this.#parts;
    const { term, signal } = leadership;
    this.#oldController.forget();
    // It may be long ago that we began to wait.
    const change = await changeOf(this.#leases, names, signal);
    if (change !== undefined) log({ level: 'warn', message: change });
    if (change !== undefined || signal.aborted) return;
    this.#leadership = leadership;
    this.#held = names;
    log({ level: 'info', message: 'leading', term, leases: names.map(keyOf) });
    try {
      const cluster = this.#cluster(leadership);
      const snapshots = snapshotWatches(cluster);
      this.#orphans = new Orphans(cluster, snapshots);
      const { kinds: lvms, registration } = this.#lvms;
      const { actsOnLvmClusters = false } = this.#parts.options;
      const common = this.#common(leadership);
      const means = { common, lvms, registration, snapshots, actsOnLvmClusters };
      await runDuties([...duties(cluster, means), this.#orphans], signal);
    } finally {
      this.#leadership = undefined;
      this.#orphans = undefined;
      this.#held = [];
    }
  }

  #cluster({ fence }: Leadership): Cluster {
    const { options, clock, chance, wall, log } = this.#parts;
    return {
      ...{
        names: options.names,
        build: this.#build,
        stores: this.stores,
        clock,
        chance,
        wall,
        log,
      },
      client: this.#client.fenced(fence),
      ...{ book: this.book, groups: this.#groups, recorder: this.#recorder },
      endings: new Endings(clock, (ended) => this.metrics.ended(ended)),
    };
  }

  #common({ fence }: Leadership): CommonParts | undefined {
    const { options, wall, chance, log } = this.#parts;
    if (options.isSnapshotController !== true) return undefined;
    const { namespace, leaseTimes: times = usualTimes } = options;
    const lease = { ...this.#leases, namespace, times, wall, chance, log, self: this.#self };
    return { client: this.#client, lease, fence };
  }

  /** What belongs to no term, such as calls on the socket, asks whoever leads now. */
  #fence(): void {
    if (this.#leadership === undefined) {
      throw new KubeError('Fenced', 'this instance does not lead: nothing was done');
    }
    this.#leadership.fence();
  }

  #mayChange(): void {
    if (this.isLeading) return;
    const { namespace } = this.#parts.options;
    const message = `this instance does not hold the lease ${namespace}/${ourLease}`;
    throw new OperationError('NotLeading', message);
  }

  get #build(): Build {
    const { version, protocols = ownProtocols } = this.#parts.options;
    return { version, protocols };
  }

  async #serve(): Promise<void> {
    const { options, log } = this.#parts;
    const { csiSocket: path } = options;
    if (path === '') return;
    const logCall = (event: CallEvent) => this.#logCall(event);
    this.#server = await startServer({ path, services: this.#services(), log: logCall });
    this.#health.set('', 'SERVING');
    log({ level: 'info', message: `serving CSI on ${path}` });
  }

  #services(): readonly Service[] {
    const { names, version, host } = this.#parts.options;
    const driver = { ...names, version, node: host };
    return [
      identityService(driver, {
        isReady: () => unsynced(this.stores).length === 0,
        missingGroups: () => Promise.resolve([]),
      }),
      controllerService(this.book, driver),
      groupControllerService(this.#groups),
      healthService(this.#health),
    ];
  }

  #trouble(what: string, error: Error, waitMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.metrics.troubled(what);
    this.#parts.log({ level: 'warn', message: error.message, what, waitMs });
  }

  #logCall(event: CallEvent): void {
    this.metrics.called(event);
    const level = event.code === 'OK' ? 'info' : 'warn';
    this.#parts.log({ ...event, level, message: event.message ?? event.method });
  }
}

/** For who waits for something that may never come. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
    if (signal.aborted) resolve();
  });
}
