import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../src/base/limits.ts';
import { SocketClient } from '../src/csi/client.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
  type VolumeCapability,
} from '../src/csi/generated/csi.ts';
import type { PartialOf } from '../src/csi/service.ts';
import type { Runs } from './figures.ts';
import { group, pool } from './peers.ts';
import { hasChildren, type Memory, memoryOf } from './process.ts';

export const directory = '/run/bench';
export const stripedGroup = 'stripes';
export const classes = { thick: 'thick', thin: 'thin', striped: 'striped' } as const;
export type ClassName = keyof typeof classes;

const patience = { timeoutMs: 300_000 };
/** Longer than the driver waits before it looks by itself. */
const quietMsMax = 2.5 * limits.quietMs;
const pollMs = 20;

const lvmdFile = `
socket-name: ${directory}/lvmd.sock
device-classes:
  - { name: thick, volume-group: ${group}, default: true, spare-gb: 0 }
  - name: thin
    volume-group: ${group}
    type: thin
    thin-pool: { name: ${pool}, overprovision-ratio: 100 }
  - { name: striped, volume-group: ${stripedGroup}, stripe: 2, spare-gb: 0 }
`;

type Controller = (typeof ControllerDefinition)['methods'];
type Node = (typeof NodeDefinition)['methods'];

/** The bundled `quarry standalone` in this guest, called on its CSI socket. */
export class Driver {
  readonly #child: ChildProcess;
  readonly #client: SocketClient;
  readonly #metricsPort: number;

  private constructor(child: ChildProcess, client: SocketClient, metricsPort: number) {
    this.#child = child;
    this.#client = client;
    this.#metricsPort = metricsPort;
  }

  /** `programs` is a directory that is searched before those of the system. */
  static async start(bundle: string, programs?: string): Promise<Driver> {
    mkdirSync(directory, { recursive: true });
    const config = join(directory, 'lvmd.yaml');
    const socket = join(directory, 'csi.sock');
    const metricsPort = 8080;
    writeFileSync(config, lvmdFile);
    const log = openSync(join(directory, 'driver.log'), 'a');
    const args = [bundle, 'standalone', '--config', config, '--csi-socket', socket];
    const more = ['--state-dir', join(directory, 'state'), '--node-id', 'n1'];
    const where = ['--metrics-address', `127.0.0.1:${metricsPort}`];
    const system = '/usr/sbin:/usr/bin:/sbin:/bin';
    const child = spawn(process.execPath, [...args, ...more, ...where], {
      env: { PATH: programs === undefined ? system : `${programs}:${system}` },
      stdio: ['ignore', log, log],
    });
    const client = new SocketClient(socket);
    const driver = new Driver(child, client, metricsPort);
    await driver.#answers();
    return driver;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#client.close();
    this.#child.kill('SIGTERM');
    await ended;
  }

  get memory(): Memory {
    return memoryOf(this.#child.pid ?? 0);
  }

  /** Hands back the id, which is the volume's name in LVM too. */
  async create(className: ClassName, name: string, bytes: number, fs = false): Promise<string> {
    const { volume } = await this.#controller('createVolume', {
      name,
      capacityRange: { requiredBytes: BigInt(bytes) },
      volumeCapabilities: [fs ? mounted : raw],
      parameters: new Map([['topolvm.io/device-class', className]]),
    });
    return volume?.volumeId ?? '';
  }

  async expand(volumeId: string, bytes: number): Promise<void> {
    const capacityRange = { requiredBytes: BigInt(bytes) };
    const request = { volumeId, capacityRange, volumeCapability: raw };
    await this.#controller('controllerExpandVolume', request);
  }

  async snapshot(sourceVolumeId: string, name: string): Promise<string> {
    const { snapshot } = await this.#controller('createSnapshot', { name, sourceVolumeId });
    return snapshot?.snapshotId ?? '';
  }

  async deleteVolume(volumeId: string): Promise<void> {
    await this.#controller('deleteVolume', { volumeId });
  }

  async deleteSnapshot(snapshotId: string): Promise<void> {
    await this.#controller('deleteSnapshot', { snapshotId });
  }

  async publish(volumeId: string, targetPath: string, fs: boolean): Promise<void> {
    const volumeCapability = fs ? mounted : raw;
    await this.#node('nodePublishVolume', { volumeId, targetPath, volumeCapability });
  }

  async unpublish(volumeId: string, targetPath: string): Promise<void> {
    await this.#node('nodeUnpublishVolume', { volumeId, targetPath });
  }

  async stats(volumeId: string, volumePath: string): Promise<void> {
    await this.#node('nodeGetVolumeStats', { volumeId, volumePath });
  }

  /** What the driver itself counted since its start. */
  async runs(): Promise<Runs> {
    const text = await this.#metrics();
    const lvm = countsIn(text, 'quarry_lvm_runs_total', 'command');
    const reads = lvm['fullreport'] ?? 0;
    const changes = Object.values(lvm).reduce((sum, count) => sum + count, 0) - reads;
    return { changes, reads, programs: countsIn(text, 'quarry_program_runs_total', 'program') };
  }

  /**
   * Waits for what still goes on behind an answer, so that a peer does not pay for it: until the
   * host was looked at and no program runs, or none ran for a while. Hands back for how long
   * programs ran.
   */
  async atRest(): Promise<number> {
    const { reads } = await this.runs();
    let busyMs = 0;
    let quietMs = 0;
    for (let lastMs = performance.now(); quietMs < quietMsMax; ) {
      await sleep(pollMs);
      const isBusy = hasChildren(this.#child.pid ?? 0);
      const passedMs = performance.now() - lastMs;
      lastMs += passedMs;
      if (isBusy) busyMs += passedMs;
      quietMs = isBusy ? 0 : quietMs + passedMs;
      if (quietMs >= 2 * pollMs && (await this.runs()).reads > reads) break;
    }
    return busyMs;
  }

  async #answers(): Promise<void> {
    for (let tries = 0; tries < 600; tries += 1) {
      const probe = await this.#client.call(IdentityDefinition, 'probe', {}, { timeoutMs: 1_000 });
      if (probe.kind === 'response') return;
      if (this.#child.exitCode !== null) break;
      await sleep(100);
    }
    throw new Error(readFileSync(join(directory, 'driver.log'), 'utf8').slice(-2_000));
  }

  #metrics(): Promise<string> {
    const url = `http://127.0.0.1:${this.#metricsPort}/metrics`;
    return new Promise((resolve, reject) => {
      get(url, (answer) => {
        const chunks: Buffer[] = [];
        answer.on('data', (chunk: Buffer) => chunks.push(chunk));
        answer.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
      }).on('error', reject);
    });
  }

  async #controller<K extends keyof Controller>(method: K, request: PartialOf<Controller[K]>) {
    const result = await this.#client.call(ControllerDefinition, method, request, patience);
    if (result.kind === 'failed') throw new Error(`${method}: ${result.code}: ${result.message}`);
    return result.response;
  }

  async #node<K extends keyof Node>(method: K, request: PartialOf<Node[K]>): Promise<void> {
    const result = await this.#client.call(NodeDefinition, method, request, patience);
    if (result.kind === 'failed') throw new Error(`${method}: ${result.code}: ${result.message}`);
  }
}

const accessMode = { mode: Mode.SINGLE_NODE_WRITER };
const raw = {
  accessType: { $case: 'block', value: {} },
  accessMode,
} satisfies Partial<VolumeCapability>;
const mounted = {
  accessType: { $case: 'mount', value: { fsType: 'ext4', mountFlags: [], volumeMountGroup: '' } },
  accessMode,
} satisfies Partial<VolumeCapability>;

function countsIn(text: string, metric: string, label: string): Record<string, number> {
  const counts: Record<string, number> = {};
  const pattern = new RegExp(`^${metric}\\{[^}]*\\b${label}="([^"]*)"[^}]*\\} (\\d+)`, 'gm');
  for (const [, key = '', value] of text.matchAll(pattern)) {
    counts[key] = (counts[key] ?? 0) + Number(value);
  }
  return counts;
}

export function runsBetween(before: Runs, after: Runs): Runs {
  const programs: Record<string, number> = {};
  for (const [name, count] of Object.entries(after.programs)) {
    const more = count - (before.programs[name] ?? 0);
    if (more > 0) programs[name] = more;
  }
  return {
    changes: after.changes - before.changes,
    reads: after.reads - before.reads,
    programs,
  };
}
