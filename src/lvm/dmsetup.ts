/** A device-mapper device that holds back its I/O. */
export type SuspendedDevice = {
  readonly name: string;
  /** The volume group it belongs to, without hyphens; undefined when LVM did not make it. */
  readonly vgUuid: string | undefined;
};

/** LVM's dm UUIDs are `LVM-`, the group's UUID and the volume's UUID, both without hyphens. */
const lvmUuid = /^LVM-([A-Za-z0-9]{32})[A-Za-z0-9]{32}/;

/** `dmsetup info` with name, UUID and state; "No devices found" is printed when there are none. */
export function parseSuspended(output: string): readonly SuspendedDevice[] {
  return output
    .split('\n')
    .map((line) => line.trim().split(':'))
    .flatMap(([name = '', uuid = '', state = '']) =>
      state === 'Suspended' ? [{ name, vgUuid: lvmUuid.exec(uuid)?.[1] }] : [],
    );
}

export function isInVg(device: SuspendedDevice, vgUuid: string): boolean {
  return device.vgUuid === vgUuid.replaceAll('-', '');
}
