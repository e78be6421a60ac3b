import { randomUUID } from 'node:crypto';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import { nothingRecorded, type RecordedVolumes, type RemovalNotes } from '../core/catalog.ts';
import type { Configuration, ConfigurationView } from '../core/configuration.ts';
import { knownGroups } from '../core/own-group.ts';
import { localBook, localGroups } from '../csi/book.ts';
import type { CallEvent } from '../csi/call.ts';
import { controllerService, type DriverNames } from '../csi/controller.ts';
import { groupControllerService } from '../csi/group-controller.ts';
import { Groups } from '../csi/groups.ts';
import { Health, healthService } from '../csi/health.ts';
import { identityService } from '../csi/identity.ts';
import { lvmdServices } from '../csi/lvmd.ts';
import { LvmdVolumes } from '../csi/lvmd-volumes.ts';
import { nodeService } from '../csi/node.ts';
import { type RunningServer, startServer } from '../csi/server.ts';
import type { Service } from '../csi/service.ts';
import { isServed } from '../csi/socket-claim.ts';
import { Volumes } from '../csi/volumes.ts';
import { Engine } from '../engine/engine.ts';
import { Guard } from '../engine/guard.ts';
import type { Clock, Host, TraceEvent } from '../engine/ports.ts';
import { Publisher } from '../engine/publisher.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/host.ts';
import { readKnownGroups } from '../host/known-groups.ts';
import { withToldStrays } from '../host/strays.ts';
import { Diagnostics } from '../process/diagnostics.ts';
import type { Family } from '../process/registry.ts';
import { FileWatch } from './file-watch.ts';
import type { Log } from './log.ts';
import {
  type LoadedConfiguration,
  LvmdConfiguration,
  loadConfiguration,
  lvmCommandOf,
} from './lvmd-config.ts';
import { meteredHost } from './metered-host.ts';
import { Metrics } from './metrics.ts';

export type StandaloneOptions = {
  readonly lvmdFile: string;
  readonly stateDirectory: string;
  readonly csiSocket: string;
  /** `:8080`, or `0` for none. */
  readonly metricsAddress: string;
  readonly node: string;
  readonly driver: string;
  /** What parameters and the topology key begin with, if not with the driver's name. */
  readonly domain?: string;
  readonly version: string;
  /** What programs are run with, e.g. nsenter into the host's namespaces. */
  readonly prefix: readonly string[];
  readonly path: string;
  /** In a cluster its objects are the record, and the controller is not here. */
  readonly recorded?: RecordedVolumes;
  readonly removals?: RemovalNotes;
  /** Where classes come from an LVMCluster there may be none yet: nothing is served then. */
  readonly mayBeEmpty?: boolean;
};

/** The world around the process; tests bring another one. */
export type Doors = { readonly host: Host; readonly clock: Clock };

/** The CSI driver on one host. Without a cluster LVM itself is the only store. */
export async function startStandalone(
  options: StandaloneOptions,
  log: Log,
  doorsFor: (lvm: readonly string[]) => Doors = (lvm) => realDoors(options, lvm),
): Promise<Standalone> {
  const loaded = await loadConfiguration(options, log);
  const lvm = lvmCommandOf(loaded);
  const standalone = new Standalone({ options, loaded, log, lvm, ...doorsFor(lvm) });
  try {
    await standalone.start();
  } catch (error) {
    await standalone.stop();
    throw error;
  }
  return standalone;
}

function realDoors({ prefix, path }: StandaloneOptions, lvm: readonly string[]): Doors {
  return { host: realHost({ prefix, path, lvm }), clock: realClock };
}

type Parts = Doors & {
  readonly options: StandaloneOptions;
  readonly loaded: LoadedConfiguration;
  readonly log: Log;
  readonly lvm: readonly string[];
};

export class Standalone {
  readonly configuration: LvmdConfiguration;
  readonly engine: Engine;
  readonly #parts: Parts;
  readonly volumes: Volumes;
  readonly groups: Groups;
  readonly #publisher: Publisher;
  readonly #watch: FileWatch;
  readonly #health = new Health();
  readonly #stopping = new AbortController();
  readonly #servers = new Set<RunningServer>();
  readonly #metrics: Metrics;
  readonly #diagnostics: Diagnostics;
  #lvmd: RunningServer | undefined;
  /** By the clock that never jumps: when a look at the host last worked. */
  #lookedAtMs: number | undefined;
  #lastKnown: Pick<ConfigurationView, 'made' | 'givenUp'> = {};

  constructor(parts: Parts) {
    const { options, loaded, log, clock } = parts;
    const nowMs = () => clock.nowMs();
    const metered = meteredHost(parts.host, nowMs, (run) => this.#metrics.ran(run));
    const host = withToldStrays(metered, (strays) =>
      log({ level: 'warn', message: 'waiting for what an earlier life began', strays }),
    );
    this.#parts = { ...parts, host };
    const trace = (event: TraceEvent) => log({ level: 'info', message: 'step', ...event });
    const doors = { host, clock, trace };
    const engine = new Engine(doors);
    this.engine = engine;
    this.#publisher = new Publisher({ engine, ...doors });
    this.configuration = new LvmdConfiguration(loaded, {
      log,
      nowMs: Date.now,
      look: (age) => this.#look(age),
    });
    const classes = () => this.configuration.classes;
    const common = { engine, publisher: this.#publisher, classes };
    const makers = { newId: randomUUID, nowMs: Date.now };
    const { recorded = nothingRecorded, removals } = options;
    const notes = removals === undefined ? {} : { removals };
    this.volumes = new Volumes({ ...common, ...makers, recorded, ...notes });
    this.groups = new Groups({ ...common, ...makers, volumes: this.volumes });
    this.#watch = new FileWatch(options.lvmdFile, () => void this.configuration.reread());
    const { configuration } = this;
    this.#metrics = new Metrics({ ...options, engine, configuration, nowMs: Date.now });
    this.#diagnostics = new Diagnostics({
      metrics: () => this.#metrics.text(),
      readiness: () => this.readiness(),
      status: () => this.status(),
    });
  }

  /** Sockets appear when everything behind them works. */
  async start(): Promise<void> {
    const { options, log } = this.#parts;
    const { configuration, engine } = this;
    engine.model.onReport(() => this.#looked());
    await this.#diagnostics.serve(options.metricsAddress, log);
    await this.#firstLook();
    await configuration.settle();
    void engine.model.keepFresh(this.#stopping.signal);
    void this.#guard().run(this.#stopping.signal);
    await this.#serve('CSI', options.csiSocket, this.#csi());
    this.#health.set('', 'SERVING');
    this.#lvmd = await this.#serveLvmd(configuration.current.spec.socketName);
    configuration.onChange((now) => this.#reconfigure(now));
    engine.model.onReport((host) => void configuration.reconsider(host));
    await this.#watch.start();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#watch.stop();
    await Promise.all([...this.#servers].map((server) => server.stop()));
    await this.#diagnostics.stop();
  }

  /** Why nobody should count on us right now; nothing when all is well. */
  async readiness(): Promise<readonly string[]> {
    const complaints: string[] = [];
    if (!this.#hasLooked()) complaints.push('no look at this host worked for too long');
    const wanted = [this.#parts.options.csiSocket, this.#lvmd?.path];
    for (const path of wanted) {
      const isThere = path !== undefined && (await isServed(path));
      if (!isThere) complaints.push(`nothing answers on ${path ?? "lvmd's socket"}`);
    }
    return complaints;
  }

  status(): object {
    const { options } = this.#parts;
    const { lastLookMs } = this.#metrics;
    return {
      ...{ node: options.node, driver: options.driver, version: options.version },
      configuration: this.configuration.state,
      deviceClasses: this.configuration.classes.map(({ name }) => name),
      sockets: [...this.#servers].map(({ path }) => path),
      lastLook: lastLookMs === undefined ? undefined : new Date(lastLookMs).toISOString(),
    };
  }

  /** So many LVs of ours have no object, for who has objects. */
  strayed(count: number): void {
    this.#metrics.strayed(count);
  }

  /** For whoever serves the figures of several roles. */
  figures(): readonly Family[] {
    return this.#metrics.families();
  }

  #looked(): void {
    this.#lookedAtMs = this.#parts.clock.nowMs();
    this.#metrics.looked();
  }

  #hasLooked(): boolean {
    if (this.#lookedAtMs === undefined) return false;
    const ageMs = this.#parts.clock.nowMs() - this.#lookedAtMs;
    return ageMs <= 2 * limits.foreignChangeNoticedMs;
  }

  /** A file that nothing can make up for is told before the host is asked for anything else. */
  async #firstLook(): Promise<void> {
    const { configuration, engine } = this;
    if (configuration.isHopeless) throw await configuration.explain({ mayLook: true });
    const failure = await failureOf(this.#recover());
    if (failure !== undefined) throw await configuration.explain({ failure, mayLook: true });
    const blind = await failureOf(engine.observe());
    if (blind !== undefined) throw await configuration.explain({ failure: blind, mayLook: false });
  }

  async #recover(): Promise<void> {
    const { log } = this.#parts;
    const { resumed, leftAlone } = await this.engine.recover(this.configuration.groups);
    const thawed = await this.#publisher.thaw();
    if (thawed.length > 0) log({ level: 'warn', message: 'thawed', thawed });
    if (resumed.length > 0) log({ level: 'warn', message: 'resumed', resumed });
    if (leftAlone.length > 0) log({ level: 'warn', message: 'suspended', leftAlone });
  }

  /** Calls that run keep their classes; who calls next finds the new ones. */
  async #reconfigure({ spec }: Configuration): Promise<void> {
    const { log, lvm } = this.#parts;
    if (show(spec.lvmCommandPrefix) !== show(lvm)) {
      const message = 'lvm-command-prefix has changed: the new one is used after the next start';
      log({ level: 'warn', message });
    }
    if (spec.socketName !== this.#lvmd?.path) await this.#moveLvmd(spec.socketName);
    // Who watches lvmd's socket hears of new classes with the next report.
    this.engine.model.hint();
  }

  /** The new socket is there before the old one goes. */
  async #moveLvmd(path: string): Promise<void> {
    const { log } = this.#parts;
    const old = this.#lvmd;
    try {
      this.#lvmd = await this.#serveLvmd(path);
    } catch (error) {
      const message = `lvmd stays on ${old?.path}: ${(error as Error).message}`;
      log({ level: 'error', message });
      return;
    }
    if (old === undefined) return;
    // Calls that run there are brought to their end; nobody waits for that.
    void old.stop().then(() => this.#servers.delete(old));
  }

  /** Grows what may grow before it is full, and says what it did or could not do. */
  #guard(): Guard {
    const { host, clock, log } = this.#parts;
    return new Guard({
      engine: this.engine,
      host,
      clock,
      guarded: (report) => this.volumes.guarded(report),
      tell: (event) => {
        const level = event.outcome === 'grown' ? 'info' : 'warn';
        log({ level, ...event, message: `${event.what} ${event.name}: ${event.message}` });
      },
    });
  }

  #csi(): readonly Service[] {
    const { driver, domain = driver, version, node } = this.#parts.options;
    const names: DriverNames = { driver, version, node, domain };
    const controller = [
      controllerService(localBook(this.volumes, names.node), names),
      groupControllerService(localGroups(this.groups, names.node)),
    ];
    return [
      identityService(names, {
        isReady: () => this.#hasLooked(),
        missingGroups: () => this.volumes.missingGroups(),
      }),
      ...(this.#parts.options.recorded === undefined ? controller : []),
      nodeService({ volumes: this.volumes, publisher: this.#publisher }, names),
      healthService(this.#health),
    ];
  }

  #serveLvmd(path: string): Promise<RunningServer> {
    const { host, clock } = this.#parts;
    const { engine } = this;
    const classes = () => this.configuration.classes;
    const volumes = new LvmdVolumes({ engine, publisher: this.#publisher, classes });
    const services = lvmdServices({ volumes, engine, host, clock });
    return this.#serve('lvmd', path, [...services, healthService(this.#health)]);
  }

  async #serve(what: string, path: string, services: readonly Service[]): Promise<RunningServer> {
    const { log } = this.#parts;
    const server = await startServer({ path, services, log: (event) => this.logCall(event) });
    this.#servers.add(server);
    log({ level: 'info', message: `serving ${what} on ${path}` });
    return server;
  }

  async #look(age: 'newest' | 'fresh') {
    const { model } = this.engine;
    const known = age === 'newest' ? model.newest : undefined;
    const { host } = known ?? (await this.engine.observe());
    return { host, mounts: await this.#publisher.nodeMounts(), ...(await this.#known()) };
  }

  /** What was made here, and what was given up. Serving what is there must not depend on it. */
  async #known(): Promise<Pick<ConfigurationView, 'made' | 'givenUp'>> {
    const { mayBeEmpty = false, stateDirectory } = this.#parts.options;
    if (!mayBeEmpty) return {};
    try {
      const seen = await readKnownGroups(stateDirectory);
      const forgotten = await readKnownGroups(stateDirectory, 'forgotten.json');
      this.#lastKnown = knownGroups(seen, forgotten);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      this.#parts.log({ level: 'error', message: error.message });
    }
    return this.#lastKnown;
  }

  logCall(event: CallEvent): void {
    this.#metrics.called(event);
    const level = event.code === 'OK' ? 'info' : 'warn';
    this.#parts.log({ ...event, level, message: event.message ?? event.method });
  }
}

/** Why it failed; nothing when it did not. A bug is no failure and stops us. */
async function failureOf(work: Promise<unknown>): Promise<OperationError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof OperationError) return error;
    throw error;
  }
}
