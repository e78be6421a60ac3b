import { realHost } from '../src/host/host.ts';
import type { Command } from '../src/lvm/command.ts';
import type { Kind, Operation } from './figures.ts';

/**
 * The two peers: the bare lvm command, and a replay of the command lines that TopoLVM's lvmd runs
 * for the same operation. The replay is no lvmd: no gRPC, no Kubernetes, no nsenter, so it is a
 * lower bound of what lvmd takes. Both run one command after the other, started like Quarry's own.
 */
export type Peer = 'bare' | 'lvmd';

type Argv = readonly [string, ...string[]];

export const group = 'bench';
export const pool = 'pool';
export const sizeBytes = 16 * 1024 ** 2;
export const grownBytes = 2 * sizeBytes;
const cowBytes = 64 * 1024 ** 2;

const host = realHost({ prefix: [], path: '/usr/sbin:/usr/bin:/sbin:/bin' });

export async function runPeer(peer: Peer, ...[kind, operation, name]: Target): Promise<void> {
  const commands = peer === 'bare' ? bareCommands : lvmdRun;
  for (const argv of commands(kind, operation, name)) await lvm(argv);
}

type Target = readonly [Kind, Operation, string];

export async function lvm(argv: Argv): Promise<void> {
  const whole: Command['argv'] = ['lvm', ...argv];
  const running = host.start({ argv: whole, effect: 'changes', timeoutMs: 120_000 });
  const { exitCode, stderr } = await running.result;
  if (exitCode !== 0) throw new Error(`${whole.join(' ')}: ${stderr}`);
}

/** What a snapshot of a volume is called. */
export const snapshotOf = (name: string) => `${name}-snapshot`;

/** The options are those that Quarry gives too. */
function bareCommands(...[kind, operation, name]: Target): readonly Argv[] {
  const lv = `${group}/${name}`;
  switch (operation) {
    case 'create': {
      const named = ['--name', name, group];
      const thick = ['--wipesignatures', 'y', '--zero', 'y', '--size', `${sizeBytes}b`];
      const size = ['--virtualsize', `${sizeBytes}b`, '--thinpool', pool];
      const thin = ['--wipesignatures', 'n', ...size];
      return [['lvcreate', '--yes', ...(kind === 'thin' ? thin : thick), ...named]];
    }
    case 'expand':
      return [['lvextend', '--size', `${grownBytes}b`, lv]];
    case 'snapshot': {
      const room = kind === 'thin' ? ['--setactivationskip', 'n'] : ['--size', `${cowBytes}b`];
      const named = ['--permission', 'r', '--name', snapshotOf(name), lv];
      return [['lvcreate', '--yes', '--snapshot', ...room, ...named]];
    }
    case 'delete':
      return [['lvremove', '--yes', lv]];
  }
}

const report = ['--units', 'b', '--nosuffix', '--reportformat', 'json'];
const vgFields = 'vg_uuid,vg_name,vg_size,vg_free';
const lvFields =
  'lv_uuid,lv_name,lv_full_name,lv_path,lv_size,lv_kernel_major,lv_kernel_minor,origin,' +
  'origin_size,pool_lv,lv_tags,lv_attr,vg_name,data_percent,metadata_percent,pool_lv';

/** At the end is the report by which lvmd tells Kubernetes what is free. */
function lvmdRun(...target: Target): readonly Argv[] {
  return [...lvmdCommands(...target), pushState];
}

export function lvmdCommands(...[kind, operation, name]: Target): readonly Argv[] {
  const lv = `${group}/${name}`;
  const poolLook = kind === 'thin' ? [look(`${group}/${pool}`)] : [];
  const usageLook = kind === 'thin' ? [look(group)] : [];
  // Whoever calls lvmd asks first for the list of volumes.
  const listLooks = [vgLook, ...poolLook, look(group)];
  switch (operation) {
    case 'create':
      return [...listLooks, vgLook, ...poolLook, ...usageLook, lvmdCreate(kind, name), look(lv)];
    case 'expand': {
      const resize: Argv = ['lvresize', '-L', `${grownBytes}b`, lv];
      return [vgLook, ...poolLook, look(lv), ...usageLook, resize, look(lv)];
    }
    case 'snapshot': {
      if (kind === 'thick') return [];
      const made = snapshotOf(name);
      const make: Argv = ['lvcreate', '-s', '-k', 'n', '-n', made, lv];
      const open: Argv = ['lvchange', '-p', 'r', `/dev/${group}/${made}`];
      const looks = [vgLook, look(lv), ...poolLook, ...usageLook];
      return [...listLooks, ...looks, make, look(`${group}/${made}`), open];
    }
    case 'delete':
      return [vgLook, ['lvremove', '-f', lv]];
  }
}

function lvmdCreate(kind: Kind, name: string): Argv {
  if (kind === 'thick') {
    return ['lvcreate', '-n', name, '-L', `${sizeBytes}b`, '-W', 'y', '-y', group];
  }
  const size = ['-V', `${sizeBytes}b`];
  return ['lvcreate', '-T', `${group}/${pool}`, '-n', name, ...size, '-W', 'y', '-y'];
}

const vgLook: Argv = ['vgs', group, '-o', vgFields, ...report];
const pushState: Argv = [
  ...(['fullreport', '--reportformat', 'json', '--units', 'b', '--nosuffix'] as const),
  ...['--configreport', 'vg', '-o', vgFields, '--configreport', 'lv', '-o', lvFields],
  ...['pv', 'pvseg', 'seg'].flatMap((section) => ['--configreport', section, '-o,']),
];

function look(what: string): Argv {
  return ['lvs', what, '-o', lvFields, ...report];
}
