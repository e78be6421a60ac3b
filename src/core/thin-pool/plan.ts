import { least, noBytes, roundDown, sum, times } from '../../base/bytes.ts';
import { blocked } from '../../base/failures.ts';
import { showBytes } from '../../base/show.ts';
import { checkLvName } from '../names.ts';
import { findLv, type ObservedHost, type ObservedLv, type ObservedVg } from '../observed.ts';
import { findOwnGroup, usableOwnVg } from '../own-group.ts';
import { type Decision, next, rest } from '../step.ts';
import { ownerTag, readTag, tagOf, thinPoolRole } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { planRemovalOf } from '../volume/plan.ts';
import { type DesiredThinPool, freeForPools, metadataWish, shapeOfPool } from './desired.ts';
import { hostNameForMaking, isLeftOf } from './making.ts';

export function planThinPool(desired: DesiredThinPool, host: ObservedHost): Decision {
  const home = { vg: desired.vg, ...(desired.vgUuid && { vgUuid: desired.vgUuid }) };
  if (desired.presence === 'absent' && findOwnGroup(host, home) === undefined) return rest;
  const vg = usableOwnVg(host, home);
  if (isBlocked(vg)) return vg;
  const isOurGroup = vg.tags.includes(desired.vgOwnerTag);
  if (!isOurGroup && desired.presence === 'present') {
    const message = `${vg.name} does not carry the tag ${desired.vgOwnerTag}: its pools stay as is`;
    return blocked('VolumeGroupForeign', message);
  }
  const pool = findLv(vg, desired.name);
  const left = leftOf(desired.name, vg);
  if (left !== undefined && (pool === undefined || isHalfMade(pool))) {
    return left.isOpen ? refuseOpen(vg, left) : planRemovalOf(vg, left, { recorded: left.uuid });
  }
  if (pool === undefined) return desired.presence === 'absent' ? rest : planCreation(desired, vg);
  if (pool.kind !== 'thin-pool') {
    if (isHalfMade(pool)) return planRemovalOf(vg, pool, {});
    const message = `${vg.name}/${pool.name} is a ${pool.kind} volume, not a thin pool`;
    return blocked('ThinPoolForeign', message);
  }
  if (desired.presence === 'present') return planExisting(desired, vg, pool);
  return left === undefined ? planRemoval(desired, vg, pool) : refuseRemoval(vg, pool, left);
}

/** A pool that was renamed keeps its host name, and so does what was taken out of it. */
function leftOf(pool: string, vg: ObservedVg): ObservedLv | undefined {
  const isRenamed = ({ kind, name, madeFor }: ObservedLv) =>
    kind === 'thin-pool' && madeFor === pool && name !== pool;
  return vg.lvs.some(isRenamed) ? undefined : vg.lvs.find((lv) => isLeftOf(pool, lv));
}

function planCreation(desired: DesiredThinPool, vg: ObservedVg): Decision {
  const refusal = checkLvName(desired.name, desired.vg);
  if (refusal !== undefined) return refusal;
  const shape = shapeOfPool(desired, vg);
  if (shape.sizeBytes < vg.extentSizeBytes) {
    const message =
      `${vg.name} has ${showBytes(freeForPools(vg))} free: too little for the thin pool ` +
      `${desired.name} with ${showBytes(shape.metadataBytes)} of metadata kept twice`;
    return blocked('InsufficientCapacity', message);
  }
  // A group with a system ID is its host's, which may be known by its name.
  const hostName = vg.systemId === '' ? hostNameForMaking(desired.name) : undefined;
  return next({
    kind: 'create-thin-pool',
    vg: vg.name,
    vgUuid: vg.uuid,
    pool: desired.name,
    tags: [ownerTag, tagOf('role', thinPoolRole)],
    ...shape,
    ...(hostName && { hostName }),
  });
}

/**
 * lvcreate first makes the pool's metadata as a plain volume with the pool's name and tags. When it
 * is cut off then, that volume is left: nobody can have used it, and it is made anew.
 */
function isHalfMade(lv: ObservedLv): boolean {
  return lv.kind === 'linear' && readTag(lv.tags, 'role') === thinPoolRole;
}

function planExisting(desired: DesiredThinPool, vg: ObservedVg, pool: ObservedLv): Decision {
  if (pool.isInvalid) {
    return blocked('ThinPoolUnhealthy', `${vg.name}/${pool.name}: ${pool.health}`);
  }
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: pool.name, lvUuid: pool.uuid };
  const metadata = metadataWish(desired, vg, pool);
  if (metadata?.lacking === noBytes) {
    return next({ kind: 'extend-thin-pool-metadata', ...target, metadataBytes: metadata.wanted });
  }
  const sizeBytes = dataGrowth(desired, vg, pool);
  if (sizeBytes !== undefined) return next({ kind: 'extend-thin-pool', ...target, sizeBytes });
  if (!pool.isActive) return next({ kind: 'activate-lv', ...target });
  return rest;
}

/** The pool follows its group when devices were added, and only where the group is all its own. */
function dataGrowth(desired: DesiredThinPool, vg: ObservedVg, pool: ObservedLv) {
  const isShared = vg.lvs.some(
    (lv) => !lv.isInternal && lv.uuid !== pool.uuid && lv.pool !== pool.name,
  );
  if (isShared) return undefined;
  const share = times(vg.sizeBytes, desired.sizePercent) / 100n;
  const isNearEnough = share - pool.sizeBytes <= vg.sizeBytes / 100n;
  if (isNearEnough) return undefined;
  const reachable = least(share, sum(pool.sizeBytes, freeForPools(vg)));
  const sizeBytes = roundDown(reachable, vg.extentSizeBytes);
  return sizeBytes > pool.sizeBytes ? sizeBytes : undefined;
}

/** udev looks at whatever is new: once there is a pool nobody could tell what this was. */
function refuseOpen(vg: ObservedVg, part: ObservedLv): Decision {
  const message =
    `${vg.name}/${part.name} was left by a making of the thin pool ${part.madeFor} that was cut ` +
    'off, and is in use; if it is yours, give it a name of its own with lvrename';
  return blocked('VolumeInUse', message);
}

/** Without the pool it would look like what a half-made one left. */
function refuseRemoval(vg: ObservedVg, pool: ObservedLv, part: ObservedLv): Decision {
  const message =
    `${vg.name}/${part.name} was metadata of ${vg.name}/${pool.name}, and somebody took it out: ` +
    'it would be lost with the pool. Remove it, or give it a name of its own with lvrename';
  return blocked('NotOurs', message);
}

function planRemoval(desired: DesiredThinPool, vg: ObservedVg, pool: ObservedLv): Decision {
  const isOurGroup = vg.tags.includes(desired.vgOwnerTag);
  return planRemovalOf(vg, pool, isOurGroup ? { recorded: pool.uuid } : {});
}
