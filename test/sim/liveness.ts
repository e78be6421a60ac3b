import { type Bytes, bytes } from '../../src/base/bytes.ts';
import type { DesiredNode } from '../../src/core/node.ts';
import { reserveFor } from '../../src/core/snapshot/desired.ts';
import type { Step } from '../../src/core/step.ts';
import { copySourceRole, pendingTag, readTag } from '../../src/core/tags.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';
import { desiredVolume } from '../../src/core/volume/desired.ts';
import { commandsOf } from '../../src/lvm/argv.ts';
import { cowUsefulExtents } from '../world/commands/cow.ts';
import { isSame } from '../world/content.ts';
import { cowSnapshotsOf, freeExtents, type Lv, sizeBytes, thinVolumesOf } from '../world/model.ts';
import type { FakeWorld } from '../world/world.ts';
import type { Rules } from './rules.ts';
import type { Store, Volume } from './store.ts';

/**
 * Once faults stop, every volume is ready, or blocked for a reason that is proven here: not by
 * asking our own code again, but by looking at the disks or by trying what was refused.
 */
export function checkEnd(parts: {
  readonly world: FakeWorld;
  readonly store: Store;
  readonly node: DesiredNode;
  readonly rules: Rules;
}): void {
  const { world, store, rules } = parts;
  rules.check();
  for (const vg of world.machine.vgs) {
    for (const lv of vg.lvs) {
      if (world.machine.leftParts.has(lv.uuid)) rules.say(`${lv.name}, a part, was left behind`);
      if (lv.isSuspended) rules.say(`${vg.name}/${lv.name} is still suspended`);
      const helper = readTag(lv.tags, 'role') === copySourceRole;
      const owner = lv.name.replace(/\.copy$/, '');
      const isBusy = store.volumes.get(owner)?.blocked !== undefined;
      if (helper && !isBusy) rules.say(`the helper ${lv.name} was left behind`);
      const isKnown = store.volumes.has(lv.name) || helper || lv.type === 'thin-pool';
      if (!isKnown && lv.tags.includes('quarry')) rules.say(`${lv.name} was leaked`);
    }
  }
  for (const volume of store.volumes.values()) checkVolume(volume, parts);
}

type Parts = Parameters<typeof checkEnd>[0];

function checkVolume(volume: Volume, parts: Parts): void {
  const { world, rules } = parts;
  const lv = world.lv(volume.vg, volume.name);
  if (volume.blocked !== undefined) {
    const objection = unproven(volume, volume.blocked.code, lv, parts);
    if (objection !== undefined) {
      rules.say(`${volume.name} is blocked (${volume.blocked.message}) but ${objection}`);
    }
    return;
  }
  if (volume.failure !== undefined && volume.settled !== volume.generation) {
    rules.say(`${volume.name} does not come about: ${volume.failure}`);
    return;
  }
  if (lv === undefined) {
    rules.say(`${volume.name} should be there and is not`);
    return;
  }
  const held = volume.history.at(-1);
  if (held !== undefined && !isBroken(lv) && !isSame(held, lv.content, sizeBytes(lv))) {
    rules.say(`${volume.name} does not hold what was written to it`);
  }
}

function isBroken(lv: Lv): boolean {
  return lv.body.kind === 'cow' && lv.body.isInvalid;
}

/** Why a block was not necessary; undefined when it was. */
export function unproven(
  volume: Volume,
  code: string,
  lv: Lv | undefined,
  parts: Parts,
): string | undefined {
  const { world, store } = parts;
  const source = volume.source === undefined ? undefined : world.lv(volume.vg, volume.source);
  switch (code) {
    case 'VolumeLost':
      return volume.isLost ? undefined : 'nobody took it';
    case 'VolumeDiffers':
      return volume.isLost || store.everything.get(volume.source ?? '')?.isLost
        ? undefined
        : 'nobody took its name';
    case 'SourceNotFound':
      return source === undefined || store.everything.get(volume.source ?? '')?.isLost
        ? undefined
        : 'its source is there';
    case 'SnapshotsUnsupported':
      return source?.type === 'cow-snapshot' ? undefined : 'its source can have snapshots';
    case 'SourceElsewhere':
    case 'SourceLarger':
      return undefined;
    case 'CopyUnfinished':
      return source?.tags.includes('quarry.copying') ? undefined : 'its source is complete';
    case 'VolumeInUse':
      return isRead(volume, parts) ? undefined : 'nobody uses it';
    case 'GrowUnsupported':
    case 'VolumeHasSnapshots':
      return lv !== undefined && cowSnapshotsOf(lv).length > 0 ? undefined : 'it has no snapshot';
    case 'SnapshotOverflowed':
      return [lv, source].some((one) => one !== undefined && isBroken(one))
        ? undefined
        : 'no snapshot overflowed';
    case 'NotOurs':
      return volume.isLost ? undefined : 'it is ours';
    case 'ThinPoolFull':
    case 'ThinPoolUnhealthy':
      return undefined;
    case 'LayoutNeedsDevices':
    case 'InsufficientCapacity':
    case 'InsufficientCapacityToExpand':
    case 'InsufficientCapacityForSnapshot':
      return tryAnyway(volume, lv, source, parts);
    default:
      return `${code} is no reason once everything is well`;
  }
}

/** A copy that is not complete still needs its source. */
function isRead(volume: Volume, { world }: Parts): boolean {
  const lvs = world.vg(volume.vg)?.lvs ?? [];
  return lvs.some(
    ({ tags }) => tags.includes('quarry.copying') && readTag(tags, 'source') === volume.name,
  );
}

/** The strongest proof that there is no room: doing it fails, or breaks a promise. */
function tryAnyway(
  volume: Volume,
  lv: Lv | undefined,
  source: Lv | undefined,
  parts: Parts,
): string | undefined {
  const { world, node } = parts;
  const vg = world.vg(volume.vg);
  const entry = node.deviceClasses.find((one) => one.name === volume.className);
  if (vg === undefined || entry === undefined) return 'there is no such group or class';
  const needsBytes = volume.sizeMiB * 1024 ** 2;
  if (entry.layout.kind === 'thin') {
    const poolName = entry.layout.pool;
    const pool = vg.lvs.find((one) => one.name === poolName);
    if (pool === undefined) return 'the pool is missing';
    const promised = thinVolumesOf(pool).reduce((total, one) => total + sizeBytes(one), 0);
    const isSnapshot = volume.kind === 'snapshot' && source !== undefined;
    const whole = isSnapshot ? sizeBytes(source) : needsBytes;
    const more = whole - (lv === undefined ? 0 : sizeBytes(lv));
    const left = sizeBytes(pool) * entry.overprovisionRatio - promised;
    const rounded = Math.ceil(more / vg.extentBytes) * vg.extentBytes;
    return rounded > left ? undefined : `the pool may promise ${left} bytes`;
  }
  const argv = attempt(volume, lv, source, parts);
  if (argv === undefined) return 'nothing could be tried';
  try {
    world.admin.run(...argv);
  } catch {
    return undefined;
  }
  const free = freeExtents(vg) * vg.extentBytes;
  const made = vg.lvs.find((one) => one.name === (lv === undefined ? volume.name : 'try'));
  if (made !== undefined) world.admin.run('lvm', 'lvremove', '--yes', `${vg.name}/${made.name}`);
  const kept = Number(entry.spareBytes) + helperBytes(volume, lv, source);
  return free < kept ? undefined : `it worked when tried: ${argv.join(' ')}`;
}

/** A copy also needs a snapshot to read from, and is not begun without the room for it. */
function helperBytes(volume: Volume, lv: Lv | undefined, source: Lv | undefined): number {
  const isNew = volume.kind === 'clone' && lv === undefined;
  if (!isNew || source === undefined || source.body.kind === 'cow') return 0;
  const extent = source.vg.extentBytes;
  return Math.ceil(Number(reserveFor(bytes(sizeBytes(source)))) / extent) * extent;
}

function attempt(
  volume: Volume,
  lv: Lv | undefined,
  source: Lv | undefined,
  { node, world }: Parts,
): readonly string[] | undefined {
  const vg = world.vg(volume.vg);
  if (vg === undefined) return undefined;
  const sizeBytesWanted = bytes(BigInt(volume.sizeMiB) * 1024n * 1024n);
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: volume.name };
  if (lv !== undefined && volume.kind !== 'snapshot' && sizeBytes(lv) < Number(sizeBytesWanted)) {
    return spell({ kind: 'extend-lv', ...target, lvUuid: lv.uuid, sizeBytes: sizeBytesWanted });
  }
  if (source !== undefined && (volume.kind === 'snapshot' || lv !== undefined)) {
    const reserveBytes = reserveOf(volume, source);
    const origin = { origin: source.name, originUuid: source.uuid };
    return spell({
      kind: 'create-cow-snapshot',
      ...target,
      lv: 'try',
      ...origin,
      reserveBytes,
      tags: [],
    });
  }
  const request = { name: volume.name, className: volume.className, sizeBytes: sizeBytesWanted };
  const wanted = desiredVolume(request, node.deviceClasses);
  if (isBlocked(wanted)) return undefined;
  const { layout } = wanted.deviceClass;
  return spell({
    kind: 'create-lv',
    ...target,
    layout,
    sizeBytes: wanted.sizeBytes,
    tags: [],
    options: [],
  });
}

/** What nobody used yet is overwritten once, and its snapshot must outlast that. */
function reserveOf(volume: Volume, source: Lv): Bytes {
  const isWhole = volume.kind === 'snapshot' && source.tags.includes(pendingTag);
  if (!isWhole) return reserveFor(bytes(sizeBytes(source)));
  return bytes(cowUsefulExtents(source, source.vg) * source.vg.extentBytes);
}

function spell(step: Step): readonly string[] {
  return commandsOf(step)[0]?.argv ?? [];
}
