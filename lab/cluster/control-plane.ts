import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Namespace } from '../host/namespace.ts';
import { ended, spawnOwned } from '../host/owned.ts';
import type { ApiClient } from './api-client.ts';
import { type Certificates, kubeconfigOf } from './certificates.ts';
import type { Gateway } from './gateway.ts';
import { network } from './network.ts';
import type { ProgramName, Programs } from './programs.ts';
import { type Look, type WaitOptions, waitUntil } from './wait.ts';

const serverNames = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
] as const satisfies readonly ProgramName[];
export type ServerName = (typeof serverNames)[number];

/** More flags for a program, for example feature gates; later flags win. */
export type ExtraFlags = Readonly<Partial<Record<ServerName | 'kubelet', readonly string[]>>>;

/** One server of the control plane. Stop it and start it again to see who depends on it. */
export type Server = {
  readonly name: ServerName;
  readonly running: boolean;
  start(): void;
  /** Ends it with SIGKILL, as a crash would. Its data stays. */
  stop(): Promise<void>;
};

export type ControlPlane = {
  server(name: ServerName): Server;
  /** Throws with the end of its log when a server that should run has died. */
  check(): Promise<void>;
  stop(): Promise<void>;
};

export type ControlPlaneSpec = {
  readonly namespace: Namespace;
  readonly programs: Programs;
  readonly directory: string;
  readonly logDirectory: string;
  readonly hostIp: string;
  readonly certificates: Certificates;
  readonly flags: ExtraFlags;
};

/**
 * Nothing is started yet, because the order matters: the API server needs etcd, and the others
 * need an API server that is ready. Without its roles the controller manager gives up.
 */
export async function createControlPlane(spec: ControlPlaneSpec): Promise<ControlPlane> {
  const { namespace, directory } = spec;
  const data = join(directory, 'etcd');
  await mkdir(data);
  // In memory, for speed; the mount goes away with the namespace.
  await namespace.run(['mount', '-t', 'tmpfs', '-o', 'mode=700', 'etcd', data]);
  const flagsOf: Readonly<Record<ServerName, readonly string[]>> = {
    etcd: etcdFlags(data),
    'kube-apiserver': apiServerFlags(spec),
    'kube-controller-manager': controllerManagerFlags(spec),
    'kube-scheduler': clientFlags(spec, 'kube-scheduler'),
  };
  const servers = new Map<ServerName, OwnedServer>();
  for (const name of serverNames) {
    const { path, words } = spec.programs[name];
    const flags = [...flagsOf[name], ...(spec.flags[name] ?? [])];
    const argv = namespace.enter([path, ...words, ...flags]);
    servers.set(name, new OwnedServer(name, argv, join(spec.logDirectory, `${name}.log`)));
  }
  return {
    server: (name) => {
      const found = servers.get(name);
      if (found === undefined) throw new Error(`the control plane has no ${name}`);
      return found;
    },
    check: async () => {
      for (const server of servers.values()) await server.check();
    },
    // An API server without etcd would hang in its shutdown; killed, it cannot.
    stop: async () => {
      await Promise.all([...servers.values()].map((server) => server.stop()));
    },
  };
}

export async function writeServerKubeconfigs(
  directory: string,
  server: string,
  certificates: Certificates,
): Promise<void> {
  const { ca, controllerManager, scheduler } = certificates;
  const clients = [
    ['kube-controller-manager', controllerManager],
    ['kube-scheduler', scheduler],
  ] as const;
  for (const [name, client] of clients) {
    await writeFile(
      join(directory, `${name}.kubeconfig`),
      await kubeconfigOf({ server, ca, client }),
      { mode: 0o600 },
    );
  }
}

export async function waitForEtcd(
  plane: ControlPlane,
  gateway: Gateway,
  options: WaitOptions = {},
): Promise<void> {
  const look = async (): Promise<Look<true>> => {
    await plane.check();
    try {
      (await gateway.connect('127.0.0.1', network.etcdPort)).destroy();
      return { found: true };
    } catch (error) {
      return { missing: String(error) };
    }
  };
  await waitUntil('etcd takes connections', look, options);
}

/** The body must be exactly `ok`: while hooks still run it is a list that also contains it. */
export async function waitForApiServer(
  plane: ControlPlane,
  api: ApiClient,
  options: WaitOptions = {},
): Promise<void> {
  const look = async (): Promise<Look<true>> => {
    await plane.check();
    try {
      const { status, text } = await api.request('/readyz', { timeoutMs: 5000 });
      return status === 200 && text === 'ok' ? { found: true } : { missing: text };
    } catch (error) {
      return { missing: String(error) };
    }
  };
  await waitUntil('the API server is ready', look, options);
}

class OwnedServer implements Server {
  readonly name: ServerName;
  readonly #argv: readonly string[];
  readonly #logPath: string;
  #child: ReturnType<typeof spawnOwned> | undefined;

  constructor(name: ServerName, argv: readonly string[], logPath: string) {
    this.name = name;
    this.#argv = argv;
    this.#logPath = logPath;
  }

  get running(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  start(): void {
    if (this.running) throw new Error(`${this.name} is running already`);
    const log = openSync(this.#logPath, 'a');
    this.#child = spawnOwned(this.#argv, { stdio: ['ignore', log, log] });
    closeSync(log);
  }

  async check(): Promise<void> {
    if (this.#child === undefined || this.running) return;
    const { exitCode, signalCode } = this.#child;
    const log = await readFile(this.#logPath, 'utf8');
    const how = signalCode ?? `exit code ${exitCode}`;
    throw new Error(`${this.name} died (${how}), see ${this.#logPath}\n${log.slice(-2000)}`);
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    child.kill('SIGKILL');
    await ended(child);
  }
}

function etcdFlags(data: string): readonly string[] {
  return [
    `--data-dir=${data}`,
    `--listen-client-urls=${network.etcdUrl}`,
    `--advertise-client-urls=${network.etcdUrl}`,
    `--listen-peer-urls=http://127.0.0.1:2380`,
    '--unsafe-no-fsync',
    // The only member waits one election timeout for others before it serves.
    '--heartbeat-interval=20',
    '--election-timeout=200',
    '--log-level=warn',
  ];
}

function apiServerFlags(spec: ControlPlaneSpec): readonly string[] {
  const pki = spec.certificates;
  return [
    `--etcd-servers=${network.etcdUrl}`,
    // Port 443 on every address, so that the service address leads here without a proxy.
    '--bind-address=0.0.0.0',
    `--secure-port=${network.apiPort}`,
    `--advertise-address=${spec.hostIp}`,
    `--service-cluster-ip-range=${network.serviceRange}`,
    // Webhooks and aggregated APIs are called at their pods: service addresses lead nowhere else.
    '--enable-aggregator-routing=true',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--allow-privileged=true',
    `--client-ca-file=${pki.ca}.crt`,
    `--tls-cert-file=${pki.apiServer}.crt`,
    `--tls-private-key-file=${pki.apiServer}.key`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${pki.serviceAccounts}.pub`,
    `--service-account-signing-key-file=${pki.serviceAccounts}.key`,
    // There is no DNS that would know the nodes' names.
    '--kubelet-preferred-address-types=InternalIP',
    `--kubelet-certificate-authority=${pki.ca}.crt`,
    `--kubelet-client-certificate=${pki.apiServerToKubelet}.crt`,
    `--kubelet-client-key=${pki.apiServerToKubelet}.key`,
    `--requestheader-client-ca-file=${pki.frontProxyCa}.crt`,
    '--requestheader-allowed-names=front-proxy-client',
    '--requestheader-username-headers=X-Remote-User',
    '--requestheader-group-headers=X-Remote-Group',
    '--requestheader-extra-headers-prefix=X-Remote-Extra-',
    `--proxy-client-cert-file=${pki.frontProxyClient}.crt`,
    `--proxy-client-key-file=${pki.frontProxyClient}.key`,
  ];
}

function controllerManagerFlags(spec: ControlPlaneSpec): readonly string[] {
  const pki = spec.certificates;
  return [
    ...clientFlags(spec, 'kube-controller-manager'),
    '--use-service-account-credentials',
    `--service-account-private-key-file=${pki.serviceAccounts}.key`,
    `--root-ca-file=${pki.ca}.crt`,
    `--cluster-signing-cert-file=${pki.ca}.crt`,
    `--cluster-signing-key-file=${pki.ca}.key`,
    // A lost node is seen after 16 seconds instead of about a minute.
    '--node-monitor-period=2s',
    '--node-monitor-grace-period=16s',
    // Every controller fetches its own credentials first; the default rate makes that seconds.
    '--kube-api-qps=300',
    '--kube-api-burst=600',
  ];
}

function clientFlags(spec: ControlPlaneSpec, name: ServerName): readonly string[] {
  const kubeconfig = join(spec.directory, `${name}.kubeconfig`);
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    '--leader-elect=false',
  ];
}
