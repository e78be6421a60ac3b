import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Cluster } from '../../lab/cluster/index.ts';
import { realClock } from '../../src/host/clock.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { fromKubeconfig } from '../../src/kube/from-kubeconfig.ts';
import { readKubeconfig } from '../../src/kube/kubeconfig.ts';
import { HttpTransport } from '../../src/kube/transport.ts';

/** The cluster as its administrator sees it from this process, watches included. */
export type Door = { readonly client: KubeClient; close(): void };

export async function openDoor(cluster: Cluster): Promise<Door> {
  const sockets = new Set<Socket>();
  const address = new URL(cluster.apiServer);
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    cluster.gateway.connect(address.hostname, Number(address.port) || 443).then(
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
  const { port } = server.address() as AddressInfo;
  const text = (await readFile(cluster.kubeconfig, 'utf8')).replace(
    cluster.apiServer,
    `https://127.0.0.1:${port}`,
  );
  const context = readKubeconfig([{ path: cluster.kubeconfig, text }]);
  const doors = { clock: realClock, wall: Date.now };
  const { endpoint, credentials } = fromKubeconfig(context, doors);
  const transport = new HttpTransport(endpoint, credentials);
  return {
    client: new KubeClient({ transport, clock: realClock, chance: Math.random }),
    close: () => {
      transport.close();
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
