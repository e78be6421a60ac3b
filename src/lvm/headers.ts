import { limits } from '../base/limits.ts';
import type { Command } from './command.ts';

/** LVM's name for the group of a device that is marked as used, when no metadata tells by whom. */
export const unknownGroup = '[unknown]';

/** What stands in the headers of a PV, without looking for its group. */
export function lookHeaders(device: string): Command {
  const argv: Command['argv'] = ['lvm', 'pvck', '--dump', 'headers', device];
  return { argv, effect: 'reads', timeoutMs: limits.readTimeoutMs };
}

/**
 * Was a vgcreate of ours cut off on this device? A power cut can keep the mark "in use" and lose
 * the metadata. The proof: a metadata area of the size that only we ask for, not ignored, in which
 * no metadata was ever committed or prepared. A group that was answered for has it on every one of
 * its devices, flushed.
 */
export function isHalfMade(output: string): boolean {
  const values = new Map(
    [...output.matchAll(/^\s*(\S+) (0x[0-9a-f]+|\d+)/gm)].map(([, key = '', value = '']) => [
      key,
      Number(value),
    ]),
  );
  const areas = [...values.keys()].filter((key) => /^mda_header_\d+\.size$/.test(key));
  const isOurs = values.get('mda_header_1.size') === ourAreaBytes;
  const everWritten = [...values].some(([key, value]) => writtenKey.test(key) && value !== 0);
  return areas.length === 1 && isOurs && !everWritten;
}

const writtenKey = /^mda_header_1\.raw_locn\[[01]\]\.(offset|size|checksum|flags)$/;

/** LVM lets data begin at a whole MiB after the area we asked for; the area begins at 4 KiB. */
const ourAreaBytes = Number(limits.vgMetadataBytes) + 1024 ** 2 - 4096;
