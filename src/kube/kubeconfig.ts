import { dirname, isAbsolute, join } from 'node:path';
import { load } from 'js-yaml';
import { show } from '../base/show.ts';
import type { Endpoint } from './credentials.ts';
import { KubeError } from './errors.ts';

/** A text in a file of its own, or in the kubeconfig itself. */
export type Text =
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'inline'; readonly text: string };

export type ExecPlugin = {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string;
  readonly providesClusterInfo: boolean;
  readonly isInteractive: boolean;
};

/** One context of a kubeconfig: where, and as whom. */
export type Context = {
  readonly endpoint: Endpoint;
  readonly server: string;
  readonly namespace: string | undefined;
  readonly ca: Text | undefined;
  readonly certificate: Text | undefined;
  readonly key: Text | undefined;
  readonly token: Text | undefined;
  readonly exec: ExecPlugin | undefined;
};

type Entry = { readonly value: Fields; readonly directory: string };
type Fields = Readonly<Record<string, unknown>>;

export type KubeconfigFile = { readonly path: string; readonly text: string };

/** Of several files, as KUBECONFIG may name them, the first that says something counts. */
export function readKubeconfig(files: readonly KubeconfigFile[], contextName?: string): Context {
  const documents = files.map(({ path, text }) => ({ value: parse(path, text), path }));
  const named = documents.map(({ value }) => value['current-context']).find(isText);
  const current = contextName ?? named;
  if (current === undefined) throw wrong('no kubeconfig names a current-context');
  const find = (list: string, field: string, name: unknown): Entry => {
    for (const { value, path } of documents) {
      const entries = Array.isArray(value[list]) ? (value[list] as readonly unknown[]) : [];
      const entry = entries.map(fieldsOf).find((candidate) => candidate['name'] === name);
      if (entry !== undefined) return { value: fieldsOf(entry[field]), directory: dirname(path) };
    }
    throw wrong(
      `there is no ${field} ${show(name)} in ${files.map(({ path }) => path).join(', ')}`,
    );
  };
  const context = find('contexts', 'context', current).value;
  const cluster = find('clusters', 'cluster', context['cluster']);
  const none: Entry = { value: {}, directory: '' };
  const user = isText(context['user']) ? find('users', 'user', context['user']) : none;
  return contextOf(context, cluster, user);
}

function contextOf(context: Fields, cluster: Entry, user: Entry): Context {
  for (const key of ['auth-provider', 'username', 'password'] as const) {
    if (user.value[key] !== undefined) throw wrong(`${key} is not supported: use exec or a token`);
  }
  // Without these we would act as somebody else than the user meant.
  const impersonated = Object.keys(user.value).find((key) => key === 'as' || key.startsWith('as-'));
  if (impersonated !== undefined) throw wrong(`${impersonated} is not supported`);
  if (cluster.value['proxy-url'] !== undefined) throw wrong('proxy-url is not supported');
  const server = cluster.value['server'];
  if (!isText(server)) throw wrong('the cluster has no server');
  const token = user.value['token'];
  return {
    server,
    endpoint: endpointOf(server, cluster.value),
    namespace: isText(context['namespace']) ? context['namespace'] : undefined,
    ca: pemOf(cluster, 'certificate-authority'),
    certificate: pemOf(user, 'client-certificate'),
    key: pemOf(user, 'client-key'),
    // As for kubectl, a file wins over a token.
    token:
      fileOf(user, 'tokenFile') ?? (isText(token) ? { kind: 'inline', text: token } : undefined),
    exec: user.value['exec'] === undefined ? undefined : execOf(user),
  };
}

function endpointOf(server: string, cluster: Fields): Endpoint {
  const url = URL.parse(server);
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong(`${server} is no server`);
  const isTls = url.protocol === 'https:';
  const name = cluster['tls-server-name'];
  return {
    isTls,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    prefix: url.pathname.replace(/\/+$/, ''),
    serverName: isText(name) ? name : undefined,
    isInsecure: cluster['insecure-skip-tls-verify'] === true,
  };
}

function execOf(user: Entry): ExecPlugin {
  const exec = fieldsOf(user.value['exec']);
  const { apiVersion, command } = exec;
  if (!isText(command)) throw wrong('exec has no command');
  if (apiVersion !== `${execGroup}/v1` && apiVersion !== `${execGroup}/v1beta1`) {
    throw wrong(`exec.apiVersion is ${show(apiVersion)}: use ${execGroup}/v1`);
  }
  const env = Array.isArray(exec['env']) ? exec['env'].map(fieldsOf) : [];
  const args = Array.isArray(exec['args']) ? exec['args'].filter(isText) : [];
  const hint = exec['installHint'];
  return {
    apiVersion,
    // A bare name is looked for on the path, anything else stands beside the kubeconfig.
    command: command.includes('/') ? absolute(user.directory, command) : command,
    args,
    env: Object.fromEntries(env.map(({ name, value }) => [String(name), String(value)])),
    installHint: isText(hint) ? hint : '',
    providesClusterInfo: exec['provideClusterInfo'] === true,
    isInteractive: exec['interactiveMode'] === 'Always',
  };
}

export const execGroup = 'client.authentication.k8s.io';

/** `KEY-data` in base64 wins over the file that `KEY` names. */
function pemOf(entry: Entry, key: string): Text | undefined {
  const data = entry.value[`${key}-data`];
  if (isText(data)) return { kind: 'inline', text: Buffer.from(data, 'base64').toString('utf8') };
  return fileOf(entry, key);
}

function fileOf(entry: Entry, key: string): Text | undefined {
  const path = entry.value[key];
  return isText(path) ? { kind: 'file', path: absolute(entry.directory, path) } : undefined;
}

function absolute(directory: string, path: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}

function parse(path: string, text: string): Fields {
  try {
    return fieldsOf(load(text));
  } catch (cause) {
    throw new KubeError('NoCredentials', `${path} is no YAML: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function fieldsOf(value: unknown): Fields {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Fields) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function wrong(message: string): KubeError {
  return new KubeError('NoCredentials', message);
}
