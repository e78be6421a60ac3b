import type { Bytes } from '../../base/bytes.ts';
import type { Blocked } from '../../base/failures.ts';
import type { DeviceClass } from '../device-class.ts';
import { ownerTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { desiredVolume } from '../volume/desired.ts';

/** A writable volume that starts with the content of another volume or of a snapshot. */
export type DesiredClone = {
  readonly name: string;
  readonly source: string;
  readonly deviceClass: DeviceClass;
  readonly sizeBytes: Bytes;
  readonly tags: readonly string[];
};

export type CloneRequest = {
  readonly name: string;
  readonly source: string;
  readonly className: string;
  readonly sizeBytes: Bytes;
  readonly tags?: readonly string[];
};

export function desiredClone(
  request: CloneRequest,
  classes: readonly DeviceClass[],
): DesiredClone | Blocked {
  const volume = desiredVolume(request, classes);
  if (isBlocked(volume)) return volume;
  const { name, deviceClass, sizeBytes } = volume;
  const { source } = request;
  // No pending mark: a clone holds its source's data and is never formatted.
  const ours = [ownerTag, tagOf('class', deviceClass.name), tagOf('source', source)];
  return { name, source, deviceClass, sizeBytes, tags: [...ours, ...(request.tags ?? [])] };
}
