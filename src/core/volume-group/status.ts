import type { Bytes } from '../../base/bytes.ts';
import { planDevices } from '../device/plan.ts';
import { type DeviceStatus, deviceStatus } from '../device/status.ts';
import type { ObservedNode } from '../observed.ts';
import type { DesiredVg } from './desired.ts';
import { planVolumeGroup } from './plan.ts';

export type VgStatus = {
  readonly name: string;
  readonly uuid: string | undefined;
  readonly state: 'Ready' | 'Progressing' | 'Degraded' | 'Failed' | 'Absent';
  readonly reason: string;
  readonly sizeBytes: Bytes | undefined;
  readonly freeBytes: Bytes | undefined;
  readonly devices: readonly DeviceStatus[];
};

/** Computed from what was observed, never from what we just did. */
export function volumeGroupStatus(
  desired: DesiredVg,
  node: ObservedNode,
  others: readonly DesiredVg[],
): VgStatus {
  const vg = node.vgs.find((candidate) => candidate.name === desired.name);
  const decision = planVolumeGroup(desired, node, others);
  const common = {
    name: desired.name,
    uuid: vg?.uuid,
    sizeBytes: vg?.sizeBytes,
    freeBytes: vg?.freeBytes,
    devices: deviceStatus(planDevices(desired, node, others)),
  };
  switch (decision.kind) {
    case 'rest':
      return { ...common, state: vg === undefined ? 'Absent' : 'Ready', reason: '' };
    case 'step':
      return { ...common, state: 'Progressing', reason: `next: ${decision.step.kind}` };
    case 'blocked':
      return {
        ...common,
        state: vg === undefined ? 'Failed' : 'Degraded',
        reason: `${decision.code}: ${decision.message}`,
      };
  }
}
