import { OperationError } from '../base/failures.ts';
import { messengerName } from '../core/names.ts';
import { findLv, type ObservedHost, type ObservedVg } from '../core/observed.ts';
import type { Step } from '../core/step.ts';
import { ownerTag, poolMessengerRole, tagOf } from '../core/tags.ts';
import { isBlocked } from '../core/usable-vg.ts';
import { planRemovalOf } from '../core/volume/plan.ts';
import { execute } from './execute.ts';
import type { HostModel } from './model.ts';
import type { Host, Trace } from './ports.ts';

export type ActivateLv = Extract<Step, { kind: 'activate-lv' }>;

/**
 * lvm writes down what it is going to tell a thin pool, tells it, and strikes it out. When the
 * power goes in between, the volume stands in lvm's metadata and the pool does not know it.
 * Activating it fails for ever: lvm sends what it has queued only with the next volume that it
 * makes or removes in that pool. So one is made and removed, which changes nothing otherwise.
 */
export async function sendQueuedMessages(
  doors: { readonly host: Host; readonly model: HostModel; readonly trace: Trace },
  step: ActivateLv,
): Promise<void> {
  const run = (next: Step) =>
    execute(doors.host, next, { noun: 'rescue', volume: step.lv }, doors.trace);
  const vg = groupIn((await doors.model.refresh()).host, step);
  const pool = vg.lvs.find((lv) => lv.uuid === step.lvUuid)?.pool;
  if (pool === undefined) return;
  const lv = messengerName(pool);
  if (findLv(vg, lv) === undefined) {
    await run({
      kind: 'create-lv',
      ...{ vg: vg.name, vgUuid: vg.uuid, lv },
      layout: { kind: 'thin', pool },
      sizeBytes: vg.extentSizeBytes,
      tags: [ownerTag, tagOf('role', poolMessengerRole)],
      options: [],
    });
    doors.model.changed();
  }
  const now = groupIn((await doors.model.refresh()).host, step);
  const messenger = findLv(now, lv);
  if (messenger === undefined) return;
  const removal = planRemovalOf(now, messenger, {});
  if (isBlocked(removal)) throw new OperationError(removal.code, removal.message);
  if (removal.kind === 'step') await run(removal.step);
  doors.model.changed();
}

function groupIn(host: ObservedHost, { vg, vgUuid }: ActivateLv): ObservedVg {
  const found = host.vgs.find((candidate) => candidate.uuid === vgUuid);
  if (found !== undefined) return found;
  throw new OperationError('VolumeGroupMissing', `there is no volume group ${vg} (${vgUuid})`);
}
