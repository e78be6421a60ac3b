import type { LvmVolumeGroupStatus } from '../../api/objects/lvm-volume-group.ts';
import { showQuantity } from '../../api/quantity.ts';
import type { Configuration, RefusedClass } from '../configuration.ts';
import type { DeviceClass } from '../device-class.ts';
import { findVg, type ObservedHost } from '../observed.ts';
import { raidReport, warningsOf } from './node-report.ts';

/** lvmd.yaml of a node, and what of it is in force. */
export type LvmdSight = {
  readonly file: string;
  readonly isMissing: boolean;
  /** What is in force. */
  readonly source: Configuration['source'];
  /** What is wrong with the file. */
  readonly problems: readonly string[];
  /** Everything that volumes can be in. */
  readonly classes: readonly DeviceClass[];
  readonly refused: readonly RefusedClass[];
  /** Classes that the file no longer has, with volumes in them. */
  readonly retired: readonly string[];
};

/**
 * What a node tells where lvmd.yaml is its administrator's: the file, when something is wrong with
 * it, and each of its classes. The path is a name that no class can have.
 */
export function externalReport(
  lvmd: LvmdSight,
  host: ObservedHost,
): readonly LvmVolumeGroupStatus[] {
  const classes = lvmd.classes.map((one) => classReport(one, lvmd, host));
  const inOrder = classes.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const { file: name } = lvmd;
  const wrong = fileStanding(lvmd);
  return wrong === undefined ? inOrder : [{ name, ...wrong, ...ofAdministrator }, ...inOrder];
}

export const missingText = 'there is no such file';
export const keptText = ', and what it said last stays in force';

/** Is it what a node tells of its file, and not of a class? */
export function isFileName(name: string): boolean {
  return name.startsWith('/');
}

const ofAdministrator = { deviceDiscoveryPolicy: 'Preconfigured' } as const;

type Standing = { readonly status: 'Failed' | 'Degraded'; readonly reason: string };

function fileStanding(lvmd: LvmdSight): Standing | undefined {
  const { isMissing, source, problems, classes } = lvmd;
  if (isMissing) {
    const kept = classes.length === 0 ? '' : keptText;
    const reason = `${missingText}${kept}: write it, it says what this node has`;
    return { status: 'Failed', reason };
  }
  if (classes.length === 0) {
    return { status: 'Failed', reason: 'it has no device class: list at least one' };
  }
  if (source === 'file' && problems.length === 0) return undefined;
  return { status: 'Degraded', reason: `${inForce[source]}: ${problems.join('; ')}` };
}

const inForce: { readonly [source in LvmdSight['source']]: string } = {
  file: 'it is in force as far as it can be',
  'sound-part': 'only its classes without a fault are in force',
  'last-good': 'it is not in force, and what it said last is',
};

function classReport(
  { name, vg: vgName }: DeviceClass,
  lvmd: LvmdSight,
  host: ObservedHost,
): LvmVolumeGroupStatus & { readonly name: string } {
  const reason = lvmd.refused.find((one) => one.name === name)?.reason;
  const vg = findVg(host, vgName);
  if (vg === undefined) {
    const why = reason ?? `there is no volume group ${vgName}`;
    return { name, status: 'Failed', reason: why, ...ofAdministrator };
  }
  const isBroken = vg.pvs.some(({ isMissing }) => isMissing);
  // What its administrator took out of the file is as it should be.
  const isWell = !isBroken && (reason === undefined || lvmd.retired.includes(name));
  const remarks = [...(reason === undefined ? [] : [reason]), ...warningsOf(vg, host)];
  const raid = raidReport(vg);
  return {
    ...{ name, status: isWell ? 'Ready' : 'Degraded' },
    ...(isWell ? {} : { reason: remarks.join('; ') }),
    ...{ size: showQuantity(vg.sizeBytes), free: showQuantity(vg.freeBytes) },
    ...(isWell && remarks.length > 0 ? { warnings: remarks } : {}),
    devices: vg.pvs.map(({ device }) => device).toSorted(),
    ...ofAdministrator,
    ...(raid === undefined ? {} : { raidStatus: raid }),
  };
}
