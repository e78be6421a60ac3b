import { type Bytes, bytes, roundUp } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { type DeviceClass, findDeviceClass } from '../device-class.ts';
import { checkLayout, geometryOf } from '../layouts.ts';
import { checkLvName } from '../names.ts';
import { makingTag, ownerTag, pendingTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';

export type DesiredVolume = PresentVolume | AbsentVolume;

export type PresentVolume = {
  readonly presence: 'present';
  readonly name: string;
  readonly deviceClass: DeviceClass;
  readonly sizeBytes: Bytes;
  readonly tags: readonly string[];
  /** Known once it was reported ready; from then on it is never made anew. */
  readonly uuid: string | undefined;
  /** What was there when it was asked for: not made anew under the same name either. */
  readonly seen?: string | undefined;
  /** A record of ours names this volume although it carries no tag: another system made it. */
  readonly isAdopted: boolean;
};

export type AbsentVolume = {
  readonly presence: 'absent';
  readonly name: string;
  readonly vg: string;
  /** When known: another group that has the name does not tell that the volume is gone. */
  readonly vgUuid?: string;
  /** When known: a new volume that took the name is left alone. */
  readonly uuid: string | undefined;
  readonly isAdopted: boolean;
  /** Its blocks are passed on to the disks as discards. */
  readonly discards?: boolean;
};

export type VolumeRequest = {
  readonly name: string;
  readonly className: string;
  readonly sizeBytes: Bytes;
  readonly tags?: readonly string[];
  readonly uuid?: string | undefined;
  readonly seen?: string | undefined;
  /** Who formats it, or hands it out raw: what the caller does so never carries our mark. */
  readonly preparedBy?: 'us' | 'caller';
};

export function desiredVolume(
  request: VolumeRequest,
  classes: readonly DeviceClass[],
): PresentVolume | Blocked {
  const deviceClass = findDeviceClass(classes, request.className);
  if (isBlocked(deviceClass)) return deviceClass;
  const refusal = checkLvName(request.name, deviceClass.vg) ?? checkLayout(deviceClass.layout);
  if (refusal !== undefined) return refusal;
  if (request.sizeBytes <= 0n) {
    return blocked('InvalidSize', `the size of ${request.name} is ${request.sizeBytes} bytes`);
  }
  const begun = request.preparedBy === 'caller' ? makingMark(deviceClass) : [pendingTag];
  const marks = [ownerTag, ...begun, tagOf('class', deviceClass.name)];
  return {
    presence: 'present',
    name: request.name,
    deviceClass,
    sizeBytes: roundUp(request.sizeBytes, bytes(limits.sectorBytes)),
    tags: [...marks, ...(request.tags ?? [])],
    uuid: request.uuid,
    seen: request.seen,
    isAdopted: false,
  };
}

/**
 * A RAID is put together of parts, and what an lvcreate leaves that is cut off can never be used.
 * Other layouts can be used as soon as they are there: they need no second command for a mark.
 */
function makingMark({ layout }: DeviceClass): readonly string[] {
  const partsOfItsOwn = geometryOf(layout)?.metadataExtents ?? 0;
  return partsOfItsOwn > 0 ? [makingTag] : [];
}

export function absentVolume(vg: string, name: string, uuid?: string): AbsentVolume {
  return { presence: 'absent', vg, name, uuid, isAdopted: false };
}
