import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { type Result, SocketClient } from '../../src/csi/client.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../../src/csi/generated/csi.ts';
import type { PartialOf } from '../../src/csi/service.ts';
import { isServed } from '../../src/csi/socket-claim.ts';

const sockets = { csi: '/run/topolvm/csi-topolvm.sock', lvmd: '/run/topolvm/lvmd.sock' };
const quarry = join(import.meta.dirname, '../../bin/quarry');
const MiB = 1024n * 1024n;

export const patience = { timeoutMs: 120_000 };
export const metricsPort = 8080;

/** The type of a file system, or `raw` for none. */
export type Use = 'raw' | 'ext4' | 'xfs';

export type NewVolume = {
  readonly name: string;
  readonly in: string;
  readonly mib?: number;
  readonly use?: Use;
  readonly from?: { readonly volumeId: string } | { readonly snapshotId: string };
};

/** How a start ended: undefined when it serves, else the exit code and what was said. */
export type Failed = { readonly code: string; readonly message: string } | undefined;

/** `quarry standalone` in the guest that this process is in: started, ended and called. */
export class GuestDriver {
  csi = new SocketClient(sockets.csi);
  lvmd = new SocketClient(sockets.lvmd);
  #child: ChildProcess | undefined;

  /** Until both sockets answer, or the driver has ended. Its log goes to our standard error. */
  async start(): Promise<Failed> {
    const address = `127.0.0.1:${metricsPort}`;
    const args = ['standalone', '--node-id', 'n1', '--metrics-address', address];
    const child = spawn(quarry, args, { stdio: ['ignore', process.stderr, 'pipe'] });
    this.#child = child;
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => {
      said += String(chunk);
    });
    const ended = once(child, 'close').then(([code]) => ({ code: String(code), message: said }));
    return Promise.race([ended, this.#serving(child)]);
  }

  /** Clients are made anew: one that failed waits before it tries the socket again. */
  async #serving(child: ChildProcess): Promise<undefined> {
    while (isAlive(child)) {
      this.#closeClients();
      this.csi = new SocketClient(sockets.csi);
      this.lvmd = new SocketClient(sockets.lvmd);
      const probed = await this.csi.call(IdentityDefinition, 'probe', {}, { timeoutMs: 1_000 });
      if (probed.kind === 'response' && (await isServed(sockets.lvmd))) return undefined;
      await sleep(100);
    }
    return new Promise(() => undefined);
  }

  async mustStart(): Promise<void> {
    assert.equal(await this.start(), undefined, 'the driver did not start');
  }

  signal(signal: 'SIGSTOP' | 'SIGKILL'): void {
    this.#child?.kill(signal);
  }

  /** Told to stop, or killed; and gone. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    if (child === undefined || !isAlive(child)) return;
    // Not `close`: what it started may hold its standard error for a while.
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  #closeClients(): void {
    this.csi.close();
    this.lvmd.close();
  }

  controller<K extends keyof Controllers>(method: K, request: PartialOf<Controllers[K]>) {
    return this.csi.call(ControllerDefinition, method, request, patience);
  }

  node<K extends keyof Nodes>(method: K, request: PartialOf<Nodes[K]>) {
    return this.csi.call(NodeDefinition, method, request, patience);
  }

  create({ name, in: className, mib = 0, use = 'ext4', from }: NewVolume) {
    return this.controller('createVolume', {
      name,
      capacityRange: { requiredBytes: BigInt(mib) * MiB },
      volumeCapabilities: [capability(use)],
      parameters: new Map([['topolvm.io/device-class', className]]),
      ...(from === undefined ? {} : { volumeContentSource: { type: sourceOf(from) } }),
    });
  }

  /** The id of a volume that must be made. */
  async made(wanted: NewVolume): Promise<string> {
    return (await answered(this.create(wanted))).volume?.volumeId ?? '';
  }

  expand(volumeId: string, mib: number) {
    const capacityRange = { requiredBytes: BigInt(mib) * MiB };
    return this.controller('controllerExpandVolume', { volumeId, capacityRange });
  }

  publish(volumeId: string, targetPath: string, use: Use = 'ext4') {
    const volumeCapability = capability(use);
    return this.node('nodePublishVolume', { volumeId, targetPath, volumeCapability });
  }

  unpublish(volumeId: string, targetPath: string) {
    return this.node('nodeUnpublishVolume', { volumeId, targetPath });
  }

  delete(volumeId: string) {
    return this.controller('deleteVolume', { volumeId });
  }

  /** It is taken away from where it is shown, and deleted; both must work. */
  async discard(volumeId: string, targetPath: string): Promise<void> {
    await answered(this.unpublish(volumeId, targetPath));
    await answered(this.delete(volumeId));
  }
}

type Controllers = (typeof ControllerDefinition)['methods'];
type Nodes = (typeof NodeDefinition)['methods'];

/** What must work. */
export async function answered<T>(call: Promise<Result<T>>): Promise<T> {
  const result = await call;
  assert.ok(result.kind === 'response', inspect(result));
  return result.response;
}

function isAlive({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

function sourceOf(from: NonNullable<NewVolume['from']>) {
  return 'volumeId' in from
    ? ({ $case: 'volume', value: from } as const)
    : ({ $case: 'snapshot', value: from } as const);
}

function capability(use: Use) {
  const accessMode = { mode: Mode.SINGLE_NODE_WRITER };
  return use === 'raw'
    ? ({ accessMode, accessType: { $case: 'block', value: {} } } as const)
    : ({ accessMode, accessType: { $case: 'mount', value: { fsType: use } } } as const);
}
