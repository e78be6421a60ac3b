import { runCommand } from '../host/command.ts';
import type { Guest } from '../index.ts';
import type { ApiClient } from './api-client.ts';
import type { Gateway } from './gateway.ts';
import { network } from './network.ts';
import type { NodeObject } from './objects.ts';
import type { Programs } from './programs.ts';

/** What runs in a cluster, by name, as the running programs themselves say it. */
export type Versions = Readonly<Record<string, string>>;

export async function readVersions(from: {
  readonly api: ApiClient;
  readonly gateway: Gateway;
  readonly programs: Programs;
  readonly guests: readonly Guest[];
}): Promise<Versions> {
  const { api } = from;
  const server = await api.get<{ readonly gitVersion: string }>('/version');
  const list = await api.get<{ readonly items: readonly NodeObject[] }>('/api/v1/nodes');
  const infos = (list?.items ?? []).map((node) => node.status.nodeInfo);
  const [guest] = from.guests;
  const inGuest = async (script: string): Promise<string> => (guest ? guest.sh(script) : '');
  const { path, words } = from.programs.kubectl;
  const kubectl = await runCommand([path, ...words, 'version', '--client']);
  return {
    kubernetes: server?.gitVersion ?? 'unknown',
    kubelet: distinct(infos.map((info) => info.kubeletVersion)),
    etcd: await etcdVersion(from.gateway),
    kubectl: match(kubectl, /Client Version: (\S+)/),
    containerd: distinct(infos.map((info) => info.containerRuntimeVersion.split('//')[1] ?? '')),
    runc: match(await inGuest('runc --version'), /runc version (\S+)/),
    'guest kernel': distinct(infos.map((info) => info.kernelVersion)),
    'guest system': distinct(infos.map((info) => info.osImage)),
    lvm2: match(await inGuest('lvm version'), /LVM version:\s*(\S+)/),
    'device mapper': match(await inGuest('lvm version'), /Driver version:\s*(\S+)/),
  };
}

async function etcdVersion(gateway: Gateway): Promise<string> {
  const socket = await gateway.connect('127.0.0.1', network.etcdPort);
  socket.end('GET /version HTTP/1.0\r\nHost: etcd\r\n\r\n');
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return match(Buffer.concat(chunks).toString(), /"etcdserver":"([^"]+)"/);
}

function match(text: string, pattern: RegExp): string {
  return pattern.exec(text)?.[1] ?? 'unknown';
}

function distinct(values: readonly string[]): string {
  return [...new Set(values)].join(', ') || 'unknown';
}
