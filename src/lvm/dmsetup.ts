import { OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';

export type MappedDevice = {
  readonly name: string;
  /** The volume group it belongs to, without hyphens; undefined when LVM did not make it. */
  readonly vgUuid: string | undefined;
  /** It holds back its I/O. */
  readonly isSuspended: boolean;
};

/** LVM's dm UUIDs are `LVM-`, the group's UUID and the volume's UUID, both without hyphens. */
const lvmUuid = /^LVM-([A-Za-z0-9]{32})[A-Za-z0-9]{32}/;

/**
 * `dmsetup info` with name, UUID and state; "No devices found" is printed when there are none. A
 * line that is cut off must not pass for a device that is well.
 */
export function parseDevices(output: string): readonly MappedDevice[] {
  if (output === 'No devices found\n') return [];
  if (!output.endsWith('\n')) throw unreadable(output);
  return output
    .trimEnd()
    .split('\n')
    .map(readLine)
    .map(({ name, uuid, state }) => ({
      ...{ name, vgUuid: lvmUuid.exec(uuid)?.[1], isSuspended: state === 'Suspended' },
    }));
}

/** Names of other systems' devices may have colons in them; UUIDs and states have none. */
const line = /^(?<name>.*):(?<uuid>[^:]*):(?<state>Active|Suspended)$/;

function readLine(text: string): { name: string; uuid: string; state: string } {
  const { name, uuid, state } = line.exec(text.trim())?.groups ?? {};
  if (name === undefined || uuid === undefined || state === undefined) throw unreadable(text);
  return { name, uuid, state };
}

/** Names of devices that nobody may write to. */
export function parseReadOnly(output: string): ReadonlySet<string> {
  const lines = output.split('\n').map((text) => text.trim());
  const mark = ':Read-only';
  return new Set(
    lines.filter((text) => text.endsWith(mark)).map((text) => text.slice(0, -mark.length)),
  );
}

function unreadable(text: string): OperationError {
  return new OperationError('UnreadableReport', `dmsetup printed ${show(text.slice(-200))}`);
}

export function isInVg(device: MappedDevice, vgUuid: string): boolean {
  return device.vgUuid === vgUuid.replaceAll('-', '');
}
