import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SocketClient } from '../src/csi/client.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  NodeDefinition,
} from '../src/csi/generated/csi.ts';
import { collections } from '../test/kube/fake-api-rules.ts';
import { FakeServer } from '../test/kube/fake-server.ts';
import { kubeconfigFor } from '../test/kube/scene.ts';
import { bundle } from '../tools/bundle.ts';
import { budgets, fakeNode, type Memory, memoryOf, showMemory } from './memory.ts';
import { fillCluster, node } from './memory-objects.ts';

/**
 * Memory of the bundled roles in a cluster, against an API server in this process and a host whose
 * lvm knows one report. Nothing is to be done: every claim is bound.
 *
 *   node bench/memory-roles.ts              all three, idle; then `quarry all` in a storm
 *   node bench/memory-roles.ts operator     one of them
 */
export type RoleName = 'agent' | 'all' | 'operator';

export type RoleMemory = {
  readonly idle: Memory;
  /** The most that was resident while watch events and calls poured in. */
  readonly storm: Memory | undefined;
  /** What the process wrote, by collection: at rest only leases and what an agent tells. */
  readonly writes: readonly string[];
  /** Kinds that it hears of, by then. */
  readonly watches: number;
};

export async function measureRole(role: RoleName): Promise<RoleMemory> {
  const directory = mkdtempSync(join(tmpdir(), 'quarry-memory-'));
  const server = new FakeServer({ newUid: randomUUID });
  let child: ChildProcess | undefined;
  try {
    const { port } = await server.start();
    const ids = fillCluster(server.api, budgets[role].volumes);
    writeFileSync(join(directory, 'kubeconfig'), kubeconfigFor(server, port));
    child = await startRole(role, directory, ids);
    const pid = child.pid ?? 0;
    await sleep(10_000);
    const idle = memoryOf(pid);
    const writes = server.api.writes.map(({ collection }) => collection);
    const watches = server.api.watching;
    const storm = role === 'all' ? await stormOn({ pid, directory, server, ids }) : undefined;
    return { idle, storm, writes, watches };
  } finally {
    child?.kill('SIGKILL');
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function startRole(
  role: RoleName,
  directory: string,
  ids: readonly string[],
): Promise<ChildProcess> {
  const file = join(directory, 'quarry.cjs');
  await bundle(file);
  const path = (name: string) => join(directory, name);
  mkdirSync(path('plugins_registry'));
  const { programs, config } = await fakeNode(directory, role === 'operator' ? [] : ids);
  const onNode = [
    ...['--config', config, '--state-dir', path('state'), '--node-name', node],
    ...['--kubelet-root', directory],
  ];
  const flags = {
    agent: onNode,
    all: [...onNode, '--controller-socket', path('controller.sock')],
    operator: [],
  } as const;
  const args = [
    ...['--kubeconfig', path('kubeconfig'), '--namespace', 'ns', '--csi-socket', path('csi.sock')],
    ...['--metrics-address', '127.0.0.1:0', ...flags[role]],
  ];
  const child = spawn(process.execPath, [file, role, ...args], {
    env: { PATH: `${programs}:${process.env['PATH'] ?? ''}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await ready(await portOf(child));
  return child;
}

/** Where it says that its metrics are; nothing else of its log is kept. */
function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('it did not start')));
    child.stdout?.on('data', (chunk: Buffer) => {
      const port = /"port":(\d+)/.exec(chunk.toString())?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });
}

async function ready(port: number): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    const status = await new Promise((resolve) => {
      const asked = get({ port, path: '/readyz', host: '127.0.0.1', agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      asked.on('error', () => resolve(undefined));
    });
    if (status === 200) return;
    await sleep(100);
  }
  throw new Error('it did not become ready');
}

type Storm = {
  readonly pid: number;
  readonly directory: string;
  readonly server: FakeServer;
  readonly ids: readonly string[];
};

async function stormOn({ pid, directory, server, ids }: Storm): Promise<Memory> {
  const { stormEvents, stormCalls } = budgets.all;
  let most = memoryOf(pid);
  const look = setInterval(() => {
    const now = memoryOf(pid);
    if (now.rssMiB > most.rssMiB) most = now;
  }, 20);
  try {
    await Promise.all([changes(server, stormEvents), calls({ directory, ids, count: stormCalls })]);
    await sleep(1_000);
    return most;
  } finally {
    clearInterval(look);
  }
}

/** Labels of all objects change in turn: everybody hears of it, and nobody has to act. */
async function changes({ api }: FakeServer, count: number): Promise<void> {
  const all = [collections.claims, collections.volumes, collections.logicalVolumes];
  const objects = all.flatMap((collection) =>
    api.all(collection).map(({ metadata }) => ({ collection, ...metadata })),
  );
  for (let index = 0; index < count; index += 1) {
    const { collection, name, namespace } = objects[index % objects.length] ?? {};
    const now = api.one(collection ?? '', name ?? '', namespace);
    if (collection === undefined || now === undefined) throw new Error('an object is gone');
    const labels = { ...now.metadata.labels, round: String(index) };
    api.put(collection, { ...now, metadata: { ...now.metadata, labels } });
    if (index % 20 === 0) await sleep(1);
  }
}

/** Each of 32 callers waits for its answer before it asks again. */
async function calls(of: {
  readonly directory: string;
  readonly ids: readonly string[];
  readonly count: number;
}): Promise<void> {
  const onNode = new SocketClient(join(of.directory, 'csi.sock'));
  const controller = new SocketClient(join(of.directory, 'controller.sock'));
  const patience = { timeoutMs: 60_000 };
  const stats = (n: number) => ({ volumeId: of.ids[n % of.ids.length] ?? '', volumePath: '/no' });
  const mix = [
    () => onNode.call(IdentityDefinition, 'probe', {}, patience),
    () => onNode.call(NodeDefinition, 'nodeGetInfo', {}, patience),
    () => controller.call(ControllerDefinition, 'getCapacity', {}, patience),
    () => controller.call(ControllerDefinition, 'listVolumes', { maxEntries: 20 }, patience),
    // Nothing is mounted here: the answer is NOT_FOUND, after the volume was found.
    (n: number) => onNode.call(NodeDefinition, 'nodeGetVolumeStats', stats(n), patience),
  ] as const;
  let left = of.count;
  const caller = async () => {
    while (left > 0) {
      left -= 1;
      const result = await mix[left % mix.length]?.(left);
      if (result?.kind === 'failed' && result.code !== 'NOT_FOUND') throw new Error(result.message);
    }
  };
  await Promise.all(Array.from({ length: 32 }, caller));
  onNode.close();
  controller.close();
}

if (import.meta.main) {
  const asked = process.argv.slice(2) as readonly RoleName[];
  for (const role of asked.length > 0 ? asked : (['agent', 'all', 'operator'] as const)) {
    const { idle, storm, writes } = await measureRole(role);
    console.log(`${role}, ${budgets[role].volumes} volumes: ${showMemory(idle)}`);
    if (storm !== undefined) console.log(`${role} in a storm: ${showMemory(storm)}`);
    for (const one of new Set(writes)) {
      console.log(`  wrote ${writes.filter((each) => each === one).length} times to ${one}`);
    }
  }
}
