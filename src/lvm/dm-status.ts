import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import type { Command } from './command.ts';

/**
 * What the kernel itself says of pools and RAIDs. One cheap program, no lvm run and no lock: it
 * can be asked often, and it answers while an lvm command holds the group.
 */
export const lookThinPoolHealth: Command = statusOf('thin-pool');
export const lookRaidHealth: Command = statusOf('raid');
export const lookSnapshotFill: Command = statusOf('snapshot');
export const lookMirrors: Command = statusOf('mirror');

export type ThinPoolHealth = {
  /** LVM's pool `vg/pool` is `vg-pool-tpool` to the kernel. */
  readonly name: string;
  readonly state: 'rw' | 'ro' | 'out_of_data_space' | 'Fail';
  readonly dataPercent: number;
  readonly metadataPercent: number;
  readonly needsCheck: boolean;
};

export type RaidHealth = {
  readonly name: string;
  /** One letter for each device: `A` in sync, `a` alive but not yet in sync, `D` dead. */
  readonly devices: string;
  readonly syncPercent: number;
  readonly action: string;
  readonly mismatches: number;
};

export type SnapshotFill = { readonly name: string; readonly percent: number };

/** What pvmove copies with is a mirror of what it empties, the first, and of what it fills. */
export type Mirror = { readonly name: string; readonly devices: readonly string[] };

const line = /^(\S+): \d+ \d+ (\S+) (.*)$/;
const ratio = /^(\d+)\/(\d+)$/;

export function parseThinPoolHealth(output: string): readonly ThinPoolHealth[] {
  return linesOf(output, 'thin-pool').map(({ name, rest, text }) => {
    if (rest[0] === 'Fail') {
      return { name, state: 'Fail', dataPercent: 100, metadataPercent: 100, needsCheck: true };
    }
    const [, metadata = '', data = '', , state = ''] = rest;
    if (state !== 'rw' && state !== 'ro' && state !== 'out_of_data_space') throw unreadable(text);
    return {
      name,
      state,
      dataPercent: percentOf(data, text),
      metadataPercent: percentOf(metadata, text),
      needsCheck: rest.includes('needs_check'),
    };
  });
}

export function parseRaidHealth(output: string): readonly RaidHealth[] {
  return linesOf(output, 'raid').map(({ name, rest, text }) => {
    const [, , devices = '', sync = '', action = '', mismatches = ''] = rest;
    if (!/^[AaD-]+$/.test(devices) || !/^\d+$/.test(mismatches)) throw unreadable(text);
    const syncPercent = percentOf(sync, text);
    return { name, devices, syncPercent, action, mismatches: Number(mismatches) };
  });
}

/** A snapshot that overflowed says `Invalid`; one that is being merged, or failed, a word too. */
export function parseSnapshotFill(output: string): readonly SnapshotFill[] {
  return linesOf(output, 'snapshot').map(({ name, rest: [fill = ''], text }) => {
    const percent = /^[A-Z]/.test(fill) ? 100 : percentOf(fill, text);
    return { name, percent };
  });
}

/** One line for each stretch that is copied. Devices are told by their numbers. */
export function parseMirrors(output: string): readonly Mirror[] {
  return linesOf(output, 'mirror').map(({ name, rest: [count = '', ...rest], text }) => {
    const devices = rest.slice(0, Number(count));
    const isRead = devices.length > 0 && devices.every((one) => /^\d+:\d+$/.test(one));
    if (!isRead) throw unreadable(text);
    return { name, devices };
  });
}

function linesOf(output: string, target: string) {
  return output
    .split('\n')
    .map((text) => text.trim())
    .filter((text) => text !== '' && text !== 'No devices found')
    .flatMap((text) => {
      const match = line.exec(text);
      if (match === null) throw unreadable(text);
      const [, name = '', kind = '', rest = ''] = match;
      return kind === target ? [{ name, rest: rest.split(' '), text }] : [];
    });
}

function percentOf(text: string, context: string): number {
  const [, used, total] = ratio.exec(text) ?? [];
  if (used === undefined || total === undefined) throw unreadable(context);
  return total === '0' ? 0 : (Number(used) * 100) / Number(total);
}

function unreadable(text: string): OperationError {
  return new OperationError('UnreadableReport', `dmsetup status printed ${show(text)}`);
}

function statusOf(target: string): Command {
  const argv: Command['argv'] = ['dmsetup', 'status', '--target', target];
  return { argv, effect: 'reads', timeoutMs: limits.readTimeoutMs };
}
