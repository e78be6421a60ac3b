import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, constants, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { answered, GuestDriver, type Use } from './guest-driver.ts';

/**
 * Runs in a guest with a group for each wipe policy, all on one disk each: a tenant fills a volume
 * and goes, and the next ones read all they can of theirs.
 */
const mib = 1024 ** 2;
const word = 'the secret of a tenant who is gone';
const secret = Buffer.alloc(mib, `${word}\n`);
const own = Buffer.alloc(mib, 'mine ');
const driver = new GuestDriver();
await driver.mustStart();

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
  const refused = await driver.expand(block, 32);
  await answered(driver.unpublish(block, '/pods/block'));
  await expand(block, 32);
  await publish(block, 'raw', '/pods/block');
  const hidden = secretsIn('/pods/block');
  const tags = execFileSync('lvm', ['lvs', '--noheadings', '-o', 'lv_tags']).toString();
  const found = { first, grown, resumed, copied, formatted, hidden };
  const refusal = refused.kind === 'failed' ? refused.code : '';
  console.log(JSON.stringify({ left, found, isKept, isCopied, sizes, refusal, tags }));
} finally {
  await driver.end('SIGKILL');
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
  await driver.discard(id, path);
  const argv = ['pvs', '--noheadings', '-o', 'pv_name', '--select', `vg_name=${group}`];
  const disk = execFileSync('lvm', argv).toString().trim();
  execFileSync('blockdev', ['--flushbufs', disk]);
  return secretsIn(disk, 64);
}

/** The driver dies while it overwrites the new end; and the next life brings it to its end. */
async function killDuringGrowth(volumeId: string, size: number): Promise<number> {
  const call = driver.expand(volumeId, size);
  for (let tries = 0; tries < 500 && !isOverwriting(); tries += 1) await sleep(10);
  assert.ok(isOverwriting(), 'nothing was overwritten');
  await driver.end('SIGKILL');
  await call;
  const tags = execFileSync('lvm', ['lvs', '--noheadings', '-o', 'lv_tags', `data/${volumeId}`]);
  assert.match(tags.toString(), /quarry\.grown-from=\d+/);
  await driver.mustStart();
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

function create(name: string, group: string, size: number, from?: string): Promise<string> {
  const source = from === undefined ? {} : { from: { volumeId: from } };
  return driver.made({ name, in: group, mib: size, use: 'raw', ...source });
}

async function publish(volumeId: string, use: Use, path: string): Promise<void> {
  await answered(driver.publish(volumeId, path, use));
}

async function expand(volumeId: string, size: number): Promise<void> {
  await answered(driver.expand(volumeId, size));
}
