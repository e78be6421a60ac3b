import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { Node } from '../../api/objects/storage.ts';
import { findStray } from './strays.ts';

/** A PersistentVolume that somebody uses. What was given back is told when it is to go. */
export function isInUse({ metadata, spec, status }: PersistentVolume, driver: string): boolean {
  const isGoing = metadata.deletionTimestamp !== undefined;
  return spec.csi?.driver === driver && status?.phase === 'Bound' && !isGoing;
}

/** Of one that is in use, and whose handle no LogicalVolume has. */
export function lostMessage({ metadata, spec }: PersistentVolume, nodes: Iterable<Node>): string {
  const handle = spec.csi?.volumeHandle ?? '';
  const stray = findStray(handle, nodes);
  const place = stray?.kind === 'there' ? ` Its LV is ${stray.place} on ${stray.node}.` : '';
  return (
    `${metadata.name}: no LogicalVolume has its volume handle ${handle}.${place} Remedy: copy ` +
    'the data to a new claim while it can be read, and then delete this one. It neither grows ' +
    'nor is it copied, and its LV is removed by nobody but you.'
  );
}
