import { limits } from '../base/limits.ts';

const allowed = /^[A-Za-z0-9_+.][A-Za-z0-9_+.-]*$/;
/** LVM keeps these for its own parts. */
const reservedStart = /^(snapshot|pvmove)/;
const reservedPart =
  /_(mlog|mimage|rimage|rmeta|rdisk|tdata|tmeta|cdata|cmeta|cvol|vdata|vorigin|wcorig|iorig|corig|pmspare|imeta)/;

/** Why LVM would refuse a name, or take it for something else: undefined when it is good. */
export function lvNameProblem(name: string, vg: string): string | undefined {
  if (name === '' || name === '.' || name === '..') return 'it is empty or dots';
  if (name.length > limits.lvNameLengthMax) {
    return `it is longer than ${limits.lvNameLengthMax} characters`;
  }
  if (!allowed.test(name)) {
    return 'only letters, digits and . _ + - are allowed, and no - in front';
  }
  if (reservedStart.test(name) || reservedPart.test(name)) return 'LVM keeps this name for itself';
  if (dmName(vg, name).length <= limits.dmNameLengthMax) return undefined;
  const most = limits.dmNameLengthMax;
  return `with its group ${vg} it makes a device name of more than ${most} characters`;
}

/** The device-mapper name of a volume: hyphens of both names are doubled. */
export function dmName(vg: string, lv: string): string {
  const double = (text: string) => text.replaceAll('-', '--');
  return `${double(vg)}-${double(lv)}`;
}
