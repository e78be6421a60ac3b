import { request } from 'node:http';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Namespace } from '../host/namespace.ts';
import { ended, spawnOwned } from '../host/owned.ts';

/** A door into the lab's network for code that runs outside of it, such as a test. */
export type Gateway = {
  /** A stream to any server the lab's host end can reach: API server, kubelets, pods. */
  connect(host: string, port: number): Promise<Duplex>;
  stop(): Promise<void>;
};

const connectTimeoutMs = 10_000;

export async function startGateway(
  namespace: Pick<Namespace, 'enter'>,
  socketPath: string,
): Promise<Gateway> {
  const program = join(import.meta.dirname, 'gateway-program.ts');
  const argv = namespace.enter([process.execPath, program, socketPath]);
  const child = spawnOwned(argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error('the gateway into the lab did not start')));
    child.stdout?.once('data', () => resolve());
  });
  return {
    connect: (host, port) => connectThrough(socketPath, `${host}:${port}`),
    stop: async () => {
      child.kill('SIGKILL');
      await ended(child);
    },
  };
}

function connectThrough(socketPath: string, address: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath, method: 'CONNECT', path: address, agent: false });
    // A node without power does not even refuse.
    const timer = setTimeout(() => {
      call.destroy(new Error(`no connection to ${address} after ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    call.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    call.once('connect', (response, socket) => {
      clearTimeout(timer);
      if (response.statusCode === 200) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new Error(`cannot connect to ${address} in the lab: ${response.statusMessage}`));
    });
    call.end();
  });
}
