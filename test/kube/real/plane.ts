import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { createApiClient } from '../../../lab/cluster/api-client.ts';
import { createCertificates, kubeconfigOf } from '../../../lab/cluster/certificates.ts';
import {
  createControlPlane,
  waitForApiServer,
  waitForEtcd,
  writeServerKubeconfigs,
} from '../../../lab/cluster/control-plane.ts';
import { type Gateway, startGateway } from '../../../lab/cluster/gateway.ts';
import { network } from '../../../lab/cluster/network.ts';
import { findPrograms, type Programs } from '../../../lab/cluster/programs.ts';
import { createNamespace } from '../../../lab/host/namespace.ts';
import { createScratchDirectory } from '../../../lab/host/owned.ts';
import { setUpLab } from '../../../lab/setup/setup.ts';
import { realClock } from '../../../src/host/clock.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { fromKubeconfig } from '../../../src/kube/from-kubeconfig.ts';
import { readKubeconfig } from '../../../src/kube/kubeconfig.ts';
import { HttpTransport } from '../../../src/kube/transport.ts';

/** A real etcd and kube-apiserver without any node: what the door speaks to, and nothing else. */
export type Plane = {
  /** Of its administrator, with a client certificate. */
  readonly kubeconfig: (port: number) => string;
  /** Ways to it: one that always works, and one that can be cut. */
  readonly ports: { readonly steady: number; readonly shaky: number };
  /** For programs in its network, which need no way to it. */
  readonly inside: {
    readonly kubeconfig: string;
    /** Where the API server finds what runs there. */
    readonly address: string;
    enter(argv: readonly string[]): readonly string[];
  };
  readonly ca: string;
  /** A directory of the test's own. */
  readonly directory: string;
  /** Cuts every connection of the shaky way, and lets no new one through until it is mended. */
  setCut(isCut: boolean): void;
  /** A crash of the API server, and a new start. */
  restart(): Promise<void>;
  /** Somebody who acts by roles, quotas and owners, where a test needs that. */
  startControllers(): Promise<void>;
  /** History before now is gone from etcd. */
  compact(): Promise<void>;
  stop(): Promise<void>;
};

/** Its administrator, by the way that always works. */
export function adminOf(plane: Plane): { readonly admin: KubeClient; close(): void } {
  const text = plane.kubeconfig(plane.ports.steady);
  const context = readKubeconfig([{ path: 'admin', text }]);
  const { endpoint, credentials } = fromKubeconfig(context, { clock: realClock, wall: Date.now });
  const transport = new HttpTransport(endpoint, credentials);
  const admin = new KubeClient({ transport, clock: realClock, chance: Math.random });
  return { admin, close: () => transport.close() };
}

const hostIp = '10.77.0.1';

export async function startPlane(): Promise<Plane> {
  const progress = (line: string) => void process.stderr.write(`lab: ${line}\n`);
  const parts = await setUpLab({ kind: 'uml', suites: ['trixie'], progress });
  const guestRoot = parts.root('trixie');
  const assetsDirectory = process.env['KUBEBUILDER_ASSETS'] || undefined;
  const programs = await findPrograms({ assetsDirectory, guestRoot, progress });
  const ends: (() => Promise<void>)[] = [];
  const stop = async () => {
    for (let end = ends.pop(); end !== undefined; end = ends.pop()) await end();
  };
  try {
    return { ...(await bringUp(programs, (end) => ends.push(end))), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function bringUp(
  programs: Programs,
  onStarted: (end: () => Promise<void>) => void,
): Promise<Omit<Plane, 'stop'>> {
  const scratch = await createScratchDirectory('quarry-plane-');
  onStarted(() => scratch.remove());
  const directory = scratch.path;
  const addresses = [hostIp, network.apiServiceIp];
  const namespace = await createNamespace([
    ['ip', 'link', 'set', 'lo', 'up'],
    ...addresses.map((ip) => ['ip', 'address', 'add', `${ip}/32`, 'dev', 'lo']),
  ]);
  onStarted(() => namespace.close());
  const gateway = await startGateway(namespace, join(directory, 'gateway.sock'));
  onStarted(() => gateway.stop());
  const apiAddresses = ['127.0.0.1', ...addresses];
  const pki = join(directory, 'pki');
  const certificates = await createCertificates(pki, { apiAddresses, nodes: [] });
  const spec = { namespace, directory, logDirectory: directory, hostIp, certificates };
  const plane = await createControlPlane({ ...spec, programs, flags: {} });
  onStarted(() => plane.stop());
  const { ca, admin: client } = certificates;
  const api = await createApiClient({ gateway, host: hostIp, port: network.apiPort, ca, client });
  const startApi = async () => {
    plane.server('kube-apiserver').start();
    await waitForApiServer(plane, api);
  };
  plane.server('etcd').start();
  await waitForEtcd(plane, gateway);
  await startApi();
  const [steady, shaky] = [await forward(gateway), await forward(gateway)];
  onStarted(steady.close);
  onStarted(shaky.close);
  const kubeconfig = await kubeconfigOf({ server: 'https://127.0.0.1:PORT', ca, client });
  return {
    kubeconfig: (port) => kubeconfig.replace('PORT', String(port)),
    ports: { steady: steady.port, shaky: shaky.port },
    inside: {
      address: hostIp,
      kubeconfig: kubeconfig.replace('127.0.0.1:PORT', `${hostIp}:${network.apiPort}`),
      enter: (argv) => namespace.enter(argv),
    },
    ca: await readFile(`${ca}.crt`, 'utf8'),
    directory,
    setCut: shaky.setCut,
    restart: async () => {
      await plane.server('kube-apiserver').stop();
      await startApi();
    },
    startControllers: async () => {
      const server = `https://${hostIp}:${network.apiPort}`;
      await writeServerKubeconfigs(directory, server, certificates);
      plane.server('kube-controller-manager').start();
    },
    compact: () => compact(gateway),
  };
}

async function compact(gateway: Gateway): Promise<void> {
  const { header } = await etcd(gateway, 'range', { key: Buffer.from('a').toString('base64') });
  await etcd(gateway, 'compaction', { revision: header.revision, physical: true });
}

/** A port of this machine that leads to the API server. */
async function forward(gateway: Gateway) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    if (isCut) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    gateway.connect(hostIp, network.apiPort).then(
      (inner) => {
        inner.on('error', () => socket.destroy());
        inner.on('close', () => socket.destroy());
        socket.on('close', () => inner.destroy());
        socket.pipe(inner).pipe(socket);
      },
      () => socket.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const drop = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    setCut: (cut: boolean) => {
      isCut = cut;
      if (cut) drop();
    },
    close: async () => {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function etcd(
  gateway: Gateway,
  call: 'range' | 'compaction',
  body: object,
): Promise<{ readonly header: { readonly revision: string } }> {
  const socket = await gateway.connect('127.0.0.1', network.etcdPort);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      ...{ method: 'POST', path: `/v3/kv/${call}`, headers: { connection: 'close' } },
      createConnection: () => socket,
    });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        socket.destroy();
        const text = Buffer.concat(chunks).toString();
        if (response.statusCode === 200) resolve(JSON.parse(text));
        else reject(new Error(`etcd ${call}: ${text}`));
      });
    });
    outgoing.end(JSON.stringify(body));
  });
}
