import type { ObservedLv, ObservedVg } from '../core/observed.ts';
import type { ActivateLv, Step } from '../core/step.ts';
import { asOperationError, execute } from './execute.ts';
import type { HostModel } from './model.ts';
import type { Host, Trace } from './ports.ts';

/**
 * When the power goes while blocks are discarded, dm-thin's books may have blocks that no volume
 * has: it takes them out of the volume, keeps them from being used until the disk has discarded
 * them, and then lets them go. No data is concerned, but thin_check objects, and lvm leaves the
 * pool and all its volumes inactive until somebody repairs it by hand. This is that hand: lvm
 * checks once more, and may strike out such blocks. Only the pool that the failed step needs is
 * touched: another one may be inactive because somebody works on it.
 */
export async function mendPool(
  doors: { readonly host: Host; readonly model: HostModel; readonly trace: Trace },
  failed: Step,
): Promise<void> {
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
