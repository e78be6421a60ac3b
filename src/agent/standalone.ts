import { randomUUID } from 'node:crypto';
import type { DeviceClass } from '../core/device-class.ts';
import { lvmdDeviceClasses } from '../core/lvmd.ts';
import type { CallEvent } from '../csi/call.ts';
import { controllerService, type DriverNames } from '../csi/controller.ts';
import { Health, healthService } from '../csi/health.ts';
import { identityService } from '../csi/identity.ts';
import { nodeService } from '../csi/node.ts';
import { type RunningServer, startServer } from '../csi/server.ts';
import { Volumes } from '../csi/volumes.ts';
import { Engine } from '../engine/engine.ts';
import type { TraceEvent } from '../engine/ports.ts';
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
  const standalone = new Standalone(options, lvmdDeviceClasses(spec), log);
  await standalone.start();
  return standalone;
}

export class Standalone {
  readonly #options: StandaloneOptions;
  readonly #classes: readonly DeviceClass[];
  readonly #log: Log;
  readonly #engine: Engine;
  readonly #volumes: Volumes;
  readonly #publisher: Publisher;
  readonly #stopping = new AbortController();
  readonly #servers: RunningServer[] = [];

  constructor(options: StandaloneOptions, classes: readonly DeviceClass[], log: Log) {
    this.#options = options;
    this.#classes = classes;
    this.#log = log;
    const host = realHost({ prefix: options.prefix, path: options.path });
    const trace = (event: TraceEvent) => log({ level: 'info', message: 'step', ...event });
    const doors = { host, clock: realClock, trace };
    this.#engine = new Engine(doors);
    this.#publisher = new Publisher({ engine: this.#engine, ...doors });
    this.#volumes = new Volumes({
      engine: this.#engine,
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
    const services = [
      identityService(names, () => true),
      controllerService(this.#volumes, names),
      nodeService({ volumes: this.#volumes, publisher: this.#publisher }, names),
      healthService(health),
    ];
    const log = (event: CallEvent) => this.#logCall(event);
    this.#servers.push(await startServer({ path: csiSocket, services, log }));
    this.#log({ level: 'info', message: `serving CSI on ${csiSocket}` });
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
