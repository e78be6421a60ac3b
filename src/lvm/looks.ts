import { limits } from '../base/limits.ts';
import type { Command } from './command.ts';

/** The commands that only look. Each has its parser in a file of its own. */

const fields = {
  vg: [
    ...['vg_name', 'vg_uuid', 'vg_size', 'vg_free', 'vg_extent_size', 'vg_tags', 'vg_partial'],
    ...['vg_exported', 'vg_permissions', 'vg_lock_type', 'vg_systemid', 'vg_seqno'],
    ...['vg_mda_size', 'vg_mda_free'],
  ],
  pv: [
    ...['pv_uuid', 'pv_name', 'pv_size', 'pv_free', 'pv_missing', 'pv_allocatable'],
    ...['pv_duplicate', 'pv_tags'],
  ],
  lv: [
    ...['lv_uuid', 'lv_name', 'lv_size', 'lv_tags', 'lv_attr', 'lv_layout', 'lv_role'],
    ...['origin', 'origin_uuid', 'origin_size', 'pool_lv', 'data_percent', 'metadata_percent'],
    ...['lv_metadata_size', 'sync_percent', 'lv_health_status', 'lv_host'],
  ],
  seg: ['lv_uuid', 'seg_start', 'segtype', 'stripes', 'data_stripes', 'chunk_size'],
} as const;

/** Without this, a report in JSON swallows the errors too, and stderr stays empty. */
const errorsToStderr = 'log { report_command_log=0 }';

/** One look at all of a host's LVM. */
export const lookHost: Command = read([
  'lvm',
  'fullreport',
  // A disk that failed once is left out of lvm's hints, and would stay missing when it is well.
  '--nohints',
  ...['--config', errorsToStderr],
  ...reportFlags(),
  ...Object.entries(fields).flatMap(([report, names]) => [
    ...['--configreport', report, '--options', names.join(',')],
  ]),
  ...['--configreport', 'pvseg', '--options', ','],
]);

const seeEverything = 'devices { use_devicesfile=0 filter=["a|.*|"] global_filter=["a|.*|"] }';

/**
 * What LVM finds on every device, member of a group or not, with the devices file and all filters
 * switched off. A device that is not in this list was not looked at: nothing is known of it.
 */
export const lookLabels: Command = read([
  'lvm',
  'pvs',
  '--all',
  ...['--config', `${seeEverything} ${errorsToStderr}`],
  ...reportFlags(),
  ...['--options', 'pv_name,pv_uuid,vg_name,pv_duplicate'],
]);

/** MOUNTPOINTS would say more, but RHEL 8's lsblk has no such column: mounts are read from /proc. */
export const lookBlockDevices: Command = read([
  'lsblk',
  '--json',
  '--bytes',
  '--paths',
  '--all',
  '--output',
  [
    ...['NAME', 'KNAME', 'MAJ:MIN', 'TYPE', 'SIZE', 'RO', 'STATE', 'MODEL', 'SERIAL', 'WWN'],
    ...['MOUNTPOINT', 'FSTYPE', 'PTTYPE', 'PARTLABEL', 'PARTTYPE'],
  ].join(','),
]);

/** Mounts as the host's first process sees them, not as our container does. */
export const mountsPath = '/proc/1/mountinfo';
export const swapsPath = '/proc/swaps';
export const linksDirectory = '/dev/disk';

export const lookLoopDevices: Command = read([
  ...(['losetup', '--json', '--list', '--output', 'NAME,BACK-FILE'] as const),
]);

/** All device-mapper devices, with those that a killed lvm command left suspended or behind. */
export const lookMapped: Command = read([
  ...(['dmsetup', 'info', '--columns', '--noheadings', '--separator', ':'] as const),
  ...['--options', 'name,uuid,suspended'],
]);

/** Parts that an administrator activated on their own, to look at them, can be read only. */
export const lookAccess: Command = read([
  ...(['dmsetup', 'info', '--columns', '--noheadings', '--separator', ':'] as const),
  ...['--options', 'name,read_only'],
]);

/** Two probes of what is on a device; a fault in either means "unknown", never "nothing". */
export function probeWipefs(device: string): Command {
  return read(['wipefs', '--json', '--no-act', device]);
}

export function probeBlkid(device: string): Command {
  return read(['blkid', '--probe', '--output', 'export', device]);
}

export function resumeDevice(dmName: string): Command {
  return changeDevice(['dmsetup', 'resume', dmName]);
}

/** The kernel forgets the device, and refuses to while somebody has it open. No data is touched. */
export function dropDevice(dmName: string): Command {
  return changeDevice(['dmsetup', 'remove', dmName]);
}

/** The kernel takes the volume as lvm's books have it now. One that is inactive stays so. */
export function reloadVolume(vg: string, lv: string, lvUuid: string): Command {
  return changeDevice([
    'lvm',
    'lvchange',
    '--refresh',
    '--select',
    `lv_uuid=${lvUuid}`,
    `${vg}/${lv}`,
  ]);
}

function changeDevice(argv: Command['argv']): Command {
  return { argv, effect: 'changes', timeoutMs: limits.changeTimeoutMs };
}

function reportFlags(): readonly string[] {
  return ['--reportformat', 'json', '--units', 'b', '--nosuffix'];
}

function read(argv: Command['argv']): Command {
  return { argv, effect: 'reads', timeoutMs: limits.readTimeoutMs };
}
