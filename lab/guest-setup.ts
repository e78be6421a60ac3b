import type { PluggedDisk } from './disk/guest-disks.ts';
import type { GuestSpec } from './spec.ts';

export type GuestAddress = {
  readonly ip: string;
  readonly gateway: string;
  /** How the guest reaches its disks, or nothing where they are plugged in from outside. */
  readonly storage: { readonly ip: string; readonly portal: string } | undefined;
};

/** The shell script that turns a freshly booted guest into the one that was asked for. */
export function guestSetupScript(
  spec: GuestSpec,
  address: GuestAddress,
  disks: readonly PluggedDisk[],
): string {
  const udev = spec.udev ?? true;
  return [
    'set -e',
    `hostname ${spec.name}`,
    `echo ${spec.name} >/etc/hostname`,
    `printf '127.0.0.1 localhost\\n${address.ip} ${spec.name}\\n' >/etc/hosts`,
    // LVM and systemd programs want an identity that stays when the guest is started again.
    `printf %s ${spec.name} | md5sum | cut -c1-32 >/etc/machine-id`,
    'ip link set lo up',
    'device=vec0; [ -e /sys/class/net/vec0 ] || device=eth0',
    `ip addr add ${address.ip}/24 dev $device`,
    'ip link set $device up',
    `ip route add default via ${address.gateway}`,
    'modprobe -a loop dm-mod dm-thin-pool dm-snapshot',
    // kubelet refuses a cpuinfo without a clock rate, and UML's has none.
    `if grep -q 'User Mode Linux' /proc/cpuinfo; then`,
    `printf '${cpuInfo}' >/run/cpuinfo`,
    'mount --bind /run/cpuinfo /proc/cpuinfo',
    'fi',
    `cat >/etc/lvm/lvm.conf <<'LVM_CONFIG'`,
    lvmConfigOf(spec),
    'LVM_CONFIG',
    attachDisksCommand(spec.name, address, disks),
    ...(udev ? udevLines : []),
  ].join('\n');
}

/** Makes the guest see these disks; those it already sees are left alone. */
export function attachDisksCommand(
  guestName: string,
  { storage }: GuestAddress,
  disks: readonly PluggedDisk[],
): string {
  if (disks.length === 0) return ':';
  const way = storage === undefined ? '- -' : `${storage.ip} ${storage.portal}`;
  const names = disks.map((disk) => disk.wwn).join(' ');
  return `/quarry/lab/guest/attach-disks ${guestName} ${way} ${names}`;
}

/**
 * multipath-tools brings these. They start a program for each event of a device without an identity
 * of SCSI, such as every volume: a sixth of all that a guest does while it makes one.
 */
const idleRules = ['55-scsi-sg3_id.rules', '58-scsi-sg3_symlink.rules'];

const udevLines: readonly string[] = [
  'mkdir -p /run/udev/rules.d',
  ...idleRules.map((name) => `ln -sf /dev/null /run/udev/rules.d/${name}`),
  '/usr/lib/systemd/systemd-udevd --daemon 2>/dev/null',
  'udevadm trigger --subsystem-match=block --subsystem-match=misc --action=add',
  'udevadm settle',
];

const cpuInfo = [
  'processor\\t: 0',
  'vendor_id\\t: GenuineIntel',
  'cpu family\\t: 6',
  'model\\t\\t: 143',
  'model name\\t: User Mode Linux',
  'cpu MHz\\t\\t: 2300.000',
  'physical id\\t: 0',
  'siblings\\t: 1',
  'core id\\t\\t: 0',
  'cpu cores\\t: 1',
  '',
].join('\\n');

function lvmConfigOf(spec: GuestSpec): string {
  const udev = spec.udev ?? true;
  const withoutUdev = [
    'activation { udev_sync = 0 udev_rules = 0 }',
    'devices { obtain_device_list_from_udev = 0 external_device_info_source = "none" }',
  ];
  return [
    `devices { use_devicesfile = ${spec.devicesFile === true ? 1 : 0} }`,
    ...(udev ? [] : withoutUdev),
    spec.lvmConfig ?? '',
  ].join('\n');
}
