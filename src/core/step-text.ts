import { showBytes, showList } from '../base/show.ts';
import type { Step } from './step.ts';

/** A step in a person's words. The exact command is printed under it. */
export function stepText(step: Step): string {
  switch (step.kind) {
    case 'wipe-device':
      return `wipe ${step.device}: everything on it is lost`;
    case 'create-vg':
      return `create volume group ${step.vg} on ${showList(step.devices)}`;
    case 'extend-vg':
      return `add ${showList(step.devices)} to volume group ${step.vg}`;
    case 'evacuate-pv':
      return `move everything on ${step.device} to other devices of ${step.vg}`;
    case 'reduce-vg':
      return `take ${step.device} out of volume group ${step.vg}`;
    case 'drop-missing':
      return `forget the devices that the empty volume group ${step.vg} lost when it was made`;
    case 'remove-pv':
      return `clear the LVM label of ${step.device}`;
    case 'remove-vg':
      return `remove volume group ${step.vg}`;
    case 'create-thin-pool':
      return `create thin pool ${step.vg}/${step.pool} of ${showBytes(step.sizeBytes)}`;
    case 'extend-thin-pool':
      return `grow thin pool ${step.vg}/${step.lv} to ${showBytes(step.sizeBytes)}`;
    case 'extend-thin-pool-metadata':
      return `grow the metadata of ${step.vg}/${step.lv} to ${showBytes(step.metadataBytes)}`;
    case 'create-lv':
      return `create ${step.layout.kind} volume ${step.vg}/${step.lv} of ${showBytes(step.sizeBytes)}`;
    case 'extend-lv':
      return `grow ${step.vg}/${step.lv} to ${showBytes(step.sizeBytes)}`;
    case 'create-thin-snapshot':
    case 'create-cow-snapshot':
      return `create snapshot ${step.vg}/${step.lv} of ${step.origin}`;
    case 'activate-lv':
      return `activate ${step.vg}/${step.lv}`;
    case 'change-tags':
      return `change the tags of ${step.vg}/${step.lv}`;
    case 'copy-range':
      return `copy ${showBytes(step.lengthBytes)} of ${step.from} to ${step.lv}`;
    case 'zero-range':
      return `overwrite ${showBytes(step.lengthBytes)} of ${step.vg}/${step.lv} with zeroes`;
    case 'remove-lv':
      return `remove ${step.vg}/${step.lv}`;
  }
}
