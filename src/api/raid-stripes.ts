import { limits } from '../base/limits.ts';

/** LVM counts the disks of a RAID with their parity and copies, and has a limit of its own there. */
export function stripesMaxOf(type: string | undefined): number {
  const { stripesMax, raidImagesMax } = limits;
  switch (type) {
    case 'raid4':
    case 'raid5':
      return raidImagesMax - 1;
    case 'raid6':
      return raidImagesMax - 2;
    case 'raid10':
      return raidImagesMax / 2;
    default:
      return stripesMax;
  }
}
