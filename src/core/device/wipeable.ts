import type { ObservedDevice } from '../observed.ts';
import type { DeviceSelector } from './desired.ts';

/** A disk that says nothing of itself is its path: the next one there is left alone, too. */
export function diskId({ wwn, serial, model, links, path, type }: ObservedDevice): string {
  const byId = links.filter((link) => lasting.test(link)).toSorted();
  const own =
    wwn !== '' ? `wwn ${wwn}` : serial !== '' ? `serial ${model} ${serial}` : (byId[0] ?? path);
  // Partitions repeat what their disk is.
  const part = type === 'part' ? (/[0-9]+$/.exec(path)?.[0] ?? '') : '';
  return part === '' ? own : `${own} part ${part}`;
}

/** udev gives a name by its LVM label, too, and that comes and goes with what is on the disk. */
const lasting = /^\/dev\/disk\/by-id\/(?!lvm-pv-uuid-)/;

/** Did an administrator allow what is on the disk to be destroyed? */
export function mayWipe(disk: ObservedDevice, selector: DeviceSelector): boolean {
  if (selector.kind === 'any' || !selector.forceWipe) return false;
  return selector.onlyWipe?.includes(diskId(disk)) ?? true;
}
