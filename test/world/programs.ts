import { type Arguments, isOutcome, parseArguments } from './argv.ts';
import { dd, dmsetupRemove, dmsetupResume, wipefs } from './commands/devices.ts';
import { btrfstune, grow, mkfs, sync, zeroOut } from './commands/file-systems.ts';
import { fsfreeze, thawLeft } from './commands/freeze.ts';
import { lvchange, lvchangeOptions } from './commands/lvchange.ts';
import { lvcreate, lvcreateOptions } from './commands/lvcreate.ts';
import { lvextend, lvextendOptions } from './commands/lvextend.ts';
import { lvremove, lvremoveOptions } from './commands/lvremove.ts';
import { changeFile, mount, umount } from './commands/mounts.ts';
import { beginMove, finishMove, pvmove, pvmoveOptions } from './commands/pvmove.ts';
import {
  pvremove,
  vgcreate,
  vgextend,
  vgreduce,
  vgremove,
  volumeGroupOptions,
} from './commands/volume-groups.ts';
import type { Mishap } from './faults.ts';
import type { Machine } from './machine.ts';
import { dmsetupInfo, losetup, lsblk } from './reports/block-devices.ts';
import { dmsetupStatus } from './reports/dm-status.ts';
import { fullreport } from './reports/fullreport.ts';
import { labels } from './reports/labels.ts';
import { probeBlkid, probeWipefs } from './reports/probes.ts';
import type { Outcome } from './text.ts';

/** Not a program: what the host's door does with files meets the same faults as one. */
export const fileProgram = 'file';

type Program = (machine: Machine, parsed: Arguments, mishap?: Mishap) => Outcome;
type Entry = {
  readonly run: Program;
  readonly options: Readonly<Record<string, 'flag' | 'value'>>;
};

const lvm: Readonly<Record<string, Entry>> = {
  vgcreate: { run: vgcreate, options: volumeGroupOptions.vgcreate },
  vgextend: { run: vgextend, options: volumeGroupOptions.vgextend },
  vgreduce: { run: vgreduce, options: volumeGroupOptions.vgreduce },
  vgremove: { run: vgremove, options: volumeGroupOptions.vgremove },
  pvremove: { run: pvremove, options: volumeGroupOptions.pvremove },
  pvmove: { run: pvmove, options: pvmoveOptions },
  lvcreate: { run: lvcreate, options: lvcreateOptions },
  lvextend: { run: lvextend, options: lvextendOptions },
  lvchange: { run: lvchange, options: lvchangeOptions },
  lvremove: { run: lvremove, options: lvremoveOptions },
};

/** Runs a command against the machine at once. `undefined`: there is no such program here. */
export function execute(
  machine: Machine,
  argv: readonly string[],
  mishap?: Mishap,
): Outcome | undefined {
  const [program, first] = argv;
  switch (program) {
    case 'lvm':
      return executeLvm(machine, argv.slice(1), mishap);
    case 'lsblk':
      return lsblk(machine, argv);
    case 'losetup':
      return losetup(machine);
    case 'blkid':
      return probeBlkid(machine, argv.at(-1) ?? '');
    case 'dd':
      return dd(machine, argv);
    case 'wipefs':
      if (first === '--all' && argv.length === 3) return wipefs(machine, argv);
      return argv.includes('--no-act') ? probeWipefs(machine, argv.at(-1) ?? '') : undefined;
    case 'mkfs.ext4':
    case 'mkfs.xfs':
    case 'mkfs.btrfs':
      return mkfs(machine, argv, mishap);
    case 'mount':
      return mount(machine, argv);
    case 'umount':
      return umount(machine, argv);
    case 'sh':
      return argv.includes('quarry-thaw') ? thawLeft(machine) : undefined;
    case 'fsfreeze':
      return fsfreeze(machine, argv);
    case 'resize2fs':
    case 'xfs_growfs':
    case 'btrfs':
      return grow(machine, argv);
    case 'btrfstune':
      return btrfstune(machine, argv);
    case 'blkdiscard':
      return zeroOut(machine, argv);
    case 'sync':
      return sync(machine, argv);
    case fileProgram:
      return changeFile(machine, argv);
    case 'dmsetup':
      if (first === 'info') return dmsetupInfo(machine, argv);
      if (first === 'status') return dmsetupStatus(machine, argv);
      if (first === 'remove') return dmsetupRemove(machine, argv);
      return first === 'resume' ? dmsetupResume(machine, argv) : undefined;
    default:
      return undefined;
  }
}

/**
 * pvmove changes the metadata twice, with all the copying in between: other commands come and go
 * meanwhile. The first half answers only when it refuses.
 */
export function executeMove(
  machine: Machine,
  argv: readonly string[],
  half: 'begin' | 'finish',
): Outcome | undefined {
  const parsed = parseArguments('pvmove', argv.slice(2), pvmoveOptions);
  if (isOutcome(parsed)) return parsed;
  machine.commandLine = argv.slice(1).join(' ');
  return half === 'begin' ? beginMove(machine, parsed) : finishMove(machine, parsed);
}

function executeLvm(
  machine: Machine,
  argv: readonly string[],
  mishap: Mishap | undefined,
): Outcome | undefined {
  const [command = '', ...rest] = argv;
  if (command === 'fullreport') return fullreport(machine, rest);
  if (command === 'pvs' && rest.includes('--all')) return labels(machine);
  const entry = lvm[command];
  if (entry === undefined) return undefined;
  const parsed = parseArguments(command, rest, entry.options);
  if (isOutcome(parsed)) return parsed;
  machine.commandLine = argv.join(' ');
  return entry.run(machine, parsed, mishap);
}
