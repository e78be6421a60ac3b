import type { Bytes } from '../../base/bytes.ts';
import type { Blocked } from '../../base/failures.ts';
import type { DeviceClass } from '../device-class.ts';
import { layouts } from '../layouts.ts';
import { checkLvName, copySourceName } from '../names.ts';
import { ownerTag, tagOf } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { desiredVolume } from '../volume/desired.ts';

/** A writable volume that starts with the content of another volume or of a snapshot. */
export type DesiredClone = {
  readonly name: string;
  readonly source: string;
  /** When known: another volume that took the source's name is not the source. */
  readonly sourceUuid: string | undefined;
  readonly deviceClass: DeviceClass;
  readonly sizeBytes: Bytes;
  readonly tags: readonly string[];
  /** Known once it was reported ready; from then on it is never made anew. */
  readonly uuid: string | undefined;
  readonly seen?: string | undefined;
};

export type CloneRequest = {
  readonly name: string;
  readonly source: string;
  readonly sourceUuid?: string | undefined;
  readonly className: string;
  readonly sizeBytes: Bytes;
  readonly tags?: readonly string[];
  readonly uuid?: string | undefined;
  readonly seen?: string | undefined;
};

export function desiredClone(
  request: CloneRequest,
  classes: readonly DeviceClass[],
): DesiredClone | Blocked {
  const volume = desiredVolume(request, classes);
  if (isBlocked(volume)) return volume;
  const { name, deviceClass, sizeBytes, uuid, seen } = volume;
  const { source, sourceUuid } = request;
  const isCopied = layouts[deviceClass.layout.kind].clone === 'copy';
  const refusal = isCopied ? checkLvName(copySourceName(name), deviceClass.vg) : undefined;
  if (refusal !== undefined) return refusal;
  // No pending mark: a clone holds its source's data and is never formatted.
  const ours = [ownerTag, tagOf('class', deviceClass.name), tagOf('source', source)];
  const tags = [...ours, ...(request.tags ?? [])];
  return { name, source, sourceUuid, deviceClass, sizeBytes, uuid, seen, tags };
}
