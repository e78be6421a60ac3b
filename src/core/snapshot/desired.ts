import { type Bytes, bytes, most, times } from '../../base/bytes.ts';
import type { Blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import type { DeviceClass } from '../device-class.ts';
import { checkLvName } from '../names.ts';
import { ownerTag, snapshotRole, tagOf } from '../tags.ts';

/** A snapshot that shall exist. Removing one is removing a volume: see `volume/`. */
export type DesiredSnapshot = {
  readonly name: string;
  readonly source: string;
  /** When known: another volume that took the source's name is not the source. */
  readonly sourceUuid: string | undefined;
  readonly deviceClass: DeviceClass;
  readonly tags: readonly string[];
  /** Known once it was reported ready; from then on it is never taken anew. */
  readonly uuid: string | undefined;
  readonly seen?: string | undefined;
  /** CoW only: room for changes; `undefined` means a share of the source. */
  readonly reserveBytes: Bytes | undefined;
};

export type SnapshotRequest = {
  readonly name: string;
  readonly source: string;
  readonly sourceUuid?: string | undefined;
  readonly deviceClass: DeviceClass;
  readonly tags?: readonly string[];
  readonly uuid?: string | undefined;
  readonly seen?: string | undefined;
  readonly reserveBytes?: Bytes;
};

export function desiredSnapshot(request: SnapshotRequest): DesiredSnapshot | Blocked {
  const refusal = checkLvName(request.name, request.deviceClass.vg);
  if (refusal !== undefined) return refusal;
  const { name, source, sourceUuid, deviceClass, tags = [], uuid, seen, reserveBytes } = request;
  const marks = [tagOf('class', deviceClass.name), tagOf('source', source)];
  const all = [ownerTag, tagOf('role', snapshotRole), ...marks, ...tags];
  return { name, source, sourceUuid, deviceClass, uuid, seen, reserveBytes, tags: all };
}

export function reserveFor(sourceBytes: Bytes): Bytes {
  const share = times(sourceBytes, limits.cowReservePercent) / 100n;
  return most(share, bytes(limits.cowReserveBytesMin));
}
