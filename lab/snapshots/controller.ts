import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadAll } from 'js-yaml';
import { type Cluster, kubeconfigOfAccount } from '../cluster/index.ts';
import { ended, spawnOwned } from '../host/owned.ts';
import type { SnapshotParts } from './build.ts';

const namespace = 'kube-system';
const restartMs = 1000;

type Access = {
  readonly kind: string;
  readonly metadata: { readonly namespace?: string };
  readonly subjects?: readonly { readonly namespace?: string }[];
};

/**
 * The stock snapshot-controller. It runs beside the other servers of the control plane, with the
 * rights that its authors give it and no more. The kinds of snapshots have to be there before.
 */
export class SnapshotController {
  readonly #argv: readonly string[];
  readonly #logPath: string;
  #child: ReturnType<typeof spawnOwned> | undefined;

  private constructor(argv: readonly string[], logPath: string) {
    this.#argv = argv;
    this.#logPath = logPath;
  }

  static async start(cluster: Cluster, parts: SnapshotParts): Promise<SnapshotController> {
    await cluster.apply(await accessOf(parts));
    const kubeconfig = await kubeconfigOfAccount(cluster, {
      namespace,
      name: 'snapshot-controller',
    });
    const argv = cluster.lab.namespace.enter([
      parts.program,
      `--kubeconfig=${kubeconfig}`,
      '--leader-election=true',
      `--leader-election-namespace=${namespace}`,
      '--feature-gates=CSIVolumeGroupSnapshot=true,ReleaseLeaderElectionOnExit=true',
      '--kube-api-qps=100',
      '--kube-api-burst=200',
      '--v=5',
    ]);
    const log = join(cluster.lab.logDirectory, 'snapshot-controller.log');
    const controller = new SnapshotController(argv, log);
    controller.start();
    return controller;
  }

  start(): void {
    if (this.#child !== undefined) throw new Error('the snapshot-controller is running already');
    const log = openSync(this.#logPath, 'a');
    const child = spawnOwned(this.#argv, { stdio: ['ignore', log, log] });
    closeSync(log);
    this.#child = child;
    void this.#startAnew(child);
  }

  /** It ends itself when it loses its lease, and trusts that a Deployment starts it again. */
  async #startAnew(child: ReturnType<typeof spawnOwned>): Promise<void> {
    await ended(child);
    await sleep(restartMs);
    if (this.#child !== child) return;
    this.#child = undefined;
    this.start();
  }

  /** Ends it in order: it gives its lease back. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    child.kill('SIGTERM');
    await ended(child);
  }

  /** The end of its log, for whoever asks why nothing happens. */
  async describe(): Promise<string> {
    const state = this.#child?.exitCode ?? this.#child?.signalCode ?? 'running';
    const log = await readFile(this.#logPath, 'utf8');
    return `snapshot-controller (${state})\n${log.slice(-6000)}`;
  }
}

/** One of its bindings leaves out the namespace of the account, which kustomize would fill in. */
async function accessOf({ access }: SnapshotParts): Promise<readonly object[]> {
  const objects = loadAll(await readFile(access, 'utf8')) as readonly (Access | null)[];
  return objects
    .filter((one) => one !== null)
    .map((one) => ({
      ...one,
      ...(one.subjects === undefined
        ? {}
        : { subjects: one.subjects.map((subject) => ({ namespace, ...subject })) }),
    }));
}
