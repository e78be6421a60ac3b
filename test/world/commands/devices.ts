import { copyOver, holdsData, copied as stretchOf } from '../content.ts';
import { isInUse, type Machine } from '../machine.ts';
import { cowSnapshotsOf, type Device, type Lv, thinVolumesOf, virtualBytes } from '../model.ts';
import { dmNameOf, mapperPath } from '../reports/names.ts';
import { type Outcome, Voice } from '../text.ts';
import { writeData, writeLv } from '../writes.ts';
import { wipeVolume, zeroRange } from './file-systems.ts';
import { unlabel } from './volume-groups.ts';

export function wipefs(machine: Machine, argv: readonly string[]): Outcome {
  const voice = new Voice();
  const path = argv.at(-1) ?? '';
  const device = machine.device(path);
  const lv = device === undefined ? lvAt(machine, path) : undefined;
  if (lv !== undefined) return wipeVolume(machine, lv, path);
  if (device === undefined) return noDevice(path);
  if (isInUse(device) || isOpenByLvm(machine, device)) {
    return voice
      .err(`wipefs: error: ${path}: probing initialization failed: Device or resource busy`)
      .end(1);
  }
  const found = device.content.signatures;
  if (found.length > 0) machine.recordDevice('wipefs', device, device.label?.pvUuid ?? '');
  for (const { type, offset } of found) {
    const hex = offset.toString(16).padStart(8, '0');
    voice.out(`${device.path}: 8 bytes were erased at offset 0x${hex} (${type}): 00 00 00 00`);
  }
  unlabel(device);
  device.content = { ...device.content, signatures: [] };
  device.partitionTable = '';
  device.partitions = [];
  return voice.end();
}

export function noDevice(path: string): Outcome {
  return new Voice()
    .err(`wipefs: error: ${path}: probing initialization failed: No such file or directory`)
    .end(1);
}

/** An active volume keeps the disks under it open. */
export function isOpenByLvm(machine: Machine, device: Device): boolean {
  const uuid = device.label?.pvUuid;
  if (uuid === undefined) return false;
  return machine.vgOfPv(uuid)?.lvs.some((lv) => lv.isActive) ?? false;
}

/** The one shape of dd our steps use: a stretch of one volume onto the same stretch of another. */
export function dd(machine: Machine, argv: readonly string[]): Outcome {
  const voice = new Voice();
  const words = new Map(argv.slice(1).map((word) => word.split(/=(.*)/s, 2) as [string, string]));
  const source = words.get('if') ?? '';
  const target = words.get('of') ?? '';
  const to = lvAt(machine, target);
  if (source === '/dev/zero') return ddZeroes(machine, words, to);
  const from = lvAt(machine, source);
  if (from === undefined) return cannotOpen(source);
  if (to === undefined) return cannotOpen(target);
  const start = Number(words.get('skip'));
  const length = Number(words.get('count'));
  if (Number(words.get('seek')) !== start) throw new Error('the fake dd copies in place only');
  if (from.body.kind === 'cow' && from.body.isInvalid) {
    return voice.err(`dd: error reading '${source}': Input/output error`).end(1);
  }
  if (to.isReadOnly) return voice.err(`dd: failed to open '${target}': Permission denied`).end(1);
  const readable = Math.max(0, Math.min(length, virtualBytes(from) - start));
  const room = Math.max(0, to.activeExtents * to.vg.extentBytes - start);
  const copied = Math.min(readable, room);
  if (holdsData(stretchOf(to.content, { start, length: copied })))
    machine.recordLv('overwrite', to);
  const problem = writeLv(machine, to, { start, length: copied }, (content) =>
    copyOver(content, from.content, { start, length: copied }),
  );
  if (problem !== undefined) return voice.err(`dd: error writing '${target}': ${problem}`).end(1);
  if (copied < readable) {
    return voice.err(`dd: error writing '${target}': No space left on device`).end(1);
  }
  return voice.end();
}

/** How the new end of a volume is overwritten; and how tests write on a real host, in MiB. */
function ddZeroes(
  machine: Machine,
  words: ReadonlyMap<string, string>,
  to: Lv | undefined,
): Outcome {
  const target = words.get('of') ?? '';
  if (to === undefined) return cannotOpen(target);
  const isInBytes = words.get('iflag')?.includes('count_bytes') === true;
  const unit = isInBytes ? 1 : 1024 ** 2;
  const length = Number(words.get('count')) * unit;
  const range = { start: Number(words.get('seek')) * unit, length };
  const problem = isInBytes ? zeroRange(machine, to, range) : writeData(machine, to, range);
  if (problem === undefined) return new Voice().end();
  return new Voice().err(`dd: error writing '${target}': ${problem}`).end(1);
}

function cannotOpen(path: string): Outcome {
  return new Voice().err(`dd: failed to open '${path}': No such file or directory`).end(1);
}

export function lvAt(machine: Machine, path: string): Lv | undefined {
  for (const vg of machine.visibleVgs()) {
    for (const lv of vg.lvs) {
      if (!lv.isActive) continue;
      if (mapperPath(lv) === path || `/dev/${vg.name}/${lv.name}` === path) return lv;
    }
  }
  return undefined;
}

export function dmsetupResume(machine: Machine, argv: readonly string[]): Outcome {
  const name = argv.at(-1) ?? '';
  for (const vg of machine.vgs) {
    for (const lv of vg.lvs) {
      if (!lv.isActive || dmNameOf(lv) !== name) continue;
      // The table that was loaded before the suspension becomes the live one.
      lv.isSuspended = false;
      lv.activeExtents = lv.extents;
      return new Voice().end();
    }
  }
  return new Voice()
    .err(`device-mapper: resume ioctl on ${name}  failed: No such device or address`)
    .err('Command failed.')
    .end(1);
}

/** Nobody has a stray part open; whatever else the kernel has stays. */
function isActive(lv: Lv): boolean {
  return lv.isActive;
}

export function dmsetupRemove(machine: Machine, argv: readonly string[]): Outcome {
  const name = argv.at(-1) ?? '';
  for (const [lv, suffixes] of machine.strayParts) {
    const suffix = [...suffixes].find((one) => dmNameOf(lv, one) === name);
    if (suffix === undefined) continue;
    suffixes.delete(suffix);
    return new Voice().end();
  }
  const lv = [...machine.minors().keys()].find((one) => dmNameOf(one) === name);
  const isBelow = lv !== undefined && [...thinVolumesOf(lv), ...cowSnapshotsOf(lv)].some(isActive);
  if (lv !== undefined && lv.users.size === 0 && !isBelow) {
    lv.isActive = false;
    return new Voice().end();
  }
  return new Voice()
    .err(`device-mapper: remove ioctl on ${name}  failed: Device or resource busy`)
    .err('Command failed.')
    .end(1);
}
