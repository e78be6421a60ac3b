import { failures } from '../base/failures.ts';
import { pathsNamed, planDevices } from '../core/device/plan.ts';
import { deviceStatus } from '../core/device/status.ts';
import { foreseeNode } from '../core/foresee.ts';
import type { PlannedDevice } from '../core/lvm-cluster/node-plans.ts';
import type { DesiredNode } from '../core/node.ts';
import type { ObservedNode } from '../core/observed.ts';
import { settled } from '../engine/job.ts';
import { observeNode } from '../engine/look.ts';
import { thinPoolTask, volumeGroupTask } from '../engine/tasks.ts';
import { type KnownGroups, writeKnownGroups } from '../host/known-groups.ts';
import { type Context, recover } from './context.ts';
import { asDocument, type Format } from './output.ts';
import { devicesText, plannedWork, stepLines } from './planned-work.ts';

/** What would be done to which device, what is left alone, and why. Nothing is changed. */
export async function plan(
  context: Context,
  desired: DesiredNode,
  format: Format,
): Promise<boolean> {
  const node = await observeNode(context.host, pathsNamed(desired.volumeGroups));
  const { steps, blocks } = foreseeNode(desired, node);
  const devices = plannedDevices(desired, node);
  const isClear = blocks.length === 0;
  if (format === 'json' || format === 'yaml') {
    const nodes = [{ isTold: true, ...plannedWork({ devices, steps, blocks }) }];
    context.print(asDocument('Plan', { isClear, nodes }, format));
    return isClear;
  }
  context.print(devicesText(devices, format));
  context.print('');
  if (steps.length === 0 && blocks.length === 0) context.print('Nothing to do.');
  if (steps.length > 0) context.print('Would do:');
  for (const [index, step] of steps.entries()) context.print(stepLines(step, index + 1));
  for (const { what, code, message } of blocks) {
    context.print(`Blocked: ${what}: ${code}: ${message}`);
    context.print(`         ${failures[code].hint}`);
  }
  return isClear;
}

function plannedDevices(desired: DesiredNode, node: ObservedNode): readonly PlannedDevice[] {
  return desired.volumeGroups
    .filter((vg) => vg.isManaged)
    .flatMap((vg) => {
      const others = desired.volumeGroups.filter((other) => other !== vg);
      const devices = deviceStatus(planDevices(vg, node, others));
      return devices.map((device) => ({ group: vg.name, ...device }));
    });
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
