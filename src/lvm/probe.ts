import type { Signatures } from '../core/observed.ts';
import type { CommandResult } from './command.ts';
import { optionalText, parseJson, requiredRows } from './json.ts';

/** `wipefs --json --no-act`: every signature libblkid knows, with its place. */
export function parseWipefs(result: CommandResult): Signatures {
  if (result.exitCode !== 0) return unknown('wipefs', result);
  if (result.stdout.trim() === '') return { kind: 'none' };
  const rows = requiredRows(parseJson(result.stdout, 'wipefs'), 'signatures');
  const types = rows.map((row) => optionalText(row, 'type'));
  const uuids = rows.map((row) => optionalText(row, 'uuid')).filter((uuid) => uuid !== '');
  return types.length === 0 ? { kind: 'none' } : foundOf(types, uuids);
}

/**
 * blkid's exit code for "nothing found". It is also that of a device it cannot read, and with
 * util-linux 2.41 that of signatures which contradict each other (2.38 has 8 for them): only
 * together with wipefs, and with a label look that shows the device, does it prove anything.
 */
const blkidNothing = 2;

export function parseBlkid(result: CommandResult): Signatures {
  if (result.exitCode === blkidNothing && result.stdout.trim() === '') return { kind: 'none' };
  if (result.exitCode !== 0) return unknown('blkid', result);
  const types = [...result.stdout.matchAll(/^(?:TYPE|PTTYPE)=(.*)$/gm)].map(
    ([, type]) => type ?? '',
  );
  if (types.length > 0) return { kind: 'found', types };
  if (isPlaceOnly(result.stdout)) return { kind: 'none' };
  return { kind: 'unknown', why: 'blkid found something it has no name for' };
}

/** Of a partition blkid says where in its disk it is, which is nothing that is on it. */
function isPlaceOnly(output: string): boolean {
  const lines = output.split('\n').filter((line) => line !== '');
  const places = lines.filter((line) => line.startsWith('PART_ENTRY_'));
  return places.length > 0 && lines.length - places.length <= 1 && /^DEVNAME=/m.test(output);
}

/** Nothing is on a device only when both probes say so. */
export function combine(first: Signatures, second: Signatures): Signatures {
  if (first.kind === 'unknown') return first;
  if (second.kind === 'unknown') return second;
  const found = [first, second].flatMap((probe) => (probe.kind === 'found' ? [probe] : []));
  if (found.length === 0) return { kind: 'none' };
  return foundOf(
    found.flatMap(({ types }) => types),
    found.flatMap(({ uuids = [] }) => uuids),
  );
}

function foundOf(types: readonly string[], uuids: readonly string[]): Signatures {
  const all = { kind: 'found', types: [...new Set(types)] } as const;
  return uuids.length === 0 ? all : { ...all, uuids: [...new Set(uuids)] };
}

function unknown(program: string, result: CommandResult): Signatures {
  const how = result.exitCode === undefined ? `signal ${result.signal}` : `code ${result.exitCode}`;
  return { kind: 'unknown', why: `${program} ended with ${how}: ${result.stderr.trim()}` };
}
