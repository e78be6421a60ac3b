import { failures } from '../base/failures.ts';
import { showBytes } from '../base/show.ts';
import { pathsNamed, planDevices } from '../core/device/plan.ts';
import { deviceStatus } from '../core/device/status.ts';
import { foreseeNode } from '../core/foresee.ts';
import type { DesiredNode } from '../core/node.ts';
import type { ObservedNode } from '../core/observed.ts';
import { isForeseen } from '../core/predict.ts';
import type { Step } from '../core/step.ts';
import { stepText } from '../core/step-text.ts';
import { settled } from '../engine/job.ts';
import { observeNode } from '../engine/look.ts';
import { thinPoolTask, volumeGroupTask } from '../engine/tasks.ts';
import { type KnownGroups, writeKnownGroups } from '../host/known-groups.ts';
import { commandsOf } from '../lvm/argv.ts';
import { type Context, recover } from './context.ts';
import { table } from './table.ts';

/** What would be done to which device, what is left alone, and why. Nothing is changed. */
export async function plan(context: Context, desired: DesiredNode): Promise<boolean> {
  const node = await observeNode(context.host, pathsNamed(desired.volumeGroups));
  context.print(devicesText(desired, node));
  const { steps, blocks } = foreseeNode(desired, node);
  context.print('');
  if (steps.length === 0 && blocks.length === 0) context.print('Nothing to do.');
  if (steps.length > 0) context.print('Would do:');
  for (const [index, step] of steps.entries()) context.print(stepLines(step, index + 1));
  for (const { what, code, message } of blocks) {
    context.print(`Blocked: ${what}: ${code}: ${message}`);
    context.print(`         ${failures[code].hint}`);
  }
  return blocks.length === 0;
}

/** A step in words, and under it the commands. */
export function stepLines(step: Step, index: number): string {
  return [`  ${index}. ${stepText(step)}`, ...spelled(step).map((line) => `       ${line}`)].join(
    '\n',
  );
}

/** Steps on what does not exist yet have no final spelling: its UUID is not known. */
function spelled(step: Step): readonly string[] {
  if ('vgUuid' in step && isForeseen(step.vgUuid)) {
    return commandsOf({ ...step, vgUuid: '(to be made)' }).map(({ argv }) => argv.join(' '));
  }
  return commandsOf(step).map(({ argv }) => argv.join(' '));
}

function devicesText(desired: DesiredNode, node: ObservedNode): string {
  const rows = desired.volumeGroups
    .filter((vg) => vg.isManaged)
    .flatMap((vg) => {
      const others = desired.volumeGroups.filter((other) => other !== vg);
      return deviceStatus(planDevices(vg, node, others)).map((device) => [
        vg.name,
        device.path,
        showBytes(device.sizeBytes),
        device.model || '-',
        device.serial || '-',
        device.state,
        device.reasons.join('; '),
      ]);
    });
  return table(['GROUP', 'DEVICE', 'SIZE', 'MODEL', 'SERIAL', 'STATE', 'WHY'], rows);
}

/** Brings the node to what the file wants, group by group, pool by pool. */
export async function apply(
  context: Context,
  desired: DesiredNode,
  state: { readonly directory: string; readonly known: KnownGroups },
): Promise<void> {
  await recover(context, desired);
  const known = new Map(state.known);
  for (const vg of desired.volumeGroups) {
    const status = settled(await context.engine.submitNode(volumeGroupTask(vg, desired)));
    if (vg.isManaged && status.uuid !== undefined && status.uuid !== known.get(vg.name)) {
      // On disk before anybody hears of the group.
      await writeKnownGroups(state.directory, known.set(vg.name, status.uuid));
    }
    context.print(`volume group ${status.name}: ${status.state}`);
  }
  for (const pool of desired.thinPools) {
    const status = settled(await context.engine.submit(thinPoolTask(pool)));
    context.print(`thin pool ${status.name}: ${status.state}`);
  }
}
