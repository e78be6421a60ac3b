import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import type {
  Bind,
  FormatLv,
  GrowFileSystem,
  Mount,
  PublicationStep,
} from '../core/publication/step.ts';
import type { Command } from './command.ts';

/** Steps of a publication that programs do. The others go through the host's own door. */
export type ProgramStep = Extract<
  PublicationStep,
  {
    kind:
      | 'format-lv'
      | 'renew-uuid'
      | 'mount'
      | 'bind'
      | 'remount-read-only'
      | 'unmount'
      | 'grow-file-system';
  }
>;

/** Long options where there are any: mkfs, btrfstune and resize2fs have short ones only. */
export function publicationCommands(step: ProgramStep): readonly Command[] {
  switch (step.kind) {
    case 'format-lv':
      return [format(step)];
    case 'renew-uuid':
      return [long(['btrfstune', '-M', step.fsUuid, step.device])];
    case 'mount':
      return [short(mount(step))];
    case 'bind':
      return [short(bind(step))];
    case 'remount-read-only':
      return [short(['mount', '--options', 'remount,ro', step.path])];
    case 'unmount':
      return [short(['umount', step.path])];
    case 'grow-file-system':
      return [long(grow(step))];
  }
}

function format(step: FormatLv): Command {
  const { deed, target } = step.permit;
  assert(deed === 'format-lv', `the permit for format-lv is for ${deed}`);
  assert(target === step.lvUuid, `the permit is for ${target}, not ${step.lvUuid}`);
  return long(mkfs(step));
}

/** Forced: what is on the device was looked at by two probes, and mkfs must not ask. */
function mkfs({ device, fsType, fsUuid }: FormatLv): Command['argv'] {
  switch (fsType) {
    case 'ext4':
      return ['mkfs.ext4', '-q', '-F', '-m0', '-U', fsUuid, device];
    case 'xfs':
      return ['mkfs.xfs', '-q', '-f', '-m', `uuid=${fsUuid}`, device];
    case 'btrfs':
      return ['mkfs.btrfs', '--quiet', '--force', '--uuid', fsUuid, device];
  }
}

/** Without `--read-write` mount is content with less, and says so only in a warning. */
function mount(step: Mount): Command['argv'] {
  return [
    ...(['mount', step.isReadOnly ? '--read-only' : '--read-write'] as const),
    ...['--types', step.fsType],
    ...(step.options.length === 0 ? [] : ['--options', step.options.join(',')]),
    step.device,
    step.path,
  ];
}

function bind(step: Bind): Command['argv'] {
  const options = ['bind', ...(step.isReadOnly ? ['ro'] : []), ...step.options];
  return ['mount', '--options', options.join(','), step.source, step.path];
}

function grow({ fsType, device, path }: GrowFileSystem): Command['argv'] {
  switch (fsType) {
    case 'ext4':
      return ['resize2fs', device];
    case 'xfs':
      return ['xfs_growfs', path];
    case 'btrfs':
      return ['btrfs', 'filesystem', 'resize', 'max', path];
  }
}

function short(argv: Command['argv']): Command {
  return { argv, effect: 'changes', timeoutMs: limits.changeTimeoutMs };
}

/** Large volumes on slow disks take their time. */
function long(argv: Command['argv']): Command {
  return { argv, effect: 'changes', timeoutMs: limits.copyTimeoutMs };
}
