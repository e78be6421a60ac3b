import type { ObservedHost } from '../observed.ts';
import { lvStatus, type VolumeStatus } from '../volume/status.ts';
import type { DesiredSnapshot } from './desired.ts';
import { planSnapshot } from './plan.ts';

export function snapshotStatus(desired: DesiredSnapshot, host: ObservedHost): VolumeStatus {
  const vg = desired.deviceClass.vg;
  return lvStatus({ vg, name: desired.name, host, decision: planSnapshot(desired, host) });
}
