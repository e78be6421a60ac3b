import type { ActivateLv } from '../core/step.ts';
import { asOperationError, execute } from './execute.ts';
import type { HostModel } from './model.ts';
import type { Host, Trace } from './ports.ts';

/**
 * When the power goes while blocks are discarded, dm-thin's books may have blocks that no volume
 * has: it takes them out of the volume, keeps them from being used until the disk has discarded
 * them, and then lets them go. No data is concerned, but thin_check objects, and lvm leaves the
 * pool and all its volumes inactive until somebody repairs it by hand. This is that hand: lvm
 * checks once more, and may strike out such blocks.
 */
export async function mendPools(
  doors: { readonly host: Host; readonly model: HostModel; readonly trace: Trace },
  vgUuid: string,
): Promise<void> {
  const { host } = await doors.model.refresh();
  const vg = host.vgs.find(({ uuid }) => uuid === vgUuid);
  for (const pool of vg?.lvs ?? []) {
    if (vg === undefined || pool.kind !== 'thin-pool' || pool.isActive) continue;
    const step: ActivateLv = {
      kind: 'activate-lv',
      ...{ vg: vg.name, vgUuid, lv: pool.name, lvUuid: pool.uuid },
      mendsPool: true,
    };
    const subject = { noun: 'rescue', volume: pool.name };
    // If it cannot be mended like this, whoever needs the pool is told so by his own step.
    await execute(doors.host, step, subject, doors.trace).catch(asOperationError);
    doors.model.changed();
  }
}
