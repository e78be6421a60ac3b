import { join } from 'node:path';
import type { Access, Connection } from './credentials.ts';
import { FileText } from './file-text.ts';
import type { Clock } from './ports.ts';

export const serviceAccountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/**
 * What a pod gets from its kubelet. The token lives for about an hour and is replaced long before,
 * and the authority changes when the cluster's does: both are read again and again.
 */
export function inCluster(options: {
  /** KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT. */
  readonly host: string;
  readonly port: number;
  readonly directory?: string;
  readonly clock: Clock;
}): Connection {
  const { host, port, clock, directory = serviceAccountDirectory } = options;
  const token = new FileText(join(directory, 'token'), clock);
  const ca = new FileText(join(directory, 'ca.crt'), clock);
  return {
    endpoint: { isTls: true, host, port, prefix: '', isInsecure: false },
    credentials: {
      current: async (): Promise<Access> => ({
        token: (await token.read()).trim(),
        ca: await ca.read(),
      }),
      refuse: () => {
        token.forget();
        ca.forget();
      },
    },
  };
}

/** The namespace a pod runs in. */
export async function ownNamespace(
  clock: Clock,
  directory: string = serviceAccountDirectory,
): Promise<string> {
  return (await new FileText(join(directory, 'namespace'), clock).read()).trim();
}
