import { randomUUID } from 'node:crypto';
import type { LvmdSpec } from '../api/lvmd-file/spec.ts';
import type { DeviceClass } from '../core/device-class.ts';
import { lvmdDeviceClasses } from '../core/lvmd.ts';
import type { CallEvent } from '../csi/call.ts';
import { controllerService, type DriverNames } from '../csi/controller.ts';
import { Health, healthService } from '../csi/health.ts';
import { identityService } from '../csi/identity.ts';
import { lvmdServices } from '../csi/lvmd.ts';
import { LvmdVolumes } from '../csi/lvmd-volumes.ts';
import { nodeService } from '../csi/node.ts';
import { type RunningServer, startServer } from '../csi/server.ts';
import type { Service } from '../csi/service.ts';
import { Volumes } from '../csi/volumes.ts';
import { Engine } from '../engine/engine.ts';
import type { Host, TraceEvent } from '../engine/ports.ts';
import { Publisher } from '../engine/publisher.ts';
import { realClock } from '../host/clock.ts';
import { realHost } from '../host/host.ts';
import { readLvmdFile } from './lvmd-config.ts';

export type StandaloneOptions = {
  readonly lvmdFile: string;
  readonly csiSocket: string;
  readonly node: string;
  readonly driver: string;
  readonly version: string;
  /** What programs are run with, e.g. nsenter into the host's namespaces. */
  readonly prefix: readonly string[];
  readonly path: string;
};

export type LogEvent = {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly [field: string]: unknown;
};

export type Log = (event: LogEvent) => void;

/** The CSI driver on one host without any cluster: LVM itself is the only store. */
export async function startStandalone(options: StandaloneOptions, log: Log): Promise<Standalone> {
  const spec = await readLvmdFile(options.lvmdFile, (message) => log({ level: 'warn', message }));
  const standalone = new Standalone(options, spec, log);
  await standalone.start();
  return standalone;
}

export class Standalone {
  readonly #options: StandaloneOptions;
  readonly #spec: LvmdSpec;
  readonly #classes: readonly DeviceClass[];
  readonly #log: Log;
  readonly #host: Host;
  readonly #engine: Engine;
  readonly #volumes: Volumes;
  readonly #publisher: Publisher;
  readonly #stopping = new AbortController();
  readonly #servers: RunningServer[] = [];

  constructor(options: StandaloneOptions, spec: LvmdSpec, log: Log) {
    this.#options = options;
    this.#spec = spec;
    this.#classes = lvmdDeviceClasses(spec);
    this.#log = log;
    this.#host = realHost({ prefix: options.prefix, path: options.path });
    const trace = (event: TraceEvent) => log({ level: 'info', message: 'step', ...event });
    const doors = { host: this.#host, clock: realClock, trace };
    this.#engine = new Engine(doors);
    this.#publisher = new Publisher({ engine: this.#engine, ...doors });
    this.#volumes = new Volumes({
      engine: this.#engine,
      publisher: this.#publisher,
      classes: () => this.#classes,
      newId: randomUUID,
      nowMs: Date.now,
    });
  }

  /** Sockets appear when everything behind them works. */
  async start(): Promise<void> {
    const groups = [...new Set(this.#classes.map(({ vg }) => vg))];
    const { resumed, leftAlone } = await this.#engine.recover(groups);
    if (resumed.length > 0) this.#log({ level: 'warn', message: 'resumed', resumed });
    if (leftAlone.length > 0) this.#log({ level: 'warn', message: 'suspended', leftAlone });
    await this.#engine.observe();
    void this.#engine.model.keepFresh(this.#stopping.signal);
    const { driver, version, node, csiSocket } = this.#options;
    const names: DriverNames = { driver, version, node, domain: driver };
    const health = new Health();
    health.set('', 'SERVING');
    const csi = [
      identityService(names, () => true),
      controllerService(this.#volumes, names),
      nodeService({ volumes: this.#volumes, publisher: this.#publisher }, names),
      healthService(health),
    ];
    await this.#serve('CSI', csiSocket, csi);
    const engine = this.#engine;
    const classes = () => this.#classes;
    const volumes = new LvmdVolumes({ engine, publisher: this.#publisher, classes });
    const lvmd = lvmdServices({ volumes, engine, host: this.#host, clock: realClock });
    await this.#serve('lvmd', this.#spec.socketName, [...lvmd, healthService(health)]);
  }

  async #serve(what: string, path: string, services: readonly Service[]): Promise<void> {
    const log = (event: CallEvent) => this.#logCall(event);
    this.#servers.push(await startServer({ path, services, log }));
    this.#log({ level: 'info', message: `serving ${what} on ${path}` });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const server of this.#servers) await server.stop();
  }

  #logCall(event: CallEvent): void {
    const level = event.code === 'OK' ? 'info' : 'warn';
    this.#log({ ...event, level, message: event.message ?? event.method });
  }
}
