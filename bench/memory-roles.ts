import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SocketClient } from '../src/csi/client.ts';
import {
  ControllerDefinition,
  IdentityDefinition,
  NodeDefinition,
} from '../src/csi/generated/csi.ts';
import { collections } from '../test/kube/fake-api-rules.ts';
import type { FakeServer } from '../test/kube/fake-server.ts';
import { budgets, type Memory, memoryOf, showMemory } from './memory.ts';
import { cpuMsOf, kill, openRoleStage, type RoleName, ready } from './role-process.ts';

/**
 * Memory of the bundled roles in a cluster, against an API server in this process and a host whose
 * lvm knows one report. Nothing is to be done: every claim is bound.
 *
 *   node bench/memory-roles.ts              all three, idle; then `quarry all` in a storm
 *   node bench/memory-roles.ts operator     one of them
 */
export type RoleMemory = {
  readonly idle: Memory;
  /** Thousandths of a processor, over a minute in which nobody asks for anything. */
  readonly idleMillicores: number;
  /** The most that was resident while watch events and calls poured in. */
  readonly storm: Memory | undefined;
  /** What the process wrote, by collection: at rest only leases and what an agent tells. */
  readonly writes: readonly string[];
  /** Kinds that it hears of, by then. */
  readonly watches: number;
};

export async function measureRole(role: RoleName, hasLvms: boolean): Promise<RoleMemory> {
  const { server, directory, ids, launch, close } = await openRoleStage(
    role,
    budgets[role].volumes,
    hasLvms,
  );
  let child: ChildProcess | undefined;
  try {
    child = launch();
    await ready(child, 100);
    const pid = child.pid ?? 0;
    await sleep(10_000);
    const idle = memoryOf(pid);
    const idleMillicores = await millicores(pid, idleMs);
    const writes = server.api.writes.map(({ collection }) => collection);
    const watches = server.api.watching;
    const storm = role === 'all' ? await stormOn({ pid, directory, server, ids }) : undefined;
    return { idle, idleMillicores, storm, writes, watches };
  } finally {
    if (child !== undefined) await kill(child);
    await close();
  }
}

/** Long enough for leases, probes of sockets and one look at the host. */
const idleMs = 60_000;

/** What it and the programs it ran took of the processor. */
async function millicores(pid: number, ms: number): Promise<number> {
  const before = cpuMsOf(pid);
  await sleep(ms);
  return ((cpuMsOf(pid) - before) / ms) * 1_000;
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
    for (const hasLvms of [false, true]) {
      const { idle, idleMillicores, storm, writes } = await measureRole(role, hasLvms);
      const what = hasLvms ? `${role} with LVMClusters` : role;
      console.log(`${what}, ${budgets[role].volumes} volumes: ${showMemory(idle)}`);
      console.log(`${what}, idle: ${idleMillicores.toFixed(1)} millicores`);
      if (storm !== undefined) console.log(`${what} in a storm: ${showMemory(storm)}`);
      for (const one of new Set(writes)) {
        console.log(`  wrote ${writes.filter((each) => each === one).length} times to ${one}`);
      }
    }
  }
}
