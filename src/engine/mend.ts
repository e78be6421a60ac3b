import { dmName } from '../api/lv-name.ts';
import type { FailureCode } from '../base/failures.ts';
import { show } from '../base/show.ts';
import type { ObservedLv, ObservedVg } from '../core/observed.ts';
import type { ActivateLv, OnLv, Step } from '../core/step.ts';
import type { Command } from '../lvm/command.ts';
import { lookThinPoolHealth, parseThinPoolHealth } from '../lvm/dm-status.ts';
import { parseReadOnly } from '../lvm/dmsetup.ts';
import { dropDevice, lookAccess, reloadVolume } from '../lvm/looks.ts';
import {
  isThatSnapshot,
  lookMetadataText,
  lookThinDevices,
  parseQueuedMessages,
  parseThinDevices,
  parseTransaction,
  setTransaction,
} from '../lvm/thin-messages.ts';
import { asOperationError, execute, mappedDevices, read, runCommand } from './execute.ts';
import { sendQueuedMessages } from './messages.ts';
import type { HostModel } from './model.ts';
import type { Host, Trace } from './ports.ts';

type Doors = { readonly host: Host; readonly model: HostModel; readonly trace: Trace };

/** A failed step, and what may take out of its way what stopped it. No data is concerned. */
export type Mendable =
  | { readonly how: 'send-queued-messages'; readonly step: ActivateLv }
  | { readonly how: 'drop-stray-parts'; readonly step: Step }
  | { readonly how: 'reload-volume'; readonly step: OnLv }
  | { readonly how: 'mend-pool'; readonly step: Step }
  | { readonly how: 'finish-snapshot'; readonly step: Step };

export function mendable(step: Step, code: FailureCode): Mendable | undefined {
  if (code === 'ThinPoolUnhealthy') return { how: 'mend-pool', step };
  if (code === 'ThinSnapshotHalfMade') return { how: 'finish-snapshot', step };
  if (code === 'VolumePartsActive') return { how: 'drop-stray-parts', step };
  // What takes too long may hang on a disk, and a volume with such I/O cannot be suspended.
  const isSlow = code === 'CommandTimedOut';
  if (step.kind === 'zero-range' && step.isShown && !isSlow) return { how: 'reload-volume', step };
  if (step.kind !== 'activate-lv') return undefined;
  if (code === 'ThinVolumeUnknown') return { how: 'send-queued-messages', step };
  // lvm2 2.03.16 (Debian 12) only says "Invalid argument" of a pool that it did not come to resume.
  return code === 'CommandFailed' ? { how: 'drop-stray-parts', step } : undefined;
}

export async function mend(doors: Doors, trouble: Mendable): Promise<void> {
  switch (trouble.how) {
    case 'send-queued-messages':
      return await sendQueuedMessages(doors, trouble.step);
    case 'drop-stray-parts':
      return await dropStrayParts(doors, trouble.step);
    case 'reload-volume':
      return await reload(doors, trouble.step);
    case 'mend-pool':
      return await mendPool(doors, trouble.step);
    case 'finish-snapshot':
      return await finishSnapshot(doors, trouble.step);
  }
}

/**
 * An lvm that was killed while it activated a RAID or a thin pool leaves parts of it active without
 * the whole, and then refuses to activate it for ever, and any volume of the pool with it. The
 * kernel is told to forget these parts.
 */
async function dropStrayParts(doors: Doors, step: Step): Promise<void> {
  if (!('vgUuid' in step)) return;
  const { host, trace } = doors;
  const { vg, vgUuid } = step;
  const pool = (await poolOf(doors, step))?.pool.name;
  const names = (await mappedDevices(host, vgUuid)).map(({ name }) => name);
  const pools = parseThinPoolHealth((await read(host, lookThinPoolHealth)).stdout);
  const live = pools.map(({ name }) => name);
  const readOnly = parseReadOnly((await read(host, lookAccess)).stdout);
  for (const lv of new Set(['lvUuid' in step ? step.lv : undefined, pool])) {
    if (lv === undefined) continue;
    const parts = strayParts(dmName(vg, lv), names, live);
    // A part that can be read only was activated by hand, and somebody works on it.
    if (parts.some((name) => readOnly.has(name))) continue;
    for (const name of parts) {
      // If somebody has it open, whoever needs the volume is told so by his own step.
      const drop = runCommand(host, dropDevice(name), step, { noun: 'rescue', volume: lv }, trace);
      await drop.catch(asOperationError);
    }
  }
}

/**
 * What the kernel has of a volume that it does not have; what stands on others comes first. A pool
 * that was loaded and never resumed does nothing yet.
 */
function strayParts(whole: string, names: readonly string[], live: readonly string[]) {
  if (names.includes(whole) || live.includes(`${whole}-tpool`)) return [];
  const parts = names.filter((name) => name.startsWith(whole) && isPart(name.slice(whole.length)));
  const height = (name: string) => (name.endsWith('-tpool') ? 0 : name.length);
  return parts.toSorted((one, other) => height(one) - height(other));
}

function isPart(suffix: string): boolean {
  return /^(-tpool|(_t(meta|data))?(_r(meta|image)_\d+)?)$/.test(suffix);
}

/**
 * An lvextend that was cut off may have written its books, and not have told the kernel: then there
 * is no end to overwrite, and lvm calls the volume neither active nor inactive. The kernel is told.
 */
async function reload({ host, trace }: Doors, step: OnLv): Promise<void> {
  const { vg, lv, lvUuid } = step;
  const subject = { noun: 'rescue', volume: lv };
  await runCommand(host, reloadVolume(vg, lv, lvUuid), { kind: 'extend-lv' }, subject, trace);
}

/**
 * When the power goes while blocks are discarded, dm-thin's books may have blocks that no volume
 * has: it takes them out of the volume, keeps them from being used until the disk has discarded
 * them, and then lets them go. No data is concerned, but thin_check objects, and lvm leaves the
 * pool and all its volumes inactive until somebody repairs it by hand. This is that hand: lvm
 * checks once more, and may strike out such blocks. Only the pool that the failed step needs is
 * touched: another one may be inactive because somebody works on it.
 */
async function mendPool(doors: Doors, failed: Step): Promise<void> {
  const found = await poolOf(doors, failed);
  if (found === undefined || found.pool.isActive) return;
  const { vg, pool } = found;
  const step: ActivateLv = {
    kind: 'activate-lv',
    ...{ vg: vg.name, vgUuid: vg.uuid, lv: pool.name, lvUuid: pool.uuid },
    mendsPool: true,
  };
  const subject = { noun: 'rescue', volume: pool.name };
  // If it cannot be mended like this, whoever needs the pool is told so by his own step.
  await execute(doors.host, step, subject, doors.trace).catch(asOperationError);
  doors.model.changed();
}

/**
 * lvm writes down that it makes a thin snapshot, has the pool make it, and raises the pool's
 * transaction. When the power goes before the last, lvm has it made once more by whatever comes
 * next, the pool refuses because it is there, and nothing can be changed in that pool any more.
 * What is left to do is to raise the transaction; the snapshot stays as it was taken. It is done
 * only where the pool itself says that the device is that very snapshot: another one of that number
 * would be somebody else's data.
 */
async function finishSnapshot(doors: Doors, failed: Step): Promise<void> {
  const found = await poolOf(doors, failed);
  if (found === undefined) return;
  const { vg, pool } = found;
  const { host, trace } = doors;
  const name = `${dmName(vg.name, pool.name)}-tpool`;
  const subject = { noun: 'rescue', volume: pool.name };
  const run = (command: Command) => runCommand(host, command, failed, subject, trace);
  try {
    if (!pool.isActive) {
      const target = { vg: vg.name, vgUuid: vg.uuid, lv: pool.name, lvUuid: pool.uuid };
      await execute(host, { kind: 'activate-lv', ...target }, subject, trace);
    }
    const text = await run(lookMetadataText(vg.name));
    const queued = parseQueuedMessages(text, pool.name);
    const now = parseTransaction((await read(host, lookThinPoolHealth)).stdout, name);
    const [snapshot, ...others] = queued?.creates ?? [];
    const isOnly = snapshot !== undefined && others.length === 0 && queued?.others === 0;
    if (!isOnly || now === undefined || queued.transaction !== now + 1) return;
    const devices = await run(lookThinDevices(name, dmName(vg.name, `${pool.name}_tmeta`)));
    if (!isThatSnapshot(snapshot, parseThinDevices(devices), now)) return;
    // Somebody may have helped meanwhile.
    const again = parseQueuedMessages(await run(lookMetadataText(vg.name)), pool.name);
    if (show(again) !== show(queued)) return;
    await run(setTransaction(name, now, queued.transaction));
  } catch (error) {
    // Whoever needs the pool is told so by his own step.
    asOperationError(error);
  } finally {
    doors.model.changed();
  }
}

async function poolOf({ model }: Doors, failed: Step) {
  if (!('vgUuid' in failed)) return undefined;
  const { host } = await model.refresh();
  const vg = host.vgs.find(({ uuid }) => uuid === failed.vgUuid);
  const pool = vg === undefined ? undefined : poolFor(failed, vg);
  return vg === undefined || pool === undefined ? undefined : { vg, pool };
}

/** The pool that a step is about: itself, that of its volume, or that of its origin. */
function poolFor(step: Step, { lvs }: ObservedVg): ObservedLv | undefined {
  const uuid = 'lvUuid' in step ? step.lvUuid : 'originUuid' in step ? step.originUuid : '';
  const lv = lvs.find((candidate) => candidate.uuid === uuid);
  const isNew = step.kind === 'create-lv' && step.layout.kind === 'thin';
  const name = isNew ? step.layout.pool : lv?.kind === 'thin-pool' ? lv.name : lv?.pool;
  return lvs.find((candidate) => candidate.kind === 'thin-pool' && candidate.name === name);
}
