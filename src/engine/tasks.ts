import type { DesiredClone } from '../core/clone/desired.ts';
import { planClone } from '../core/clone/plan.ts';
import { type CloneStatus, cloneStatus } from '../core/clone/status.ts';
import { pathsNamed } from '../core/device/plan.ts';
import type { DesiredNode } from '../core/node.ts';
import type { ObservedNode } from '../core/observed.ts';
import type { PublishedVolume } from '../core/publication/desired.ts';
import { planInGroup } from '../core/publication/in-group.ts';
import type { GroupWant } from '../core/publication/step.ts';
import type { DesiredSnapshot } from '../core/snapshot/desired.ts';
import { planSnapshot } from '../core/snapshot/plan.ts';
import { snapshotStatus } from '../core/snapshot/status.ts';
import { planSeal, type Seal } from '../core/snapshot-group/seal.ts';
import type { DesiredThinPool } from '../core/thin-pool/desired.ts';
import { planThinPool } from '../core/thin-pool/plan.ts';
import { type ThinPoolStatus, thinPoolStatus } from '../core/thin-pool/status.ts';
import type { DesiredVolume } from '../core/volume/desired.ts';
import { planVolume } from '../core/volume/plan.ts';
import { type VolumeStatus, volumeStatus } from '../core/volume/status.ts';
import type { DesiredVg } from '../core/volume-group/desired.ts';
import { planBegunMove, planVolumeGroup } from '../core/volume-group/plan.ts';
import { type VgStatus, volumeGroupStatus } from '../core/volume-group/status.ts';
import type { NodeTask } from './engine.ts';
import type { Task } from './job.ts';

/** Each noun as something the engine can bring about. */

export function volumeTask(desired: DesiredVolume): Task<VolumeStatus> {
  const vg = desired.presence === 'present' ? desired.deviceClass.vg : desired.vg;
  return {
    noun: 'volume',
    volume: desired.name,
    vg,
    plan: (host) => planVolume(desired, host),
    status: (host) => volumeStatus(desired, host),
  };
}

export function snapshotTask(desired: DesiredSnapshot): Task<VolumeStatus> {
  return {
    noun: 'snapshot',
    volume: desired.name,
    vg: desired.deviceClass.vg,
    plan: (host) => planSnapshot(desired, host),
    status: (host) => snapshotStatus(desired, host),
  };
}

export function cloneTask(desired: DesiredClone): Task<CloneStatus> {
  return {
    noun: 'clone',
    volume: desired.name,
    vg: desired.deviceClass.vg,
    plan: (host) => planClone(desired, host),
    status: (host) => cloneStatus(desired, host),
  };
}

export function thinPoolTask(desired: DesiredThinPool): Task<ThinPoolStatus> {
  return {
    noun: 'thin-pool',
    volume: `${desired.vg}/${desired.name}`,
    vg: desired.vg,
    plan: (host) => planThinPool(desired, host),
    status: (host) => thinPoolStatus(desired, host),
  };
}

/** What a publication needs of lvm; the look after it is the publisher's own. */
export function publicationTask(volume: PublishedVolume, wanted: GroupWant): Task<undefined> {
  return {
    noun: 'publication',
    volume: volume.name,
    vg: volume.vg,
    plan: (host) => planInGroup(wanted, volume, host),
    // The note that it is shown raw must be there before it grows.
    mayWait: wanted.want === 'clear-marks' && wanted.isRaw !== true,
    status: () => undefined,
  };
}

export function sealTask(member: Seal): Task<undefined> {
  return {
    noun: 'snapshot-group',
    volume: member.name,
    vg: member.vg,
    plan: (host) => planSeal(member, host),
    status: () => undefined,
  };
}

export function volumeGroupTask(desired: DesiredVg, node: DesiredNode): NodeTask<VgStatus> {
  const others = node.volumeGroups.filter((other) => other.name !== desired.name);
  return {
    noun: 'volume-group',
    volume: desired.name,
    vg: desired.name,
    paths: pathsNamed([desired, ...others]),
    plan: (observed: ObservedNode) => planVolumeGroup(desired, observed, others),
    status: (observed: ObservedNode) => volumeGroupStatus(desired, observed, others),
  };
}

/** Of a group that shall go: what was begun in it is brought to its end. */
export function begunMoveTask(desired: DesiredVg): NodeTask<undefined> {
  return {
    noun: 'volume-group',
    volume: desired.name,
    vg: desired.name,
    paths: pathsNamed([desired]),
    plan: (observed: ObservedNode) => planBegunMove(desired, observed),
    status: () => undefined,
  };
}
