import { copyingTag } from '../../../src/core/tags.ts';
import { copyOver, nothing, type Signature } from '../content.ts';
import { signatureOf } from '../devices.ts';
import type { Mishap } from '../faults.ts';
import type { Machine } from '../machine.ts';
import { type Lv, virtualBytes } from '../model.ts';
import { type Outcome, Voice } from '../text.ts';
import { writeLv } from '../writes.ts';
import { lvAt } from './devices.ts';

const mib = 1024 ** 2;
const bytesMin: Readonly<Record<string, number>> = { xfs: 300 * mib, btrfs: 110 * mib };

/** `mkfs.ext4`, `mkfs.xfs` and `mkfs.btrfs` on a volume, with the UUID they are given. */
export function mkfs(machine: Machine, argv: readonly string[], mishap?: Mishap): Outcome {
  const voice = new Voice();
  const type = (argv[0] ?? '').replace('mkfs.', '');
  const path = argv.at(-1) ?? '';
  const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(argv.join(' '))?.[0] ?? '';
  const lv = lvAt(machine, path);
  if (lv === undefined) return voice.err(`mkfs: ${path}: No such file or directory`).end(1);
  if (lv.users.size > 0) return voice.err(`${path} is mounted`).end(1);
  if (virtualBytes(lv) < (bytesMin[type] ?? 0)) {
    return voice.err('Filesystem must be larger than 300MB.').end(1);
  }
  machine.recordLv('mkfs', lv);
  // It clears the magic first, and stumbles then over a UUID it has seen before.
  const isTwice = type === 'btrfs' && lv.content.signatures.some((one) => one.uuid === uuid);
  const isCutOff = mishap === 'half-formatted';
  const made: Signature = {
    ...signatureOf(type, machine.chance),
    uuid,
    fsBytes: activeBytes(lv),
    rootMode: 0o755,
  };
  const left = type === 'xfs' ? [{ ...made, isUnfinished: true }] : [];
  const signatures = isTwice ? [] : isCutOff ? left : [made];
  const problem = writeStart(machine, lv, (content) => ({ ...content, signatures }));
  if (problem !== undefined) return voice.err(`mkfs: ${path}: ${problem}`).end(1);
  if (isTwice) return voice.err(`ERROR: cannot open device '${path}': busy`).end(1);
  return isCutOff ? voice.end(1) : voice.end();
}

/** `wipefs --all` on a volume. */
export function wipeVolume(machine: Machine, lv: Lv, path: string): Outcome {
  if (lv.users.size > 0) {
    return new Voice()
      .err(`wipefs: error: ${path}: probing initialization failed: Device or resource busy`)
      .end(1);
  }
  if (lv.content.signatures.length > 0) machine.recordLv('wipefs', lv);
  lv.content = { ...lv.content, signatures: [] };
  return new Voice().end();
}

/** Only the UUID changes, and only in the superblock. */
export function btrfstune(machine: Machine, argv: readonly string[]): Outcome {
  const [, , uuid = '', path = ''] = argv;
  const lv = lvAt(machine, path);
  const found = lv?.content.signatures.find(({ type }) => type === 'btrfs');
  if (lv === undefined || found === undefined) {
    return new Voice().err(`No valid Btrfs found on ${path}`).end(1);
  }
  if (lv.users.size > 0) return new Voice().err(`ERROR: ${path} is mounted`).end(1);
  return replaceSignature(machine, lv, { ...found, uuid });
}

/** resize2fs, xfs_growfs and btrfs: up to the end of the device as the kernel has it. */
export function grow(machine: Machine, argv: readonly string[]): Outcome {
  const word = argv.at(-1) ?? '';
  const mount = machine.table.at(word);
  const lv = mount?.lv ?? lvAt(machine, word);
  const mounted = machine.table.mounts.filter((one) => one.lv === lv && one.node === undefined);
  const [found] = lv?.content.signatures ?? [];
  if (lv === undefined || found === undefined || mounted.length === 0) {
    return new Voice().err(`${argv[0]}: ${word} is not mounted`).end(1);
  }
  if (mounted.every((one) => one.fileSystem.isReadOnly)) {
    return new Voice().err(`${argv[0]}: Read-only file system`).end(1);
  }
  return replaceSignature(machine, lv, { ...found, fsBytes: activeBytes(lv) });
}

/** The one shape of blkdiscard our steps use. */
export function zeroOut(machine: Machine, argv: readonly string[]): Outcome {
  const path = argv.at(-1) ?? '';
  const start = Number(argv[argv.indexOf('--offset') + 1]);
  const length = Number(argv[argv.indexOf('--length') + 1]);
  const lv = lvAt(machine, path);
  if (lv === undefined) {
    return new Voice().err(`blkdiscard: cannot open ${path}: No such file or directory`).end(1);
  }
  if (lv.users.size > 0) {
    return new Voice().err(`blkdiscard: cannot open ${path}: Device or resource busy`).end(1);
  }
  const problem = zeroRange(machine, lv, { start, length });
  if (problem === undefined) return new Voice().end();
  return new Voice().err(`blkdiscard: ${path}: ${problem}`).end(1);
}

export function zeroRange(
  machine: Machine,
  lv: Lv,
  range: { readonly start: number; readonly length: number },
): string | undefined {
  // A copy that is not complete is nobody's yet, as with dd.
  machine.recordLv(lv.tags.includes(copyingTag) ? 'overwrite' : 'zeroout', lv);
  return writeLv(machine, lv, range, (content) => copyOver(content, nothing, range));
}

/** `sync` with a volume. */
export function sync(machine: Machine, [, path = '']: readonly string[]): Outcome {
  if (lvAt(machine, path) !== undefined) return new Voice().end();
  return new Voice().err(`sync: error opening '${path}': No such file or directory`).end(1);
}

/** The permissions of the root directory are part of what is on the volume. */
export function changeRootMode(machine: Machine, lv: Lv, mode: number): Outcome {
  const [found] = lv.content.signatures;
  if (found === undefined) return new Voice().err('EIO').end(1);
  return replaceSignature(machine, lv, { ...found, rootMode: mode });
}

function replaceSignature(machine: Machine, lv: Lv, signature: Signature): Outcome {
  const problem = writeStart(machine, lv, (content) => ({
    ...content,
    signatures: content.signatures.map((one) => (one.type === signature.type ? signature : one)),
  }));
  return problem === undefined ? new Voice().end() : new Voice().err(problem).end(1);
}

function writeStart(
  machine: Machine,
  lv: Lv,
  change: Parameters<typeof writeLv>[3],
): string | undefined {
  const stamp = machine.nextStamp();
  const length = Math.min(mib, activeBytes(lv));
  return writeLv(machine, lv, { start: 0, length }, (content) => {
    const rest = copyOver(content, nothing, { start: 0, length });
    const written = { writes: [{ start: 0, end: length, stamp }, ...rest.writes] };
    return change({ ...written, signatures: content.signatures });
  });
}

function activeBytes(lv: Lv): number {
  return lv.body.kind === 'cow' ? virtualBytes(lv) : lv.activeExtents * lv.vg.extentBytes;
}
