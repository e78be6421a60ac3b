import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { spawnOwned } from '../../lab/host/owned.ts';
import { realClock } from '../../src/host/clock.ts';
import { Informer } from '../../src/kube/informer.ts';
import { claimKind, persistentVolumeKind } from '../../src/kube/kinds.ts';
import { nodeFlag } from '../../tools/bundle.ts';
import { type Memory, memoryOf } from '../memory.ts';
import { cpuMsOf, ready } from '../role-process.ts';
import { appNamespace, pendingClaimObject, systemNamespace } from './objects.ts';
import { atOnce, pause, type ScaleScene, until } from './scene.ts';

export type OperatorFigures = {
  readonly memory: Memory;
  readonly peakMiB: number;
  readonly idleMillicores: number;
  readonly claims: number;
  /** From the request for a claim until it has a PersistentVolume. */
  readonly madeMs: readonly number[];
  /** What the operator took of the processor for one claim. */
  readonly cpuMsPerClaim: number;
};

export async function startOperator(bundle: string, kubeconfig: string): Promise<ChildProcess> {
  const flags = ['--kubeconfig', kubeconfig, '--namespace', systemNamespace, '--csi-socket', ''];
  const words = [
    process.execPath,
    nodeFlag,
    bundle,
    'operator',
    ...flags,
    '--metrics-address',
    '127.0.0.1:0',
  ];
  const child = spawnOwned(words, { stdio: ['ignore', 'pipe', 'inherit'] });
  await ready(child, 100);
  return child;
}

const idleMs = 30_000;
const claims = 100;

export async function measureOperator(scene: ScaleScene, pid: number): Promise<OperatorFigures> {
  const before = cpuMsOf(pid);
  await pause(idleMs);
  const idleMillicores = ((cpuMsOf(pid) - before) / idleMs) * 1_000;
  const memory = memoryOf(pid);
  const storm = await claimsAtOnce(scene, pid);
  const peak = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return { memory, peakMiB: Number(peak) / 1024, idleMillicores, claims, ...storm };
}

async function claimsAtOnce(scene: ScaleScene, pid: number) {
  const { client, nodes } = scene;
  const made = new Informer({
    ...{ client, kind: persistentVolumeKind, scopes: [{}], clock: realClock, chance: Math.random },
  });
  const stop = new AbortController();
  void made.run(stop.signal);
  await made.synced;
  const asked = new Map<string, number>();
  const madeMs = new Map<string, number>();
  made.onChange(({ object }) => {
    const name = object.spec?.claimRef?.name ?? '';
    const fromMs = asked.get(name);
    if (fromMs !== undefined && !madeMs.has(name)) madeMs.set(name, performance.now() - fromMs);
  });
  const before = cpuMsOf(pid);
  const names = Array.from({ length: claims }, (_, index) => `claim-${index}`);
  await atOnce(names, async (name) => {
    const node = nodes[asked.size % nodes.length]?.name ?? '';
    asked.set(name, performance.now());
    await client.create(claimKind, pendingClaimObject(name, node));
  });
  await until(`all claims of ${appNamespace} have volumes`, () => madeMs.size === claims);
  const cpuMsPerClaim = (cpuMsOf(pid) - before) / claims;
  stop.abort();
  return { madeMs: [...madeMs.values()], cpuMsPerClaim };
}
