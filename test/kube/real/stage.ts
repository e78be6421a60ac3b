import { Agent, request } from 'node:https';
import { realClock } from '../../../src/host/clock.ts';
import { fromKubeconfig } from '../../../src/kube/from-kubeconfig.ts';
import { readKubeconfig } from '../../../src/kube/kubeconfig.ts';
import type { Plane } from './plane.ts';

export type Attempt = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly body?: object;
};

/** The administrator, who asks in the names of others. */
export class Stage {
  readonly #plane: Plane;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(plane: Plane) {
    this.#plane = plane;
  }

  /** The status that `user` is answered with. */
  async ask(user: string, { method, path, body }: Attempt): Promise<number> {
    const text = this.#plane.kubeconfig(this.#plane.ports.steady);
    const context = readKubeconfig([{ path: 'admin', text }]);
    const { endpoint, credentials } = fromKubeconfig(context, { clock: realClock, wall: Date.now });
    const { ca, certificate: cert, key } = await credentials.current();
    const { host, port } = endpoint;
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const headers = { 'impersonate-user': user, 'content-type': type };
    const agent = this.#agent;
    return new Promise((resolve, reject) => {
      const sent = request({ host, port, method, path, ca, cert, key, headers, agent });
      sent.on('error', reject);
      sent.on('response', (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
