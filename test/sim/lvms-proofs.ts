import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroupStatus } from '../../src/api/objects/lvm-volume-group.ts';
import type { Machine } from '../cluster/machine.ts';
import { type Device, freeExtents, freeExtentsOf, type Vg } from '../world/model.ts';
import { isOneOf, membersOf, type Naming, namedBy, vgOn, whyNotFree } from './lvms-truth.ts';

/** A class on one node: what was wanted, and what the node tells of it. */
export type Told = {
  readonly machine: Machine;
  readonly one: LvmDeviceClass;
  readonly told: LvmVolumeGroupStatus;
  /** Other groups of the node. */
  readonly others: readonly Naming[];
  /** Was it named for just this class, and is it not any more? */
  readonly isGivenUp: (device: Device) => boolean;
};

/** What is wrong with what a node tells, by what is on its disks. */
export function standingFindings(of: Told): readonly string[] {
  const { told, machine, one } = of;
  const where = `${one.name} on ${machine.name}`;
  const { status = '', reason = '' } = told;
  const isTrue = status === 'Ready' ? unready(of) : disproof(of);
  const devices = deviceFindings(of);
  const said = `${where} is ${status}${reason === '' ? '' : ` (${reason})`}`;
  return [...isTrue.map((why) => `${said}: ${why}`), ...devices.map((why) => `${where}: ${why}`)];
}

/** Why a class that is said to be Ready cannot be. */
function unready({ machine, one, others, told, isGivenUp }: Told): readonly string[] {
  const vg = vgOn(machine, one.name);
  if (vg === undefined) return ['there is no group'];
  const { world } = machine;
  const missing = world.machine.missingPvs(vg).length;
  const left = wantedDevices(machine, one, others).filter(
    (device) => takesNew(one) && whyNotFree(device, machine) === undefined,
  );
  const named = namedBy(one);
  // One that was taken before anything was named stays, and is told.
  const said = (told.warnings ?? []).join();
  const strange = membersOf(machine, vg).filter(
    (device) =>
      named.length > 0 &&
      !isOneOf(device, named) &&
      (!said.includes(device.path) || isGivenUp(device)),
  );
  const pool = vg.lvs.find(({ name }) => name === one.thinPoolConfig?.name);
  const isServed = machine.desired.deviceClasses.some(({ name }) => name === one.name);
  return [
    ...(vg.tags.includes('lvms') ? [] : ['the group is somebody else’s']),
    ...(missing > 0 ? [`${missing} devices are missing`] : []),
    // What is moved stays locked.
    ...vg.moves.map(() => 'a device of it is half emptied'),
    ...(vg.pvs.length < devicesMin(one) ? ['it has too few devices for a volume'] : []),
    ...left.map(({ path }) => `${path} is wanted and free, and is not taken`),
    ...strange.map(({ path }) => `${path} is in it, and is not wanted any more`),
    ...(one.thinPoolConfig === undefined || pool?.type === 'thin-pool' ? [] : ['it has no pool']),
    ...(pool?.isActive === false ? ['its pool is not active'] : []),
    ...(isServed ? [] : ['lvmd.yaml does not serve it']),
  ];
}

/** A class without paths takes what there is when it is made, and later if it shall. */
function takesNew(one: LvmDeviceClass): boolean {
  return namedBy(one).length > 0 || one.deviceDiscoveryPolicy !== 'Static';
}

function wantedDevices(
  { world }: Machine,
  one: LvmDeviceClass,
  others: readonly Naming[],
): readonly Device[] {
  const named = namedBy(one);
  const theirs = others.flatMap(namedBy);
  return world.machine
    .present()
    .filter((device) => !isOneOf(device, theirs))
    .filter((device) => named.length === 0 || isOneOf(device, named));
}

/** Why the reason that a node gives is not so. */
function disproof(of: Told): readonly string[] {
  const { reason = '' } = of.told;
  const [, code = ''] = /^(?:thin pool \S+: )?([A-Za-z]+): /.exec(reason) ?? [];
  const proof = proofs[code];
  if (proof === undefined) return ['that is no reason'];
  return proof(of, reason) ? [] : ['that is not so'];
}

type Proof = (of: Told, reason: string) => boolean;

const proofs: Readonly<Record<string, Proof>> = {
  DeviceNotFound: ({ machine }, reason) =>
    pathsIn(reason).every((path) => machine.world.machine.device(path) === undefined),
  DeviceNotUsable: (of, reason) => pathsIn(reason).every((path) => isUnusable(of, path)),
  NoUsableDevices: ({ machine, one, others }) =>
    wantedDevices(machine, one, others).every(
      (device) => whyNotFree(device, machine) !== undefined,
    ),
  VolumeGroupPartial: ({ machine, one }) => {
    const vg = vgOn(machine, one.name);
    return vg !== undefined && machine.world.machine.missingPvs(vg).length > 0;
  },
  VolumeGroupLost: ({ machine, one }, reason) =>
    vgOn(machine, one.name) === undefined &&
    (machine.world.machine.vgs.some(({ name }) => name === one.name) ||
      // Nobody can know what is on a disk that is away.
      (reason.includes('(begun on ') &&
        machine.world.machine.devices.some(({ isPresent }) => !isPresent))),
  VolumeGroupForeign: ({ machine, one }) =>
    vgOn(machine, one.name)?.tags.includes('lvms') === false,
  InsufficientCapacity: isFull,
  DeviceStays: (of, reason) => {
    if (reason.includes(' would be left')) return isFew(of, reason);
    return unseenText.test(reason) ? isUnseen(of, reason) : isFull(of, reason);
  },
  LayoutNeedsDevices: isFew,
};

/** `DeviceNotUsable: /dev/sdb: it is mounted; /dev/sdc: there is no such device` */
function pathsIn(reason: string): readonly string[] {
  return [...reason.matchAll(/(?:^|[:;] )(\/dev\/[^\s:]+(?::[^\s:]+)*): /g)].map(
    ([, path = '']) => path,
  );
}

function isUnusable({ machine, one, others }: Told, path: string): boolean {
  const device = machine.world.machine.device(path);
  if (device === undefined || isOneOf(device, others.flatMap(namedBy))) return true;
  const vg = vgOn(machine, one.name);
  const isMember = vg !== undefined && membersOf(machine, vg).includes(device);
  // The last device never leaves, and neither does one of a group that takes no new ones.
  if (isMember) return vg.pvs.length === 1;
  return whyNotFree(device, machine) !== undefined;
}

const unseenText = /^DeviceStays: (\/dev\/\S+) stays in \S+ while there is no (.+): it may be /;

/** It is in the group by a name that nobody names any more, and one that must be there is not. */
function isUnseen({ machine, one }: Told, reason: string): boolean {
  const [, path, unseen = ''] = unseenText.exec(reason) ?? [];
  const vg = vgOn(machine, one.name);
  const members = vg === undefined ? [] : membersOf(machine, vg);
  const device = members.find((each) => each.path === path);
  if (device === undefined || isOneOf(device, namedBy(one))) return false;
  const required = one.deviceSelector?.paths ?? [];
  return unseen
    .split(/, | and /)
    .every((name) => required.includes(name) && machine.world.machine.device(name) === undefined);
}

/** A device cannot leave for lack of room, or a pool cannot be made. */
function isFull({ machine, one }: Told, reason: string): boolean {
  const vg = vgOn(machine, one.name);
  if (vg === undefined) return false;
  if (reason.includes('it is the last device')) return vg.pvs.length === 1;
  const [, path] = /: (\/dev\/\S+) holds /.exec(reason) ?? [];
  if (path !== undefined) return isTight(machine, vg, path);
  return freeExtents(vg) * vg.extentBytes < 256 * 1024 ** 2;
}

/** Volumes of the class lie on more devices than the group has, or than would be left. */
function isFew({ machine, one }: Told, reason: string): boolean {
  const vg = vgOn(machine, one.name);
  if (vg === undefined) return false;
  const members = membersOf(machine, vg);
  const [, path] = /^DeviceStays: (\/dev\/\S+) stays in /.exec(reason) ?? [];
  if (path === undefined) return members.length < devicesMin(one);
  const device = members.find((each) => each.path === path);
  const isWanted = device === undefined || isOneOf(device, namedBy(one));
  return !isWanted && members.length - 1 < devicesMin(one);
}

/** Of the only kind that stories have. */
function devicesMin({ raidConfig: raid }: Pick<LvmDeviceClass, 'raidConfig'>): number {
  return raid?.type === 'raid1' ? (raid.mirrors ?? 1) + 1 : 1;
}

function isTight({ world }: Machine, vg: Vg, path: string): boolean {
  const pv = vg.pvs.find((one) => world.machine.deviceOf(one)?.path === path);
  if (pv === undefined) return false;
  return pv.extents - freeExtentsOf(pv) > freeExtents(vg) - freeExtentsOf(pv);
}

function labelled({ world }: Machine): readonly string[] {
  const orphans = world.machine
    .present()
    .filter(({ label }) => label !== undefined && world.machine.vgOfPv(label.pvUuid) === undefined);
  return orphans.map(({ path }) => path);
}

/** Each disk is in the group, is told with a reason, or is really there to be taken. */
function deviceFindings({ machine, one, told, others }: Told): readonly string[] {
  const vg = vgOn(machine, one.name);
  const members = vg === undefined ? [] : membersOf(machine, vg).map(({ path }) => path);
  const listed = (told.devices ?? []).filter((path) => path !== '[unknown]');
  const excluded = new Set((told.excluded ?? []).map(({ name }) => name));
  // What is away is in it all the same, and was where it was last.
  const all = machine.world.machine.vgs.filter(({ name }) => name === one.name);
  const last = all.flatMap(({ pvs }) => pvs.map(({ device }) => device));
  // What has just left bears its label until the others, which are away, have flushed that.
  const leaving = vg !== undefined || all.length === 0 ? [] : labelled(machine);
  const wrong = listed.filter((path) => ![...members, ...last, ...leaving].includes(path));
  const untold = members.filter((path) => !listed.includes(path));
  const wanted = wantedDevices(machine, one, others);
  const silent = machine.world.machine.devices
    .filter(({ path, isPresent }) => isPresent && !members.includes(path) && !excluded.has(path))
    .filter((device) => !wanted.includes(device) || whyNotFree(device, machine) !== undefined)
    // Who wants no more disks does not look for them.
    .filter(() => told.status !== 'Ready' || told.deviceDiscoveryPolicy === 'RuntimeDynamic');
  return [
    ...wrong.map((path) => `${path} is told to be in it, and is not`),
    ...untold.map((path) => `${path} is in it, and is not told`),
    ...silent.map(({ path }) => `${path} is not in it, and nobody says why`),
  ];
}
