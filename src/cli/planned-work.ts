import { showQuantity } from '../api/quantity.ts';
import { failures } from '../base/failures.ts';
import { showBytes } from '../base/show.ts';
import type { NodePlan, PlannedDevice } from '../core/lvm-cluster/node-plans.ts';
import { isForeseen } from '../core/predict.ts';
import type { Step } from '../core/step.ts';
import { stepText } from '../core/step-text.ts';
import { commandsOf } from '../lvm/argv.ts';
import type { Format } from './output.ts';
import { table } from './table.ts';

/** What would be done on one node, for people and for programs: on a host as in a cluster. */

export function devicesText(devices: readonly PlannedDevice[], format: Format): string {
  const isWide = format === 'wide';
  const wideHead = isWide ? ['BYTES', 'ASKED FOR'] : [];
  const rows = devices.map((device) => [
    ...[device.group, device.path, showBytes(device.sizeBytes), device.model || '-'],
    ...[device.serial || '-', device.state],
    ...(isWide ? [`${device.sizeBytes}`, device.isAskedFor ? 'yes' : 'no'] : []),
    device.reasons.join('; '),
  ]);
  const head = ['GROUP', 'DEVICE', 'SIZE', 'MODEL', 'SERIAL', 'STATE'];
  return table([...head, ...wideHead, 'WHY'], rows);
}

/** A step in words, and under it the commands. */
export function stepLines(step: Step, index: number): string {
  const commands = spelled(step).map((argv) => `       ${argv.join(' ')}`);
  return [`  ${index}. ${stepText(step)}`, ...commands].join('\n');
}

const notYet = '(to be made)';

/** Steps on what does not exist yet have no final spelling: its UUID is not known. */
function spelled(step: Step): readonly (readonly string[])[] {
  const isNewGroup = 'vgUuid' in step && isForeseen(step.vgUuid);
  const inGroup = isNewGroup ? { ...step, vgUuid: notYet } : step;
  const isNewLv = 'lvUuid' in inGroup && isForeseen(inGroup.lvUuid);
  return commandsOf(isNewLv ? { ...inGroup, lvUuid: notYet } : inGroup).map(({ argv }) => argv);
}

/** Its fields are for scripts: they are added to, and never changed. Sizes are quantities. */
export function plannedWork({ devices, steps, blocks }: Work) {
  return {
    devices: devices.map(({ group, path, sizeBytes, ...device }) => ({
      ...{ group, path, size: showQuantity(sizeBytes) },
      ...device,
    })),
    steps: steps.map((step) => ({
      ...{ kind: step.kind, text: stepText(step), commands: spelled(step) },
    })),
    blocks: blocks.map(({ what, code, message }) => ({
      ...{ what, code, message, hint: failures[code].hint },
    })),
  };
}

type Work = Pick<NodePlan, 'devices' | 'steps' | 'blocks'>;
