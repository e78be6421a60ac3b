import type { Bytes } from '../../base/bytes.ts';
import { findLv, findVg, type ObservedHost } from '../observed.ts';
import { copyingTag } from '../tags.ts';
import { lvStatus, type VolumeStatus } from '../volume/status.ts';
import type { DesiredClone } from './desired.ts';
import { copiedBytes, planClone } from './plan.ts';

export type CloneStatus = VolumeStatus & {
  /** `undefined` once nothing is left to copy. */
  readonly copiedBytes: Bytes | undefined;
};

export function cloneStatus(desired: DesiredClone, host: ObservedHost): CloneStatus {
  const vg = findVg(host, desired.deviceClass.vg);
  const lv = vg === undefined ? undefined : findLv(vg, desired.name);
  const decision = planClone(desired, host);
  const status = lvStatus({ vg: desired.deviceClass.vg, name: desired.name, host, decision });
  const isCopying = lv?.tags.includes(copyingTag) === true;
  return { ...status, copiedBytes: isCopying ? copiedBytes(lv) : undefined };
}
