import type { FailureCode } from '../base/failures.ts';
import { dmName } from '../core/names.ts';
import type { ObservedLv, ObservedVg } from '../core/observed.ts';
import type { ActivateLv, Step } from '../core/step.ts';
import { dropDevice } from '../lvm/looks.ts';
import { asOperationError, execute, mappedDevices, runCommand } from './execute.ts';
import { sendQueuedMessages } from './messages.ts';
import type { HostModel } from './model.ts';
import type { Host, Trace } from './ports.ts';

type Doors = { readonly host: Host; readonly model: HostModel; readonly trace: Trace };

/** A failed step, and what may take out of its way what stopped it. No data is concerned. */
export type Mendable =
  | { readonly how: 'send-queued-messages'; readonly step: ActivateLv }
  | { readonly how: 'drop-stray-parts'; readonly step: ActivateLv }
  | { readonly how: 'mend-pool'; readonly step: Step };

export function mendable(step: Step, code: FailureCode): Mendable | undefined {
  if (code === 'ThinPoolUnhealthy') return { how: 'mend-pool', step };
  if (step.kind !== 'activate-lv') return undefined;
  if (code === 'ThinVolumeUnknown') return { how: 'send-queued-messages', step };
  return code === 'VolumePartsActive' ? { how: 'drop-stray-parts', step } : undefined;
}

export async function mend(doors: Doors, trouble: Mendable): Promise<void> {
  switch (trouble.how) {
    case 'send-queued-messages':
      return await sendQueuedMessages(doors, trouble.step);
    case 'drop-stray-parts':
      return await dropStrayParts(doors, trouble.step);
    case 'mend-pool':
      return await mendPool(doors, trouble.step);
  }
}

/**
 * An lvm that was killed while it activated a RAID leaves parts of it active without the whole, and
 * then refuses to activate it for ever. The kernel is told to forget these parts.
 */
async function dropStrayParts({ host, trace }: Doors, step: ActivateLv): Promise<void> {
  const { vg, lv, vgUuid } = step;
  const names = (await mappedDevices(host, vgUuid)).map(({ name }) => name);
  const whole = dmName(vg, lv);
  if (names.includes(whole)) return;
  const isPart = (name: string) => /^_r(meta|image)_\d+$/.test(name.slice(whole.length));
  for (const name of names.filter((one) => one.startsWith(whole) && isPart(one))) {
    // If somebody has it open, whoever needs the volume is told so by his own step.
    const drop = runCommand(host, dropDevice(name), step, { noun: 'rescue', volume: lv }, trace);
    await drop.catch(asOperationError);
  }
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
  if (!('vgUuid' in failed)) return;
  const { host } = await doors.model.refresh();
  const vg = host.vgs.find(({ uuid }) => uuid === failed.vgUuid);
  const pool = vg === undefined ? undefined : poolFor(failed, vg);
  if (vg === undefined || pool === undefined || pool.isActive) return;
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

/** The pool that a step is about: itself, that of its volume, or that of its origin. */
function poolFor(step: Step, { lvs }: ObservedVg): ObservedLv | undefined {
  const uuid = 'lvUuid' in step ? step.lvUuid : 'originUuid' in step ? step.originUuid : '';
  const lv = lvs.find((candidate) => candidate.uuid === uuid);
  const isNew = step.kind === 'create-lv' && step.layout.kind === 'thin';
  const name = isNew ? step.layout.pool : lv?.kind === 'thin-pool' ? lv.name : lv?.pool;
  return lvs.find((candidate) => candidate.kind === 'thin-pool' && candidate.name === name);
}
