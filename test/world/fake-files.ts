import { bytes } from '../../src/base/bytes.ts';
import type { FsSpace } from '../../src/core/publication/status.ts';
import type { PathFacts } from '../../src/engine/ports.ts';
import { volumeAt } from './commands/mounts.ts';
import type { Machine } from './machine.ts';
import { dmNameOf, dmUuid } from './reports/names.ts';
import { fakeLogBytes, sizeOf } from './superblock-bytes.ts';

/** What is at a path of a fake machine: mounts first, then nodes, then what somebody made. */
export function inspectPath(machine: Machine, given: string): PathFacts {
  const { table } = machine;
  const path = table.resolve(given);
  const top = table.at(path);
  const facts = { path, isLink: false, number: '', mode: 0o755, sizeBytes: bytes(0n) };
  if (top?.node !== undefined) return { ...facts, kind: 'device', number: top.number };
  if (top !== undefined) {
    const mode = top.lv.content.signatures[0]?.rootMode ?? facts.mode;
    return { ...facts, kind: 'directory', mode };
  }
  const node = table.nodes.get(path);
  if (node !== undefined) return { ...facts, kind: 'device', number: node };
  const lv = volumeAt(machine, path);
  if (lv !== undefined) {
    const isLink = !path.startsWith('/dev/dm-');
    return { ...facts, kind: 'device', isLink, number: `254:${machine.minorOf(lv)}` };
  }
  const disk = machine.device(path);
  if (disk !== undefined) {
    return { ...facts, kind: 'device', isLink: disk.path !== path, number: disk.number };
  }
  return { ...facts, kind: table.paths.get(path) ?? 'absent' };
}

/** The few files of /sys that tell of a block device. */
export function sysFile(machine: Machine, path: string): string | undefined {
  const [, number = '', file = ''] = /^\/sys\/dev\/block\/([0-9:]+)\/(.+)$/.exec(path) ?? [];
  const disk = machine.present().find((device) => device.number === number);
  if (disk !== undefined) return file === 'size' ? `${disk.sizeBytes / 512}\n` : undefined;
  const lv = machine.volumeOf(number);
  if (lv === undefined) return undefined;
  switch (file) {
    case 'size':
      return `${(lv.activeExtents * lv.vg.extentBytes) / 512}\n`;
    case 'dm/uuid':
      return `${dmUuid(lv.vg.uuid, lv.uuid)}\n`;
    case 'dm/name':
      return `${dmNameOf(lv)}\n`;
    case 'dm/suspended':
      return lv.isSuspended ? '1\n' : '0\n';
    default:
      return undefined;
  }
}

export function fsSpace(machine: Machine, given: string): FsSpace | undefined {
  const mount = machine.table.at(machine.table.resolve(given));
  const [found] = mount?.lv.content.signatures ?? [];
  if (found === undefined) return undefined;
  const total = sizeOf(found) - (found.type === 'xfs' ? fakeLogBytes : 0);
  const half = bytes(Math.floor(total / 2));
  const inodes = found.type === 'btrfs' ? 0n : 1000n;
  const freeInodes = inodes / 2n;
  return { totalBytes: bytes(total), freeBytes: half, availableBytes: half, inodes, freeInodes };
}
