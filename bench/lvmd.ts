import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SocketClient } from '../src/csi/client.ts';
import { LVServiceDefinition, VGServiceDefinition } from '../src/csi/generated/lvmd.ts';
import type { PartialOf } from '../src/csi/service.ts';
import type { Kind, Operation } from './figures.ts';
import { group, grownBytes, pool, sizeBytes, snapshotOf } from './peers.ts';
import { type Memory, memoryOf, untilQuiet } from './process.ts';

type LvService = (typeof LVServiceDefinition)['methods'];

const directory = '/run/bench-lvmd';
const patience = { timeoutMs: 300_000 };
const foreverMs = 2 ** 31 - 1;
/** Longer than lvmd takes from the answer to the report for whoever watches it. */
const quietMs = 100;

/**
 * TopoLVM's own lvmd in this guest, called as topolvm-node calls it: its list before a create,
 * and somebody who watches it, for whom it reports after each change.
 */
export class Lvmd {
  readonly #child: ChildProcess;
  readonly #client: SocketClient;
  readonly #watch = new AbortController();

  private constructor(child: ChildProcess, client: SocketClient) {
    this.#child = child;
    this.#client = client;
  }

  /** It runs lvm straight, not through nsenter, as on a host. */
  static async start(program: string, lvm = '/usr/sbin/lvm'): Promise<Lvmd> {
    mkdirSync(directory, { recursive: true });
    const config = join(directory, 'lvmd.yaml');
    const socket = join(directory, 'lvmd.sock');
    writeFileSync(config, lvmdFile(socket, lvm));
    const log = openSync(join(directory, 'lvmd.log'), 'a');
    const args = ['lvmd', '--config', config, '--metrics-bind-address', ''];
    const child = spawn(program, args, { stdio: ['ignore', log, log] });
    const lvmd = new Lvmd(child, new SocketClient(socket));
    await lvmd.#answers();
    void lvmd.#watches();
    await lvmd.atRest();
    return lvmd;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#watch.abort();
    this.#client.close();
    this.#child.kill('SIGTERM');
    await ended;
  }

  get memory(): Memory {
    return memoryOf(this.#child.pid ?? 0);
  }

  async run(deviceClass: Kind, operation: Operation, name: string): Promise<void> {
    switch (operation) {
      case 'create':
        return this.create(deviceClass, name, sizeBytes);
      case 'expand':
        return this.#call('resizeLV', { name, deviceClass, sizeBytes: BigInt(grownBytes) });
      case 'snapshot': {
        await this.#list(deviceClass);
        const made = { name: snapshotOf(name), sourceVolume: name, accessType: 'ro' };
        const size = { sizeBytes: BigInt(grownBytes) };
        return this.#call('createLVSnapshot', { ...made, ...size, deviceClass });
      }
      case 'delete':
        return this.#call('removeLV', { name, deviceClass });
    }
  }

  async create(deviceClass: Kind, name: string, bytes: number): Promise<void> {
    await this.#list(deviceClass);
    await this.#call('createLV', { name, deviceClass, sizeBytes: BigInt(bytes) });
  }

  /** Nothing runs behind an answer any more. */
  atRest(): Promise<void> {
    return untilQuiet(this.#child.pid ?? 0, quietMs);
  }

  async #call<K extends keyof LvService>(method: K, request: PartialOf<LvService[K]>) {
    const result = await this.#client.call(LVServiceDefinition, method, request, patience);
    if (result.kind === 'failed') throw new Error(`lvmd ${method}: ${result.message}`);
  }

  async #list(deviceClass: string): Promise<void> {
    const request = { deviceClass };
    const result = await this.#client.call(VGServiceDefinition, 'getLVList', request, patience);
    if (result.kind === 'failed') throw new Error(`lvmd getLVList: ${result.message}`);
  }

  async #watches(): Promise<void> {
    const options = { timeoutMs: foreverMs, signal: this.#watch.signal };
    for await (const told of this.#client.stream(VGServiceDefinition, 'watch', {}, options)) {
      if (told.kind === 'failed' && !this.#watch.signal.aborted) throw new Error(told.message);
    }
  }

  async #answers(): Promise<void> {
    for (let tries = 0; tries < 600; tries += 1) {
      const request = { deviceClass: 'thick' };
      const second = { timeoutMs: 10_000 };
      const told = await this.#client.call(VGServiceDefinition, 'getFreeBytes', request, second);
      if (told.kind === 'response') return;
      if (this.#child.exitCode !== null) break;
      await sleep(100);
    }
    throw new Error(readFileSync(join(directory, 'lvmd.log'), 'utf8').slice(-2_000));
  }
}

function lvmdFile(socket: string, lvm: string): string {
  return `
socket-name: ${socket}
lvm-command-prefix: [${lvm}]
device-classes:
  - { name: thick, volume-group: ${group}, default: true, spare-gb: 0 }
  - name: thin
    volume-group: ${group}
    type: thin
    thin-pool: { name: ${pool}, overprovision-ratio: 100 }
`;
}
