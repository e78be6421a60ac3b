import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Lab } from '../index.ts';
import { type ApiClient, createApiClient } from './api-client.ts';
import { type Certificates, createCertificates, kubeconfigOf } from './certificates.ts';
import {
  type ControlPlane,
  createControlPlane,
  type ExtraFlags,
  waitForApiServer,
  waitForEtcd,
  writeServerKubeconfigs,
} from './control-plane.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { baseImages, imageArchive } from './images.ts';
import { createKubectl, type Kubectl } from './kubectl.ts';
import { network, podRangeOf } from './network.ts';
import { ClusterNode } from './node.ts';
import { containerdConfig, shared } from './node-config.ts';
import type { Programs } from './programs.ts';
import { shareWithGuests } from './share.ts';
import { together } from './together.ts';
import { waitForNode, waitForServiceAccounts } from './waits.ts';

export type BringUp = {
  readonly lab: Lab;
  readonly guestRoot: string;
  readonly programs: Programs;
  /** Private to this cluster; whoever made it removes it. */
  readonly directory: string;
  readonly dataDisk: string;
  readonly labels: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly images: readonly string[];
  readonly flags: ExtraFlags;
  /** Called for each thing that was started, with the way to end it. */
  readonly onStarted: (end: () => Promise<void>) => void;
};

export type ClusterParts = {
  readonly lab: Lab;
  readonly programs: Programs;
  readonly apiServer: string;
  readonly api: ApiClient;
  readonly gateway: Gateway;
  readonly plane: ControlPlane;
  readonly kubectl: Kubectl;
  readonly nodes: readonly ClusterNode[];
};

const baseArchive = 'base.tar';

/** Turns a lab with running guests into a cluster. Nodes and control plane start side by side. */
export async function bringUp(spec: BringUp): Promise<ClusterParts> {
  const { lab, programs, directory } = spec;
  const apiServer = `https://${lab.hostIp}:${network.apiPort}`;
  await openRoutes(lab);
  const archives = await fillShare(spec);
  const nodes = lab.guests.map((_, index) => createNode(spec, index, archives));
  const [{ plane, gateway, api, certificates }] = await together([
    (signal) => startControlPlane(spec, apiServer, signal),
    (signal) => Promise.all(nodes.map((node) => node.prepare(signal))),
  ]);
  const { ca, admin } = certificates;
  for (const node of nodes) {
    const client = certificates.nodeClient(node.name);
    await node.install({
      kubeconfig: await kubeconfigOf({ server: apiServer, ca, client }),
      ca,
      servingCertificate: certificates.nodeServer(node.name),
    });
    node.startKubelet();
  }
  await together([
    (signal) => waitForServiceAccounts(api, plane, { signal }),
    ...nodes.map((node) => (signal: AbortSignal) => waitForNode(api, node, { signal })),
  ]);
  const kubeconfig = await kubeconfigOf({ server: apiServer, ca, client: admin });
  const { namespace } = lab;
  const kubectl = await createKubectl({
    directory,
    namespace,
    program: programs.kubectl,
    kubeconfig,
  });
  return { lab, programs, apiServer, api, gateway, plane, kubectl, nodes };
}

async function openRoutes({ namespace, guests }: Lab): Promise<void> {
  const { apiServiceIp } = network;
  await namespace.run(['ip', 'address', 'add', `${apiServiceIp}/32`, 'dev', 'lo']);
  for (const [index, guest] of guests.entries()) {
    await namespace.run(['ip', 'route', 'add', podRangeOf(index), 'via', guest.ip]);
  }
}

function shareDirectoryOf(spec: BringUp): string {
  return join(spec.directory, 'share');
}

/** Puts everything nodes read in place. Hands back the names of the image archives. */
async function fillShare(spec: BringUp): Promise<readonly string[]> {
  const { lab, guestRoot, programs, images } = spec;
  const directory = shareDirectoryOf(spec);
  await mkdir(join(directory, 'images'), { recursive: true });
  await mkdir(join(directory, 'nodes'));
  await writeFile(join(directory, 'containerd.toml'), containerdConfig());
  const base = imageArchive(await baseImages(guestRoot));
  await writeFile(join(directory, 'images', baseArchive), base);
  const names = images.map((path) => basename(path));
  if (new Set([baseArchive, ...names]).size !== names.length + 1) {
    throw new Error(`image archives need names of their own: ${names.join(' ')}`);
  }
  const files = new Map([
    ['bin/kubelet', programs.kubelet.path],
    ...images.map((path): [string, string] => [`images/${basename(path)}`, path]),
  ]);
  const { namespace, logDirectory } = lab;
  await shareWithGuests({ namespace, guestRoot, directory, files, logDirectory });
  return [baseArchive, ...names];
}

function createNode(spec: BringUp, index: number, archives: readonly string[]): ClusterNode {
  const { lab } = spec;
  const guest = lab.guests[index];
  if (guest === undefined) throw new Error(`the lab has no guest ${index}`);
  const others = lab.guests.map((other, place) => ({ range: podRangeOf(place), via: other.ip }));
  return new ClusterNode({
    guest,
    archives,
    dataDisk: spec.dataDisk,
    podRange: podRangeOf(index),
    routes: others.filter(({ via }) => via !== guest.ip),
    shareDirectory: shareDirectoryOf(spec),
    logDirectory: lab.logDirectory,
    labels: spec.labels.get(guest.name) ?? {},
    kubelet: [`${shared}/bin/kubelet`, ...spec.programs.kubelet.words],
    kubeletFlags: spec.flags.kubelet ?? [],
  });
}

type StartedPlane = {
  readonly plane: ControlPlane;
  readonly gateway: Gateway;
  readonly api: ApiClient;
  readonly certificates: Certificates;
};

async function startControlPlane(
  spec: BringUp,
  apiServer: string,
  signal: AbortSignal,
): Promise<StartedPlane> {
  const { lab, directory } = spec;
  const { namespace, hostIp, logDirectory } = lab;
  const gateway = await startGateway(namespace, join(directory, 'gateway.sock'));
  spec.onStarted(() => gateway.stop());
  const certificates = await createCertificates(join(directory, 'pki'), {
    apiAddresses: ['127.0.0.1', hostIp, network.apiServiceIp],
    nodes: lab.guests,
  });
  const plane = await createControlPlane({
    ...{ namespace, directory, logDirectory, hostIp, certificates },
    programs: spec.programs,
    flags: spec.flags,
  });
  spec.onStarted(() => plane.stop());
  plane.server('etcd').start();
  await writeServerKubeconfigs(directory, apiServer, certificates);
  await waitForEtcd(plane, gateway, { signal });
  plane.server('kube-apiserver').start();
  const { ca, admin } = certificates;
  const api = await createApiClient({
    ...{ gateway, ca },
    host: hostIp,
    port: network.apiPort,
    client: admin,
  });
  await waitForApiServer(plane, api, { signal });
  plane.server('kube-controller-manager').start();
  plane.server('kube-scheduler').start();
  return { plane, gateway, api, certificates };
}
