import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SocketClient } from '../src/csi/client.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  NodeDefinition,
} from '../src/csi/generated/csi.ts';
import type { Command } from '../src/lvm/command.ts';
import { lookBlockDevices, lookHost, lookLabels, lookLoopDevices } from '../src/lvm/looks.ts';
import { plainDisks } from '../test/world/devices.ts';
import { FakeWorld } from '../test/world/world.ts';
import { bundle, nodeFlag, programEnvironment } from '../tools/bundle.ts';

/**
 * Memory of the bundled `quarry standalone` on this machine, with an `lvm` that only knows one
 * report: 200 volumes. The calls run no lvm: probe, capabilities, capacity, list, stats.
 *
 *   node bench/memory.ts            idle, and after 12,000 calls
 *   node bench/memory.ts --soak     and on to 250,000
 */
export type Memory = { readonly rssMiB: number; readonly anonMiB: number };

export type MemoryReport = {
  readonly idle: Memory;
  readonly afterCalls: Memory;
  readonly soak: { readonly early: Memory; readonly late: Memory } | undefined;
};

export type IdleBudget = {
  readonly volumes: number;
  readonly idleRssMiB: number;
  readonly idleAnonMiB: number;
};

/** Until its probe says yes: on a quiet machine, and of the processor on any. */
type StartBudget = { readonly readyMs: number; readonly readyCpuMs: number };

/** In a cluster: what it takes of the processor when nobody asks for anything. */
export type RoleBudget = IdleBudget & {
  readonly idleMillicores: number;
};

type StandaloneBudget = IdleBudget & {
  readonly afterCalls: number;
  readonly afterCallsRssMiB: number;
  readonly soakFrom: number;
  readonly soakTo: number;
  readonly soakGrowthPercent: number;
};

export const budgets = JSON.parse(
  readFileSync(join(import.meta.dirname, 'budget.json'), 'utf8'),
) as {
  readonly standalone: StandaloneBudget;
  readonly agent: RoleBudget & StartBudget;
  readonly all: RoleBudget &
    StartBudget & {
      readonly stormEvents: number;
      readonly stormCalls: number;
      readonly stormRssMiB: number;
    };
  readonly operator: RoleBudget;
};

export const budget = budgets.standalone;

const callers = 32;

export async function measureMemory(options: { readonly soak: boolean }): Promise<MemoryReport> {
  const directory = mkdtempSync(join(tmpdir(), 'quarry-memory-'));
  let child: ChildProcess | undefined;
  try {
    const socket = join(directory, 'csi.sock');
    child = await startDriver(directory, socket);
    const pid = child.pid ?? 0;
    await sleep(5_000);
    const idle = memoryOf(pid);
    const client = new SocketClient(socket);
    await call(client, budget.afterCalls);
    await sleep(1_000);
    const afterCalls = memoryOf(pid);
    const soak = options.soak ? await soakFor(client, pid) : undefined;
    client.close();
    return { idle, afterCalls, soak };
  } finally {
    child?.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
}

async function soakFor(client: SocketClient, pid: number) {
  await call(client, budget.soakFrom - budget.afterCalls);
  const early = await steady(client, pid);
  await call(client, budget.soakTo - budget.soakFrom - samples * callsEach);
  return { early, late: await steady(client, pid) };
}

const samples = 21;
const callsEach = 500;

/** Between two collections it rises by a tenth: one look says little, and the middle of many does. */
async function steady(client: SocketClient, pid: number): Promise<Memory> {
  const seen: Memory[] = [];
  for (let sample = 0; sample < samples; sample += 1) {
    await call(client, callsEach);
    await sleep(100);
    seen.push(memoryOf(pid));
  }
  const sorted = seen.toSorted((one, other) => one.rssMiB - other.rssMiB);
  return sorted[Math.floor(samples / 2)] ?? memoryOf(pid);
}

async function startDriver(directory: string, socket: string): Promise<ChildProcess> {
  const file = join(directory, 'quarry.cjs');
  await bundle(file);
  const ids = Array.from({ length: budget.volumes }, (_, index) => idOf(index));
  const { programs, config } = await fakeNode(directory, ids);
  const args = ['standalone', '--config', config, '--csi-socket', socket, '--node-id', 'n1'];
  const extra = ['--state-dir', join(directory, 'state'), '--metrics-address', '127.0.0.1:0'];
  const child = spawn(process.execPath, [nodeFlag, file, ...args, ...extra], {
    env: { PATH: `${programs}:${process.env['PATH'] ?? ''}`, ...programEnvironment },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await answering(socket);
  return child;
}

/** Programs and a configuration: a host whose lvm knows these volumes and nothing else. */
export async function fakeNode(directory: string, ids: readonly string[]) {
  const programs = join(directory, 'bin');
  mkdirSync(programs);
  const said = await looksOf(ids);
  for (const [name, text] of Object.entries(said)) writeFileSync(join(directory, name), text);
  program(programs, 'lvm', `cat ${directory}/lvm-$1`);
  for (const name of ['lsblk', 'losetup']) program(programs, name, `cat ${directory}/${name}`);
  program(programs, 'dmsetup', 'echo "No devices found"');
  const config = join(directory, 'lvmd.yaml');
  writeFileSync(config, lvmdFile(join(directory, 'lvmd.sock')));
  return { programs, config };
}

export function idOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}

function program(directory: string, name: string, script: string): void {
  const path = join(directory, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

function lvmdFile(socket: string): string {
  return [
    `socket-name: ${socket}`,
    'device-classes:',
    '- name: thin',
    '  volume-group: data',
    '  default: true',
    '  type: thin',
    '  thin-pool: {name: pool, overprovision-ratio: 100}',
    '',
  ].join('\n');
}

/**
 * What a real host would print for so many volumes; the fake is compared with one in the host
 * tests. Its disks are in use.
 */
async function looksOf(ids: readonly string[]) {
  const world = new FakeWorld({ seed: 1, devices: plainDisks(3, 100n * 1024n ** 3n) });
  const paths = world.machine.devices.map(({ path }) => path);
  world.admin.run('lvm', 'vgcreate', '--addtag', 'lvms', '--metadatasize', '64m', 'data', ...paths);
  const pool = [
    'lvm',
    'lvcreate',
    '--yes',
    '--type',
    'thin-pool',
    '--size',
    '50g',
    '--name',
    'pool',
  ];
  world.admin.run(...(pool as [string, ...string[]]), 'data');
  for (const id of ids) {
    const tags = [
      'quarry',
      'quarry.class=thin',
      `quarry.name=pvc-${id}`,
      'quarry.asked=1073741824',
    ];
    world.admin.run(
      ...([
        'lvm',
        'lvcreate',
        '--yes',
        '--type',
        'thin',
        '--virtualsize',
        '1g',
        '--thinpool',
        'pool',
      ] as [string, ...string[]]),
      ...['--name', id],
      ...tags.flatMap((tag) => ['--addtag', tag]),
      'data',
    );
  }
  const host = world.host();
  const ask = async (command: Command) =>
    (await world.clock.run(host.start(command).result)).stdout;
  return {
    'lvm-fullreport': await ask(lookHost),
    'lvm-pvs': await ask(lookLabels),
    lsblk: await ask(lookBlockDevices),
    losetup: await ask(lookLoopDevices),
  };
}

export async function answering(socket: string): Promise<void> {
  const client = new SocketClient(socket);
  for (let tries = 0; tries < 100; tries += 1) {
    const { kind } = await client.call(IdentityDefinition, 'probe', {}, { timeoutMs: 1_000 });
    if (kind === 'response') return client.close();
    await sleep(100);
  }
  throw new Error('the driver did not start');
}

/** Each caller waits for its answer before it asks again. */
async function call(client: SocketClient, count: number): Promise<void> {
  let left = count;
  const patience = { timeoutMs: 60_000 };
  const mix = [
    () => client.call(IdentityDefinition, 'probe', {}, patience),
    () => client.call(ControllerDefinition, 'controllerGetCapabilities', {}, patience),
    () => client.call(ControllerDefinition, 'getCapacity', {}, patience),
    () => client.call(ControllerDefinition, 'listVolumes', { maxEntries: 20 }, patience),
    (n: number) =>
      // Nothing is mounted here: the answer is NOT_FOUND, after the volume was found.
      client.call(
        NodeDefinition,
        'nodeGetVolumeStats',
        { volumeId: idOf(n % budget.volumes), volumePath: '/no' },
        patience,
      ),
  ] as const;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      const result = await mix[left % mix.length]?.(left);
      if (result?.kind === 'failed' && result.code !== 'NOT_FOUND') throw new Error(result.message);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

export function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const kib = (key: string) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]);
  return { rssMiB: kib('VmRSS') / 1024, anonMiB: kib('RssAnon') / 1024 };
}

export function showMemory({ rssMiB, anonMiB }: Memory): string {
  return `${rssMiB.toFixed(1)} MiB resident, ${anonMiB.toFixed(1)} MiB anonymous`;
}

if (import.meta.main) {
  const report = await measureMemory({ soak: process.argv.includes('--soak') });
  console.log(`idle, ${budget.volumes} volumes: ${showMemory(report.idle)}`);
  console.log(
    `after ${budget.afterCalls} calls of ${callers} callers: ${showMemory(report.afterCalls)}`,
  );
  if (report.soak !== undefined) {
    console.log(`after ${budget.soakFrom} calls: ${showMemory(report.soak.early)}`);
    console.log(`after ${budget.soakTo} calls: ${showMemory(report.soak.late)}`);
  }
}
