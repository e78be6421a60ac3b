import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { SocketClient } from '../../src/csi/client.ts';
import {
  ControllerDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../../src/csi/generated/csi.ts';

/**
 * Runs in a guest with a group for each wipe policy, all on one disk each: a tenant fills a volume
 * and goes, and the next ones read all they can of theirs.
 */
const socket = '/run/topolvm/csi.sock';
const patience = { timeoutMs: 120_000 };
const mib = 1024 ** 2;
const word = 'the secret of a tenant who is gone';
const secret = Buffer.alloc(mib, `${word}\n`);
const own = Buffer.alloc(mib, 'mine ');
let driver = await startDriver();
let client = new SocketClient(socket);

try {
  const left: Record<string, number> = {};
  for (const group of ['data', 'trim', 'whole']) left[group] = await tenantOf(group);
  const raw = await create('raw', 'data', 32);
  await publish(raw, 'raw', '/pods/raw');
  const first = secretsIn('/pods/raw');
  write('/pods/raw', [0, 31]);
  // Somebody who has it for himself alone does not keep it from growing.
  const held = openSync('/pods/raw', constants.O_RDWR | constants.O_EXCL);
  await expand(raw, 64);
  closeSync(held);
  const grown = secretsIn('/pods/raw');
  const resumed = await killDuringGrowth(raw, 160);
  const isKept = [0, 31].every((at) => readAt('/pods/raw', at).equals(own));
  const copy = await create('copy', 'data', 176, raw);
  await publish(copy, 'raw', '/pods/copy');
  const copied = secretsIn('/pods/copy');
  const isCopied = [0, 31].every((at) => readAt('/pods/copy', at).equals(own));
  const sizes = [sizeOf('/pods/raw'), sizeOf('/pods/copy')];

  const fs = await create('fs', 'whole', 40);
  await publish(fs, 'ext4', '/pods/fs');
  const formatted = secretsIn(`/dev/whole/${fs}`);
  const block = await create('block', 'whole', 16);
  await publish(block, 'raw', '/pods/block');
  const refused = await grow(block, 32);
  await unpublish(block, '/pods/block');
  await expand(block, 32);
  await publish(block, 'raw', '/pods/block');
  const hidden = secretsIn('/pods/block');
  const tags = execFileSync('lvm', ['lvs', '--noheadings', '-o', 'lv_tags']).toString();
  const found = { first, grown, resumed, copied, formatted, hidden };
  const refusal = refused.kind === 'failed' ? refused.code : '';
  console.log(JSON.stringify({ left, found, isKept, isCopied, sizes, refusal, tags }));
} finally {
  driver.kill('SIGKILL');
}
process.exit(0);

/** Fills a volume that takes most of a group, and takes it away; what is left of it on the disk. */
async function tenantOf(group: string): Promise<number> {
  const size = group === 'data' ? 400 : 80;
  const id = await create(`tenant-${group}`, group, size);
  const path = `/pods/${group}`;
  await publish(id, 'raw', path);
  const file = openSync(path, 'r+');
  for (let at = 0; at < size; at += 1) writeSync(file, secret, 0, mib, at * mib);
  fsyncSync(file);
  closeSync(file);
  await unpublish(id, path);
  await answered(client.call(ControllerDefinition, 'deleteVolume', { volumeId: id }, patience));
  const argv = ['pvs', '--noheadings', '-o', 'pv_name', '--select', `vg_name=${group}`];
  const disk = execFileSync('lvm', argv).toString().trim();
  execFileSync('blockdev', ['--flushbufs', disk]);
  return secretsIn(disk, 64);
}

/** The driver dies while it overwrites the new end; and the next life brings it to its end. */
async function killDuringGrowth(volumeId: string, size: number): Promise<number> {
  const call = grow(volumeId, size);
  for (let tries = 0; tries < 500 && !isOverwriting(); tries += 1) await sleep(10);
  assert.ok(isOverwriting(), 'nothing was overwritten');
  driver.kill('SIGKILL');
  await once(driver, 'close');
  await call;
  client.close();
  const tags = execFileSync('lvm', ['lvs', '--noheadings', '-o', 'lv_tags', `data/${volumeId}`]);
  assert.match(tags.toString(), /quarry\.grown-from=\d+/);
  driver = await startDriver();
  client = new SocketClient(socket);
  // Only the same request goes on with it; it is not shown anew before.
  await expand(volumeId, size);
  await publish(volumeId, 'raw', '/pods/second');
  return secretsIn('/pods/second');
}

function isOverwriting(): boolean {
  return spawnSync('pgrep', ['-f', 'dd if=/dev/zero']).status === 0;
}

/** How often something of the one who is gone is found in all of it, or in its first MiB. */
function secretsIn(path: string, size?: number): number {
  const count = size === undefined ? '' : `count=${size * mib}`;
  const read = `dd if='${path}' bs=4M iflag=direct,count_bytes status=none ${count}`;
  // Without zeroes, as grep would take them all for one line.
  const { stdout } = spawnSync('sh', ['-c', `${read} | tr -d '\\000' | grep -acF '${word}'`]);
  return Number(stdout.toString());
}

function write(path: string, places: readonly number[]): void {
  const file = openSync(path, 'r+');
  for (const at of places) writeSync(file, own, 0, mib, at * mib);
  fsyncSync(file);
  closeSync(file);
}

function readAt(path: string, at: number): Buffer {
  const file = openSync(path, 'r');
  const chunk = Buffer.alloc(mib);
  readSync(file, chunk, 0, mib, at * mib);
  closeSync(file);
  return chunk;
}

function sizeOf(path: string): number {
  return Number(execFileSync('blockdev', ['--getsize64', path])) / mib;
}

async function create(name: string, group: string, size: number, from?: string): Promise<string> {
  const source = { type: { $case: 'volume', value: { volumeId: from ?? '' } } } as const;
  const request = {
    name,
    capacityRange: { requiredBytes: BigInt(size * mib) },
    volumeCapabilities: [capability('raw')],
    parameters: new Map([['topolvm.io/device-class', group]]),
    ...(from === undefined ? {} : { volumeContentSource: source }),
  };
  const call = client.call(ControllerDefinition, 'createVolume', request, patience);
  return (await answered(call)).response.volume?.volumeId ?? '';
}

async function publish(volumeId: string, use: 'raw' | 'ext4', targetPath: string): Promise<void> {
  const request = { volumeId, targetPath, volumeCapability: capability(use) };
  await answered(client.call(NodeDefinition, 'nodePublishVolume', request, patience));
}

async function unpublish(volumeId: string, targetPath: string): Promise<void> {
  const request = { volumeId, targetPath };
  await answered(client.call(NodeDefinition, 'nodeUnpublishVolume', request, patience));
}

function grow(volumeId: string, size: number) {
  const request = { volumeId, capacityRange: { requiredBytes: BigInt(size * mib) } };
  return client.call(ControllerDefinition, 'controllerExpandVolume', request, patience);
}

async function expand(volumeId: string, size: number): Promise<void> {
  await answered(grow(volumeId, size));
}

async function answered<T extends { readonly kind: string }>(call: Promise<T>) {
  const result = await call;
  assert.equal(result.kind, 'response', inspect(result));
  return result as Extract<T, { kind: 'response' }>;
}

function capability(use: 'raw' | 'ext4') {
  const accessMode = { mode: Mode.SINGLE_NODE_WRITER };
  return use === 'raw'
    ? ({ accessMode, accessType: { $case: 'block', value: {} } } as const)
    : ({ accessMode, accessType: { $case: 'mount', value: { fsType: use } } } as const);
}

async function startDriver(): Promise<ChildProcess> {
  const args = ['standalone', '--csi-socket', socket, '--metrics-address', '127.0.0.1:0'];
  const child = spawn('/quarry/bin/quarry', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let tries = 0; tries < 300; tries += 1) {
    if (existsSync(socket)) {
      const probe = new SocketClient(socket);
      const wait = { timeoutMs: 2_000 };
      const { kind } = await probe.call(ControllerDefinition, 'getCapacity', {}, wait);
      probe.close();
      if (kind === 'response') return child;
    }
    await sleep(100);
  }
  throw new Error('the driver did not start');
}
