import { dmName } from '../api/lv-name.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { ObservedLv, ObservedVg } from '../core/observed.ts';
import { within } from './deadline.ts';
import type { Clock, Host } from './ports.ts';

/** The kernel's numbers of a volume; nothing where it has no device, or the device no answer. */
export async function deviceNumber(
  doors: { readonly host: Host; readonly clock: Clock },
  vg: ObservedVg,
  lv: ObservedLv,
): Promise<{ readonly major: number; readonly minor: number } | undefined> {
  if (!lv.isActive) return undefined;
  const path = `/dev/mapper/${dmName(vg.name, lv.name)}`;
  const failure = () => new OperationError('CommandTimedOut', `${path} gave no answer`);
  try {
    const look = doors.host.inspect(path);
    const { number } = await within(doors.clock, look, { ms: limits.fileTimeoutMs, failure });
    const [, major, minor] = /^(\d+):(\d+)$/.exec(number) ?? [];
    return major === undefined ? undefined : { major: Number(major), minor: Number(minor) };
  } catch (error) {
    if (error instanceof OperationError) return undefined;
    throw error;
  }
}
