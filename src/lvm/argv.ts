import { dmName } from '../api/lv-name.ts';
import { assert } from '../base/assert.ts';
import { type Bytes, noBytes } from '../base/bytes.ts';
import { limits } from '../base/limits.ts';
import type { Layout } from '../core/layouts.ts';
import { isForeseen } from '../core/predict.ts';
import {
  type ChangeTags,
  type CopyRange,
  type CreateLv,
  type CreateThinPool,
  isPlainRetag,
  type Step,
  sameRetag,
  type ZeroRange,
} from '../core/step.ts';
import type { Command } from './command.ts';

/**
 * The spelling of every step: long options, explicit units, no shell. Where lvm can select by
 * UUID it does, so that a name which changed hands between our look and lvm's lock matches
 * nothing. `--yes` stands only where the thing acted on is provably ours or brand new.
 */
export function commandsOf(step: Step): readonly Command[] {
  assertRunnable(step);
  if (step.kind === 'copy-range') return [copy(step), change(lvmArgvOf(step))];
  if (step.kind === 'zero-range') return [...zeroes(step), change(lvmArgvOf(step))];
  if (step.kind === 'wipe-device') return [change(['wipefs', '--all', step.device])];
  if (step.kind === 'create-thin-pool') {
    return [{ ...change(lvmArgvOf(step)), ...(step.hostName && { hostName: step.hostName }) }];
  }
  const timeoutMs = step.kind === 'evacuate-pv' ? limits.copyTimeoutMs : limits.changeTimeoutMs;
  return [change(lvmArgvOf(step), timeoutMs)];
}

/** The same change of tags for volumes of one group. Names may have been swapped meanwhile. */
export function commandOfAll(steps: readonly [ChangeTags, ...ChangeTags[]]): Command {
  for (const step of steps) {
    assertRunnable(step);
    assert(isPlainRetag(step) && sameRetag(step, steps[0]), 'one command does one thing');
  }
  const aims = steps.map(({ lv, lvUuid }) => `lv_uuid=${lvUuid} && lv_name="${lv}"`);
  const selection = steps.length === 1 ? `lv_uuid=${steps[0].lvUuid}` : aims.join(' || ');
  const words = ['--select', selection, ...steps.map(lvOf)];
  return change(['lvm', 'lvchange', ...retag(steps[0]), ...words]);
}

type LvmStep = Exclude<Step, { kind: 'wipe-device' }>;

function lvmArgvOf(step: LvmStep): Command['argv'] {
  switch (step.kind) {
    case 'create-vg':
      return [
        'lvm',
        'vgcreate',
        ...newPvOptions(step),
        ...tagged(step.tags),
        step.vg,
        ...step.devices,
      ];
    case 'extend-vg':
      return ['lvm', 'vgextend', ...newPvOptions(step), step.vg, ...step.devices];
    case 'evacuate-pv':
      return ['lvm', 'pvmove', '--interval', '1', step.device];
    case 'reduce-vg':
      return ['lvm', 'vgreduce', step.vg, step.device];
    case 'drop-missing':
      return ['lvm', 'vgreduce', '--removemissing', step.vg];
    case 'remove-pv':
      return ['lvm', 'pvremove', ...(step.isUnlisted ? withoutList : []), step.device];
    case 'remove-vg':
      return ['lvm', 'vgremove', '--select', `vg_uuid=${step.vgUuid} && lv_count=0`, step.vg];
    case 'create-thin-pool':
      return createThinPool(step);
    case 'extend-thin-pool-metadata':
      return ['lvm', 'lvextend', '--poolmetadatasize', b(step.metadataBytes), lvOf(step)];
    case 'extend-lv':
    case 'extend-thin-pool':
      return ['lvm', 'lvextend', '--size', b(step.sizeBytes), lvOf(step)];
    case 'create-lv':
      return createLv(step);
    case 'create-thin-snapshot':
      return [
        ...snapshot(step),
        ...['--setactivationskip', 'n', '--permission', step.isReadOnly ? 'r' : 'rw'],
        `${step.vg}/${step.origin}`,
      ];
    case 'create-cow-snapshot':
      return [
        ...snapshot(step),
        ...['--size', b(step.reserveBytes), '--permission', 'r'],
        `${step.vg}/${step.origin}`,
      ];
    case 'activate-lv':
      // A CoW snapshot is activated together with its origin, and lvm asks first.
      return [
        ...(['lvm', 'lvchange', '--yes', '--activate', 'y', '--ignoreactivationskip'] as const),
        ...(step.mendsPool === true ? ['--config', mendLeaks] : []),
        ...onlyLv(step),
      ];
    case 'change-tags':
      return [
        ...(['lvm', 'lvchange', ...retag(step)] as const),
        ...(step.isReadOnly === true ? ['--permission', 'r'] : []),
        ...onlyLv(step, whileSize(step)),
      ];
    case 'copy-range':
      return ['lvm', 'lvchange', ...retag(step), ...onlyLv(step)];
    case 'zero-range':
      return [
        'lvm',
        'lvchange',
        ...retag(step),
        ...onlyLv(step, whileSize(step) + whileNoted(step)),
      ];
    case 'remove-lv':
      return removeLv(step);
  }
}

/** `--auto-repair` mends leaked blocks and nothing else; other damage still stops the pool. */
const mendLeaks = 'global { thin_check_options=["-q","--auto-repair"] }';

function createLv(step: CreateLv): Command['argv'] {
  const { layout } = step;
  const size =
    layout.kind === 'thin'
      ? // Unmapped blocks read as zeroes: there is nothing to wipe, and a read would cost.
        ['--wipesignatures', 'n', '--virtualsize', b(step.sizeBytes), '--thinpool', layout.pool]
      : ['--wipesignatures', 'y', '--zero', 'y', '--size', b(step.sizeBytes)];
  return [
    ...(['lvm', 'lvcreate', '--yes', '--type', layout.kind] as const),
    ...shape(layout),
    ...size,
    ...['--name', step.lv],
    ...tagged(step.tags),
    ...step.options,
    step.vg,
  ];
}

function shape(layout: Layout): readonly string[] {
  const options: string[] = [];
  if ('stripes' in layout) options.push('--stripes', String(layout.stripes));
  if ('mirrors' in layout) options.push('--mirrors', String(layout.mirrors));
  if ('stripeSizeBytes' in layout && layout.stripeSizeBytes !== undefined) {
    options.push('--stripesize', `${layout.stripeSizeBytes}b`);
  }
  return options;
}

function createThinPool(step: CreateThinPool): Command['argv'] {
  return [
    ...(['lvm', 'lvcreate', '--yes', '--type', 'thin-pool'] as const),
    ...['--zero', 'y', '--size', b(step.sizeBytes)],
    ...['--chunksize', b(step.chunkSizeBytes), '--poolmetadatasize', b(step.metadataBytes)],
    ...['--poolmetadataspare', 'y', '--name', step.pool],
    ...tagged(step.tags),
    // Whoever activates it starts the daemon that watches it, which would keep the host name.
    ...(step.hostName === undefined ? [] : ['--activate', 'n', '--config', keepDevicesFile]),
    step.vg,
  ];
}

/** Filters of an administrator hold all the same. */
const withoutList = ['--config', 'devices/use_devicesfile=0'] as const;

/** lvm2 from 2.03.23 on takes another host name for another host, and writes its file of devices. */
const keepDevicesFile = 'config { checks=0 } devices { device_ids_refresh=0 }';

function snapshot(step: { readonly lv: string; readonly tags: readonly string[] }) {
  return [
    ...(['lvm', 'lvcreate', '--yes', '--snapshot', '--name', step.lv] as const),
    ...tagged(step.tags),
  ] as const;
}

/**
 * lvremove takes CoW snapshots along with their origin, one that waits to be merged into it (`O`)
 * too, which no report of ours shows. The selection is read under lvm's own lock, so a snapshot
 * made after our look protects its origin even then.
 */
function removeLv(step: Extract<Step, { kind: 'remove-lv' }>): Command['argv'] {
  const none = step.dependents === 'thin-volumes' ? 'thin_count=0' : 'lv_attr!~^[oO]';
  const mark = step.bears === undefined ? '' : ` && lv_tags="${step.bears}"`;
  const guard = `lv_uuid=${step.lvUuid} && ${none}${mark}`;
  const discards = step.discards === true ? ['--config', 'devices/issue_discards=1'] : [];
  return ['lvm', 'lvremove', ...discards, '--yes', '--select', guard, lvOf(step)];
}

function copy(step: CopyRange): Command {
  const { vg, from, lv, offsetBytes, lengthBytes } = step;
  const argv: Command['argv'] = [
    'dd',
    `if=/dev/mapper/${dmName(vg, from)}`,
    `of=/dev/mapper/${dmName(vg, lv)}`,
    'bs=4M',
    'iflag=direct,fullblock,skip_bytes,count_bytes',
    'oflag=direct,seek_bytes',
    `skip=${offsetBytes}`,
    `seek=${offsetBytes}`,
    `count=${lengthBytes}`,
    // Without nocreat a missing device node would become a file in memory, and "succeed".
    'conv=nocreat,notrunc,fsync',
    'status=none',
  ];
  return change(argv, limits.copyTimeoutMs);
}

/**
 * blkdiscard opens the device for itself alone: what is mounted or held is not overwritten. It
 * leaves the caches of disks full, and the mark may go only once the zeroes are there for good.
 */
function zeroes(step: ZeroRange): readonly Command[] {
  if (step.isShown === true) return [overwrite(step)];
  const { vg, lv, offsetBytes, lengthBytes } = step;
  const device = `/dev/mapper/${dmName(vg, lv)}`;
  const argv: Command['argv'] = [
    ...(['blkdiscard', '--zeroout'] as const),
    ...['--offset', String(offsetBytes), '--length', String(lengthBytes)],
    device,
  ];
  const { copyTimeoutMs } = limits;
  return [change(argv, copyTimeoutMs), change(['sync', device], copyTimeoutMs)];
}

/** The new end of a volume that somebody may hold: dd asks for nothing that force would need. */
function overwrite({ vg, lv, offsetBytes, lengthBytes }: ZeroRange): Command {
  const argv: Command['argv'] = [
    ...(['dd', 'if=/dev/zero', `of=/dev/mapper/${dmName(vg, lv)}`, 'bs=4M'] as const),
    ...['iflag=fullblock,count_bytes', 'oflag=direct,seek_bytes'],
    ...[`seek=${offsetBytes}`, `count=${lengthBytes}`],
    ...['conv=nocreat,notrunc,fsync', 'status=none'],
  ];
  return change(argv, limits.copyTimeoutMs);
}

function whileSize({ whileSizeBytes }: ChangeTags | ZeroRange): string {
  return whileSizeBytes === undefined ? '' : ` && lv_size=${b(whileSizeBytes)}`;
}

/** A note that comes late must not bring back a mark that is gone by now. */
function whileNoted(step: ZeroRange): string {
  if (step.isShown !== true) return '';
  return step.remove.map((tag) => ` && lv_tags="${tag}"`).join('');
}

/** A second metadata copy on every device is lvm's default; the size is not. */
function newPvOptions(step: { readonly metadataBytes: Bytes }): readonly string[] {
  return ['--metadatasize', b(step.metadataBytes)];
}

function tagged(tags: readonly string[]): readonly string[] {
  return tags.flatMap((tag) => ['--addtag', tag]);
}

function retag(step: { readonly add: readonly string[]; readonly remove: readonly string[] }) {
  return [
    ...step.remove.flatMap((tag) => ['--deltag', tag]),
    ...step.add.flatMap((tag) => ['--addtag', tag]),
  ];
}

type OnLv = { readonly vg: string; readonly lv: string; readonly lvUuid: string };

function onlyLv(step: OnLv, condition = ''): readonly string[] {
  return ['--select', `lv_uuid=${step.lvUuid}${condition}`, lvOf(step)];
}

function lvOf(step: { readonly vg: string; readonly lv: string }): string {
  return `${step.vg}/${step.lv}`;
}

function b(size: Bytes): string {
  return `${size}b`;
}

function change(argv: Command['argv'], timeoutMs: number = limits.changeTimeoutMs): Command {
  return { argv, effect: 'changes', timeoutMs };
}

function assertRunnable(step: Step): void {
  if ('vgUuid' in step) assert(!isForeseen(step.vgUuid), `${step.kind} on a foreseen group`);
  if ('lvUuid' in step) assert(!isForeseen(step.lvUuid), `${step.kind} on a foreseen volume`);
  if ('originUuid' in step) assert(!isForeseen(step.originUuid), `${step.kind} of one foreseen`);
  const target = permittedTarget(step);
  if (target === undefined) return;
  assert('permit' in step, `${step.kind} without a permit`);
  const { deed, target: given } = step.permit;
  assert(deed === step.kind, `the permit for ${step.kind} is for ${deed}`);
  assert(given === target, `the permit is for ${given}, not ${target}`);
  if (step.kind !== 'zero-range') return;
  const { fromBytes = noBytes } = step.permit;
  assert(step.offsetBytes >= fromBytes, `the permit is for what lies behind ${fromBytes}`);
}

/** The identity that a destroying step needs a permit for. */
function permittedTarget(step: Step): string | undefined {
  switch (step.kind) {
    case 'wipe-device':
      return step.device;
    case 'remove-lv':
    case 'zero-range':
      return step.lvUuid;
    case 'remove-vg':
    case 'drop-missing':
      return step.vgUuid;
    case 'reduce-vg':
    case 'remove-pv':
      return step.pvUuid;
    default:
      return undefined;
  }
}
