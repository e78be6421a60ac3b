import { generateKeyPairSync } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../host/command.ts';

export type NodeIdentity = { readonly name: string; readonly ip: string };

/** Paths without their ending: `<path>.crt` and `<path>.key`. */
export type Certificates = {
  readonly ca: string;
  readonly frontProxyCa: string;
  readonly apiServer: string;
  readonly apiServerToKubelet: string;
  readonly frontProxyClient: string;
  readonly admin: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  /** What service account tokens are signed with: `<path>.key` and `<path>.pub`. */
  readonly serviceAccounts: string;
  /** How a kubelet speaks to the API server, and how it is spoken to. */
  nodeClient(name: string): string;
  nodeServer(name: string): string;
};

type Request = {
  readonly name: string;
  readonly subject: string;
  readonly usage: 'clientAuth' | 'serverAuth';
  readonly issuer?: string;
  readonly alternativeNames?: readonly string[];
};

const validDays = 30;

/** Everything a cluster signs and proves itself with, made for this cluster alone. */
export async function createCertificates(
  directory: string,
  cluster: { readonly apiAddresses: readonly string[]; readonly nodes: readonly NodeIdentity[] },
): Promise<Certificates> {
  await mkdir(directory, { recursive: true });
  await Promise.all(['ca', 'front-proxy-ca'].map((name) => createAuthority(directory, name)));
  const requests = [
    ...clusterRequests(cluster.apiAddresses),
    ...cluster.nodes.flatMap(nodeRequests),
  ];
  await Promise.all(requests.map((request) => createCertificate(directory, request)));
  await createServiceAccountKey(directory);
  const at = (name: string): string => join(directory, name);
  return {
    ca: at('ca'),
    frontProxyCa: at('front-proxy-ca'),
    apiServer: at('apiserver'),
    apiServerToKubelet: at('apiserver-kubelet'),
    frontProxyClient: at('front-proxy-client'),
    admin: at('admin'),
    controllerManager: at('controller-manager'),
    scheduler: at('scheduler'),
    serviceAccounts: at('service-accounts'),
    nodeClient: (name) => at(`node-${name}`),
    nodeServer: (name) => at(`kubelet-${name}`),
  };
}

function clusterRequests(apiAddresses: readonly string[]): readonly Request[] {
  const usage = 'clientAuth';
  const names = ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'];
  return [
    {
      name: 'apiserver',
      subject: '/CN=kube-apiserver',
      usage: 'serverAuth',
      alternativeNames: [
        ...apiAddresses.map((address) => `IP:${address}`),
        ...names.map((name) => `DNS:${name}`),
      ],
    },
    { name: 'apiserver-kubelet', subject: '/O=system:masters/CN=kube-apiserver', usage },
    { name: 'admin', subject: '/O=system:masters/CN=admin', usage },
    { name: 'controller-manager', subject: '/CN=system:kube-controller-manager', usage },
    { name: 'scheduler', subject: '/CN=system:kube-scheduler', usage },
    {
      name: 'front-proxy-client',
      subject: '/CN=front-proxy-client',
      usage,
      issuer: 'front-proxy-ca',
    },
  ];
}

function nodeRequests({ name, ip }: NodeIdentity): readonly Request[] {
  return [
    {
      name: `node-${name}`,
      subject: `/O=system:nodes/CN=system:node:${name}`,
      usage: 'clientAuth',
    },
    {
      name: `kubelet-${name}`,
      subject: `/CN=${name}`,
      usage: 'serverAuth',
      alternativeNames: [`IP:${ip}`, `DNS:${name}`],
    },
  ];
}

async function createAuthority(directory: string, name: string): Promise<void> {
  const extensions = [
    'basicConstraints = critical, CA:TRUE',
    'keyUsage = critical, keyCertSign, cRLSign, digitalSignature',
    'subjectKeyIdentifier = hash',
  ];
  await openssl(directory, { name, subject: `/CN=quarry-lab-${name}`, extensions, options: [] });
}

async function createCertificate(directory: string, request: Request): Promise<void> {
  const { name, subject, usage, issuer = 'ca', alternativeNames = [] } = request;
  const extensions = [
    'basicConstraints = critical, CA:FALSE',
    'keyUsage = critical, digitalSignature, keyEncipherment',
    `extendedKeyUsage = ${usage}`,
    'authorityKeyIdentifier = keyid',
    ...(alternativeNames.length === 0 ? [] : [`subjectAltName = ${alternativeNames.join(', ')}`]),
  ];
  const options = ['-CA', `${issuer}.crt`, '-CAkey', `${issuer}.key`];
  await openssl(directory, { name, subject, extensions, options });
}

/** One call makes the key and the signed certificate. */
async function openssl(
  directory: string,
  request: {
    readonly name: string;
    readonly subject: string;
    readonly extensions: readonly string[];
    readonly options: readonly string[];
  },
): Promise<void> {
  const { name } = request;
  // The machine's own openssl.cnf would make every certificate an authority.
  const config = ['[req]', 'distinguished_name = none', '[none]', '[extensions]'];
  const lines = [...config, ...request.extensions, ''];
  await writeFile(join(directory, `${name}.cnf`), lines.join('\n'));
  await runCommand(
    [
      ...['openssl', 'req', '-x509', '-noenc', '-days', `${validDays}`],
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
      ...['-config', `${name}.cnf`, '-extensions', 'extensions', '-subj', request.subject],
      ...['-keyout', `${name}.key`, '-out', `${name}.crt`, ...request.options],
    ],
    { cwd: directory },
  );
}

async function createServiceAccountKey(directory: string): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', {
    namedCurve: 'prime256v1',
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  await writeFile(join(directory, 'service-accounts.key'), privateKey, { mode: 0o600 });
  await writeFile(join(directory, 'service-accounts.pub'), publicKey);
}

/** A kubeconfig that holds everything it needs, so that one file is enough to hand on. */
export async function kubeconfigOf(request: {
  readonly server: string;
  readonly ca: string;
  readonly client: string;
}): Promise<string> {
  const base64 = async (path: string): Promise<string> => (await readFile(path)).toString('base64');
  const cluster = {
    server: request.server,
    'certificate-authority-data': await base64(`${request.ca}.crt`),
  };
  const user = {
    'client-certificate-data': await base64(`${request.client}.crt`),
    'client-key-data': await base64(`${request.client}.key`),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'lab', cluster }],
    users: [{ name: 'lab', user }],
    contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
    'current-context': 'lab',
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
