import type { CommandResult } from '../host/command.ts';
import { createScratchDirectory } from '../host/owned.ts';
import { type DiskSpec, GiB, type Guest, type GuestSpec, type Lab, startLab } from '../index.ts';
import type { Progress } from '../setup/entry.ts';
import { setUpLab } from '../setup/setup.ts';
import type { ApiClient } from './api-client.ts';
import { bringUp, type ClusterParts } from './bring-up.ts';
import type { ExtraFlags, Server, ServerName } from './control-plane.ts';
import type { Gateway } from './gateway.ts';
import { type KubectlOptions, runKubectl, tryKubectl } from './kubectl.ts';
import type { ClusterNode } from './node.ts';
import type { PodObject } from './objects.ts';
import { findPrograms, mixedVersions, type Programs } from './programs.ts';
import { readVersions, type Versions } from './versions.ts';
import type { WaitOptions } from './wait.ts';
import { type PodName, waitForNode, waitForPod } from './waits.ts';

/** A guest that becomes a node. Only the newest suite has what a node needs. */
export type NodeSpec = Omit<GuestSpec, 'suite'> & {
  readonly labels?: Readonly<Record<string, string>>;
};

export type ClusterSpec = {
  /** How many, named n1 to nN, or each one with its disks. Two unless told otherwise. */
  readonly nodes?: number | readonly NodeSpec[];
  /** Disks that every node sees. */
  readonly sharedDisks?: readonly DiskSpec[];
  /** OCI archives on the host that every node gets, besides pause and busybox. */
  readonly images?: readonly string[];
  readonly flags?: ExtraFlags;
  readonly logDirectory?: string;
  readonly progress?: Progress;
  /** Ready-made programs; the environment variable KUBEBUILDER_ASSETS unless given. */
  readonly assetsDirectory?: string;
};

/** A real Kubernetes in the lab. It ends with `stop` or with this process, however that ends. */
export type Cluster = {
  readonly lab: Lab;
  readonly nodes: readonly Guest[];
  node(name: string): Guest;

  /** For the cluster's administrator; its server is reachable from inside the lab only. */
  readonly kubeconfig: string;
  /** A shell script that runs kubectl where the cluster can be reached. */
  readonly kubectlCommand: string;
  readonly apiServer: string;
  /** The API as the administrator, from this process. */
  readonly api: ApiClient;
  /** Streams from this process to anything in the lab's network. */
  readonly gateway: Gateway;
  /** Hands back what kubectl printed; a failure throws with all it said. */
  kubectl(args: readonly string[], options?: KubectlOptions): Promise<string>;
  /** Like `kubectl`, but a failure is a result. */
  tryKubectl(args: readonly string[], options?: KubectlOptions): Promise<CommandResult>;
  apply(objects: readonly object[]): Promise<void>;
  versions(): Promise<Versions>;
  /** The programs it runs, and where they came from. */
  readonly programs: Programs;

  waitForNode(name: string, options?: WaitOptions): Promise<void>;
  waitForPod(pod: PodName, options?: WaitOptions): Promise<PodObject>;

  /** Boots a node after a power cut or an orderly end and waits until it is Ready. */
  startNode(name: string, options?: WaitOptions): Promise<void>;
  startKubelet(name: string): void;
  stopKubelet(name: string): Promise<void>;
  /** A server of the control plane, to stop and start it. */
  server(name: ServerName): Server;
  stop(): Promise<void>;
};

/** The disk of containerd and kubelet; it comes after the disks that were asked for. */
const dataDisk = { name: 'node-data', sizeBytes: 8n * GiB } as const;
const defaultNodeCount = 2;
const defaultMemoryMiB = 2048;

/** Resolves when every node is Ready and pods can be created. */
export async function startCluster(spec: ClusterSpec = {}): Promise<Cluster> {
  const progress = spec.progress ?? ((line) => process.stderr.write(`lab: ${line}\n`));
  const nodes = nodeSpecs(spec.nodes ?? defaultNodeCount);
  // Everything that may take minutes comes before anything that runs.
  const parts = await setUpLab({ kind: 'uml', suites: ['trixie'], progress });
  const guestRoot = parts.root('trixie');
  const assetsDirectory = spec.assetsDirectory ?? process.env['KUBEBUILDER_ASSETS'];
  const programs = await findPrograms({
    assetsDirectory: assetsDirectory || undefined,
    guestRoot,
    progress,
  });
  const mixed = assetsDirectory ? await mixedVersions(programs) : undefined;
  if (mixed !== undefined) progress(mixed);
  const ends: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
  };
  const scratch = await createScratchDirectory('quarry-cluster-');
  ends.push(() => scratch.remove());
  let where = '';
  try {
    const lab = await startLab({
      kind: 'uml', // what nodes share with the host is a hostfs, see share.ts
      guests: nodes.map(guestSpec),
      progress,
      sharedDisks: spec.sharedDisks ?? [],
      ...(spec.logDirectory !== undefined && { logDirectory: spec.logDirectory }),
    });
    ends.push(() => lab.stop());
    where = `, logs are in ${lab.logDirectory}`;
    const started = await bringUp({
      lab,
      guestRoot,
      programs,
      directory: scratch.path,
      dataDisk: dataDisk.name,
      labels: new Map(nodes.map((node) => [node.name, node.labels ?? {}])),
      images: spec.images ?? [],
      flags: spec.flags ?? {},
      onStarted: (end) => ends.push(end),
    });
    return clusterOf(started, stop);
  } catch (error) {
    await stop();
    throw new Error(`the cluster did not come up${where}`, { cause: error });
  }
}

function nodeSpecs(nodes: number | readonly NodeSpec[]): readonly NodeSpec[] {
  if (typeof nodes !== 'number') return nodes;
  return Array.from({ length: nodes }, (_, index) => ({ name: `n${index + 1}` }));
}

function guestSpec({ labels: _labels, ...guest }: NodeSpec): GuestSpec {
  const disks = [...(guest.disks ?? []), dataDisk];
  return { memoryMiB: defaultMemoryMiB, ...guest, disks };
}

function clusterOf(parts: ClusterParts, stop: () => Promise<void>): Cluster {
  const { lab, api, gateway, plane, programs } = parts;
  const node = (name: string): ClusterNode => {
    const found = parts.nodes.find((one) => one.name === name);
    if (found === undefined) throw new Error(`the cluster has no node ${name}`);
    return found;
  };
  return {
    lab,
    nodes: lab.guests,
    node: (name) => node(name).guest,
    kubeconfig: parts.kubectl.kubeconfig,
    kubectlCommand: parts.kubectl.command,
    apiServer: parts.apiServer,
    api,
    gateway,
    kubectl: (args, options) => runKubectl(parts.kubectl, args, options),
    tryKubectl: (args, options) => tryKubectl(parts.kubectl, args, options),
    apply: async (objects) => {
      const list = { apiVersion: 'v1', kind: 'List', items: objects };
      await runKubectl(parts.kubectl, ['apply', '-f', '-'], { stdin: JSON.stringify(list) });
    },
    programs,
    versions: () => readVersions({ api, gateway, programs, guests: lab.guests }),
    waitForNode: (name, options) => waitForNode(api, node(name), options),
    waitForPod: (pod, options) => waitForPod(api, pod, options),
    startNode: async (name, options) => {
      await node(name).restart();
      await waitForNode(api, node(name), options);
    },
    startKubelet: (name) => node(name).startKubelet(),
    stopKubelet: (name) => node(name).stopKubelet(),
    server: (name) => plane.server(name),
    stop,
  };
}
