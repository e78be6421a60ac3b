import type { Machine } from '../machine.ts';
import type { Lv } from '../model.ts';
import type { FakeMount } from '../mount-table.ts';
import { type Outcome, Voice } from '../text.ts';
import { lvAt } from './devices.ts';
import { changeRootMode } from './file-systems.ts';

/** The shapes of mount that our steps use, and what people type: a device, a bind, a remount. */
export function mount(machine: Machine, argv: readonly string[]): Outcome {
  const options = optionOf(argv, '--options').split(',');
  const target = machine.table.resolve(argv.at(-1) ?? '');
  if (options.includes('remount')) return remount(machine, target, options);
  if (!machine.table.paths.has(target)) {
    return new Voice().err(`mount: ${target}: mount point does not exist.`).end(32);
  }
  const source = argv.at(-2) ?? '';
  if (options.includes('bind')) return bind(machine, source, target, options.includes('ro'));
  const isReadOnly = argv.includes('--read-only') || options.includes('ro');
  const device = volumeAt(machine, source);
  if (device === undefined) return refused(target, `special device ${source} does not exist.`);
  return mountFileSystem(machine, device, { argv, options, source, target, isReadOnly });
}

type Wanted = {
  readonly argv: readonly string[];
  readonly options: readonly string[];
  readonly source: string;
  readonly target: string;
  readonly isReadOnly: boolean;
};

function mountFileSystem(machine: Machine, lv: Lv, wanted: Wanted): Outcome {
  const { argv, source, target, isReadOnly } = wanted;
  const fsType = optionOf(argv, '--types');
  const found = lv.content.signatures.find(({ type }) => type === fsType);
  const others = machine.table.mounts.filter((one) => one.node === undefined);
  const same = others.find((one) => one.lv === lv);
  const twin = others.find((one) => {
    const [theirs] = one.lv.content.signatures;
    return one.lv !== lv && theirs?.type === fsType && theirs.uuid === found?.uuid;
  });
  const isClash = twin !== undefined && fsType !== 'ext4' && !wanted.options.includes('nouuid');
  if (found === undefined || found.isUnfinished === true || isClash) {
    return refused(target, `wrong fs type, bad option, bad superblock on ${source}.`);
  }
  if (same !== undefined && same.fileSystem.isReadOnly !== isReadOnly) {
    return refused(target, `${source} already mounted on ${same.mountPoint}.`);
  }
  if (lv.isReadOnly && !isReadOnly) {
    return refused(target, `${source} is write-protected but explicit read-write mode requested.`);
  }
  const fileSystem = same?.fileSystem ?? { isReadOnly };
  const number = `254:${machine.minorOf(lv)}`;
  const common = { mountPoint: target, lv, number, node: undefined, fsType, source };
  machine.table.add({ ...common, isReadOnly, fileSystem });
  return new Voice().end();
}

function bind(machine: Machine, source: string, target: string, isReadOnly: boolean): Outcome {
  const existing = machine.table.at(source);
  if (existing !== undefined) {
    const { id: _id, ...rest } = existing;
    machine.table.add({ ...rest, mountPoint: target, isReadOnly });
    return new Voice().end();
  }
  const lv = volumeAt(machine, source);
  if (lv === undefined) return refused(target, `special device ${source} does not exist.`);
  const minor = machine.minorOf(lv);
  machine.table.add({
    mountPoint: target,
    lv,
    number: `254:${minor}`,
    node: machine.table.nodes.has(source) ? source.replace(/^\/dev/, '') : `/dm-${minor}`,
    fsType: 'devtmpfs',
    source: 'devtmpfs',
    isReadOnly,
    fileSystem: { isReadOnly: false },
  });
  return new Voice().end();
}

function remount(machine: Machine, target: string, options: readonly string[]): Outcome {
  const found = machine.table.at(target);
  if (found === undefined) return refused(target, 'mount point not mounted or bad option.');
  found.isReadOnly = options.includes('ro');
  found.fileSystem.isReadOnly = options.includes('ro');
  return new Voice().end();
}

export function umount(machine: Machine, argv: readonly string[]): Outcome {
  const target = machine.table.resolve(argv.at(-1) ?? '');
  const found = machine.table.at(target);
  if (found === undefined) return unmountForeign(machine, target);
  if (isBusy(machine, found)) return new Voice().err(`umount: ${target}: target is busy.`).end(32);
  machine.table.remove(found);
  return new Voice().end();
}

/** What an administrator mounted before anything of ours came on top of it. */
function unmountForeign(machine: Machine, target: string): Outcome {
  for (const device of machine.present()) {
    if (!device.mountPoints.includes(target)) continue;
    device.mountPoints = device.mountPoints.filter((point) => point !== target);
    return new Voice().end();
  }
  const lvs = machine.vgs.flatMap((vg) => vg.lvs);
  if (lvs.some((lv) => lv.users.delete(target))) return new Voice().end();
  return new Voice().err(`umount: ${target}: not mounted.`).end(32);
}

/** Somebody's working directory is in it. */
function isBusy(machine: Machine, found: FakeMount): boolean {
  return machine.table.busy.has(found.mountPoint);
}

/** What the host's door does with files without a program, run here as if it were one. */
export function changeFile(machine: Machine, argv: readonly string[]): Outcome {
  const [, kind, given = '', mode = ''] = argv;
  const { table } = machine;
  const path = table.resolve(given);
  const found = table.paths.get(path);
  const isMounted = table.at(path) !== undefined;
  switch (kind) {
    case 'make-directory':
    case 'make-file': {
      const wanted = kind === 'make-directory' ? 'directory' : 'file';
      if (found !== undefined && found !== wanted) return new Voice().err('EEXIST').end(1);
      table.paths.set(path, wanted);
      return new Voice().end();
    }
    case 'change-mode': {
      const lv = table.at(path)?.lv;
      if (lv === undefined) return new Voice().err('ENOENT').end(1);
      return changeRootMode(machine, lv, Number(mode));
    }
    default:
      if (isMounted) return new Voice().err('EBUSY').end(1);
      if (table.full.has(path)) return new Voice().err('ENOTEMPTY').end(1);
      table.paths.delete(path);
      table.nodes.delete(path);
      return new Voice().end();
  }
}

/** A volume by any path that leads to its device. */
export function volumeAt(machine: Machine, path: string): Lv | undefined {
  const minor = /^\/dev\/dm-(\d+)$/.exec(path)?.[1];
  const number = machine.table.nodes.get(path) ?? (minor === undefined ? '' : `254:${minor}`);
  return number === '' ? lvAt(machine, path) : machine.volumeOf(number);
}

function refused(target: string, why: string): Outcome {
  return new Voice().err(`mount: ${target}: ${why}`).end(32);
}

function optionOf(argv: readonly string[], option: string): string {
  const at = argv.indexOf(option);
  return at < 0 ? '' : (argv[at + 1] ?? '');
}
