import { type Blocked, blocked } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';

const allowed = /^[A-Za-z0-9_+.][A-Za-z0-9_+.-]*$/;
/** LVM keeps these for its own parts. */
const reservedStart = /^(snapshot|pvmove)/;
const reservedPart =
  /_(mlog|mimage|rimage|rmeta|rdisk|tdata|tmeta|cdata|cmeta|cvol|vdata|vorigin|wcorig|iorig|corig|pmspare|imeta)/;

/** Names that LVM would refuse, or that would mean something else to it. */
export function checkLvName(name: string, vg: string): Blocked | undefined {
  if (name === '' || name === '.' || name === '..') return invalid(name, 'it is empty or dots');
  if (name.length > limits.lvNameLengthMax) {
    return invalid(name, `it is longer than ${limits.lvNameLengthMax} characters`);
  }
  if (!allowed.test(name)) return invalid(name, 'only letters, digits and . _ + - are allowed');
  if (reservedStart.test(name) || reservedPart.test(name)) {
    return invalid(name, 'LVM keeps this name for itself');
  }
  const device = dmName(vg, name);
  if (device.length > limits.dmNameLengthMax) {
    const most = limits.dmNameLengthMax;
    return invalid(
      name,
      `with its group ${vg} it makes a device name of more than ${most} characters`,
    );
  }
  return undefined;
}

/** The device-mapper name of a volume: hyphens of both names are doubled. */
export function dmName(vg: string, lv: string): string {
  const double = (text: string) => text.replaceAll('-', '--');
  return `${double(vg)}-${double(lv)}`;
}

function invalid(name: string, why: string): Blocked {
  return blocked('InvalidName', `${show(name)} is not a volume name: ${why}`);
}

/** Made and removed at once, so that lvm sends what it still has to say to a thin pool. */
export function messengerName(pool: string): string {
  return `${pool}.messenger`;
}

/** The snapshot that a copied clone reads from; it lives only while the copy runs. */
export function copySourceName(clone: string): string {
  return `${clone}.copy`;
}
