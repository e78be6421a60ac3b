import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FakeServer } from '../test/kube/fake-server.ts';
import { kubeconfigFor } from '../test/kube/scene.ts';
import { bundle, nodeFlag, programEnvironment } from '../tools/bundle.ts';
import { lvmsFlags } from '../tools/manifests-settings.ts';
import { fakeNode } from './memory.ts';
import { fillCluster, node } from './memory-objects.ts';

export type RoleName = 'agent' | 'all' | 'operator';

/** A bundled role can be started here: an API server in this process, and a node in a directory. */
export type RoleStage = {
  readonly server: FakeServer;
  readonly directory: string;
  /** Ids of the volumes. */
  readonly ids: readonly string[];
  launch(): ChildProcess;
  close(): Promise<void>;
};

/** `hasLvms`: as our manifests start it, with LVMClusters and their webhook. */
export async function openRoleStage(
  role: RoleName,
  volumes: number,
  hasLvms = true,
): Promise<RoleStage> {
  const directory = mkdtempSync(join(tmpdir(), 'quarry-role-'));
  const server = new FakeServer({ newUid: randomUUID });
  const close = async () => {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  };
  try {
    const { port } = await server.start();
    const ids = fillCluster(server.api, volumes);
    writeFileSync(join(directory, 'kubeconfig'), kubeconfigFor(server, port));
    const file = join(directory, 'quarry.cjs');
    await bundle(file);
    mkdirSync(join(directory, 'plugins_registry'));
    const { programs, config } = await fakeNode(directory, role === 'operator' ? [] : ids);
    const words = [
      nodeFlag,
      file,
      role,
      ...argumentsOf(role, directory, config),
      ...lvmsOf(role, hasLvms),
    ];
    const launch = () =>
      spawn(process.execPath, words, {
        env: { PATH: `${programs}:${process.env['PATH'] ?? ''}`, ...programEnvironment },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
    return { server, directory, ids, launch, close };
  } catch (error) {
    await close();
    throw error;
  }
}

function argumentsOf(role: RoleName, directory: string, config: string): readonly string[] {
  const path = (name: string) => join(directory, name);
  const onNode = [
    ...['--config', config, '--state-dir', path('state'), '--node-name', node],
    ...['--kubelet-root', directory],
  ];
  const flags = {
    agent: onNode,
    all: [...onNode, '--controller-socket', path('controller.sock')],
    operator: [],
  } as const;
  return [
    ...['--kubeconfig', path('kubeconfig'), '--namespace', 'ns', '--csi-socket', path('csi.sock')],
    ...['--metrics-address', '127.0.0.1:0', ...flags[role]],
  ];
}

function lvmsOf(role: RoleName, hasLvms: boolean): readonly string[] {
  if (!hasLvms) return [];
  return role === 'agent' ? lvmsFlags : [...lvmsFlags, '--webhook-address', '127.0.0.1:0'];
}

/** Until its probe says so; it is asked again after so long. */
export async function ready(child: ChildProcess, everyMs: number): Promise<void> {
  const port = await portOf(child);
  const giveUpAtMs = performance.now() + 60_000;
  while (!(await isReady(port))) {
    if (performance.now() > giveUpAtMs) throw new Error('it did not become ready');
    await sleep(everyMs);
  }
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

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = get({ port, path: '/readyz', host: '127.0.0.1', agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    asked.on('error', () => resolve(false));
  });
}

/** Ends it without a word, and waits until it is gone. */
export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

/** Of the process, and of its children that have ended. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold blanks: fields are counted from behind it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]) * tickMs, 0);
}

/** `getconf CLK_TCK` is 100 on every Linux that Node runs on. */
const tickMs = 10;
