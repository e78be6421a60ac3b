import type { Bytes } from '../base/bytes.ts';
import { OperationError } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { VolumeRecord } from '../core/catalog.ts';
import type { DeviceClass } from '../core/device-class.ts';
import { isOurs, readTag } from '../core/tags.ts';
import type { CreateVolume } from './volumes.ts';

/** Without our tags its identity alone says that it is the one that is meant. */
export function adoptedUuid({ lv }: VolumeRecord): { readonly uuid?: string } {
  return isOurs(lv.tags) ? {} : { uuid: lv.uuid };
}

export function poolIn(layout: DeviceClass['layout']): string | undefined {
  return layout.kind === 'thin' ? layout.pool : undefined;
}

/** Two groups may have one of the id each: then nobody says which is meant. */
export function onlyOne(records: readonly VolumeRecord[], id: string): VolumeRecord | undefined {
  const [first, second] = records.filter((record) => record.id === id);
  if (first === undefined || second === undefined) return first;
  const where = `${first.vg.name} and ${second.vg.name}`;
  throw new OperationError('VolumeAmbiguous', `${id} is in ${where}`);
}

/** A repeated request is the same request, or there is a volume of that name in its way. */
export function checkSame(
  existing: VolumeRecord,
  request: CreateVolume,
  deviceClass: DeviceClass,
  asked: Bytes,
): void {
  const { requiredBytes, limitBytes } = request.range;
  const fits =
    existing.sizeBytes >= requiredBytes && (limitBytes === 0n || existing.sizeBytes <= limitBytes);
  // By its id it is the one that is meant, whatever became of its class since.
  const isInClass = request.id !== undefined || existing.className === deviceClass.name;
  const differences = [
    ...(isInClass ? [] : [`in class ${existing.className}`]),
    ...(existing.vg.name === deviceClass.vg ? [] : [`in the volume group ${existing.vg.name}`]),
    ...(isFrom(existing, request.source) ? [] : [`made from ${existing.sourceId ?? 'nothing'}`]),
    ...(fits || isCut(existing, asked) ? [] : [`of ${existing.sizeBytes} bytes`]),
  ];
  if (differences.length === 0) return;
  const message = `the volume ${request.name} exists, ${showList(differences)}`;
  throw new OperationError('VolumeDiffers', message);
}

function isFrom(existing: VolumeRecord, source: CreateVolume['source']): boolean {
  if (source === undefined) return existing.sourceId === undefined;
  return existing.sourceId === source.id && existing.sourceKind === source.kind;
}

/** Asked for with this very size, and cut off before it had it. */
export function isCut(existing: VolumeRecord, asked: Bytes): boolean {
  const note = readTag(existing.lv.tags, 'asked');
  return existing.sizeBytes < asked && note === String(asked);
}
