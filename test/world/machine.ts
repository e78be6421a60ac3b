import { releaseSegments } from './allocate.ts';
import type { DiskCaches } from './caches.ts';
import type { Chance } from './chance.ts';
import type { FakeClock } from './clock.ts';
import { holdsData } from './content.ts';
import { metadataRoomOf, metadataText } from './metadata-text.ts';
import { type Device, freeExtentsOf, type Lv, type Pv, strandsOf, type Vg } from './model.ts';
import { MountTable } from './mount-table.ts';
import type { Outcome, Voice } from './text.ts';

/** The disks and the kernel of one fake machine, and what became of what was on them. */
export class Machine {
  readonly clock: FakeClock;
  readonly chance: Chance;
  readonly devices: Device[];
  vgs: Vg[] = [];
  readonly destroyed: Destruction[] = [];
  /** Devices that became part of a group, in order. */
  readonly joined: Joining[] = [];
  readonly table = new MountTable();
  /** Volumes whose file system is frozen: all writing to them waits. */
  readonly frozen = new Set<Lv>();
  /** Where holders of frozen file systems left a note, because they were killed. */
  readonly freezeNotes = new Set<string>();
  kernelRelease = '6.12.0-fake';
  /** Thin pools with blocks that no volume has: what a power cut during a discard leaves. */
  readonly leaking = new Set<Lv>();
  /** Parts of RAIDs, by their suffix, that a killed lvm left active without the whole. */
  readonly strayParts = new Map<Lv, Set<string>>();
  /** Of these volumes the parts were activated by hand: they can be read only. */
  readonly openedByHand = new Set<Lv>();
  /** Disks, by their paths, that lvm's list of devices will have when they are in a group. */
  readonly unlisted = new Set<string>();
  /** Set where disks forget in a power cut what was not flushed. */
  caches: DiskCaches | undefined;
  /** Who hears udev. */
  readonly deviceListeners = new Set<() => void>();
  /** How often it says nothing, says it late, or twice. */
  udevRate = 0;
  /** What runs right now, for the notes LVM keeps. */
  commandLine = '';
  /** As commands find it; one may be started under another. */
  hostName = 'n1';
  /** Volumes that a killed lvcreate made on the way to a thin pool, under names of lvm's own. */
  readonly leftParts = new Set<string>();
  /** How long initial RAID synchronisation takes for each GiB. */
  syncMsPerGiB = 2_000;
  #stamp = 0;

  constructor(parts: {
    readonly clock: FakeClock;
    readonly chance: Chance;
    readonly devices: Device[];
  }) {
    this.clock = parts.clock;
    this.chance = parts.chance;
    this.devices = parts.devices;
  }

  tellDevices(): void {
    const tellAll = () => {
      for (const tell of this.deviceListeners) tell();
    };
    if (this.udevRate === 0 || !this.chance.happens(this.udevRate)) {
      tellAll();
      return;
    }
    const kind = this.chance.pick(['lost', 'lost', 'late', 'doubled'] as const);
    if (kind === 'doubled') tellAll();
    if (kind !== 'lost') this.clock.after(this.chance.between(1_000, 60_000), tellAll, 'udev');
  }

  /** Never used before: two writes are equal only if one was copied from the other. */
  nextStamp(): number {
    this.#stamp += 1;
    return this.#stamp;
  }

  /** All devices that can be seen, partitions too. */
  present(): readonly Device[] {
    return this.devices
      .filter((device) => device.isPresent)
      .flatMap((device) => [device, ...device.partitions]);
  }

  device(path: string): Device | undefined {
    return this.present().find((device) => device.path === path || device.links.includes(path));
  }

  /** The devices that carry a PV; more than one means a copy or a second path. */
  devicesOf(pvUuid: string): readonly Device[] {
    const found: Device[] = [];
    for (const device of this.devices) {
      if (!device.isPresent) continue;
      if (device.label?.pvUuid === pvUuid) found.push(device);
      for (const part of device.partitions) if (part.label?.pvUuid === pvUuid) found.push(part);
    }
    return found;
  }

  deviceOf(pv: Pv): Device | undefined {
    const found = this.devicesOf(pv.uuid);
    return found.find((device) => device.path === pv.device) ?? found[0];
  }

  /** One that came back is missed on only while volumes use it: what they lost is not known. */
  isMissing(pv: Pv): boolean {
    if (this.deviceOf(pv) === undefined) return true;
    return pv.isFlaggedMissing && freeExtentsOf(pv) !== pv.extents;
  }

  /** A group is only known while one of its devices is there to tell of it. */
  visibleVgs(): readonly Vg[] {
    return this.vgs.filter((vg) => vg.pvs.some((pv) => this.deviceOf(pv) !== undefined));
  }

  findVg(name: string): Vg | undefined {
    return this.visibleVgs().find((vg) => vg.name === name);
  }

  findLv(vg: Vg, name: string): Lv | undefined {
    return vg.lvs.find((lv) => lv.name === name);
  }

  vgOfPv(pvUuid: string): Vg | undefined {
    return this.vgs.find((vg) => vg.pvs.some((pv) => pv.uuid === pvUuid));
  }

  /** Every active volume with the minor number of its device; the kernel keeps it without disks. */
  minors(): ReadonlyMap<Lv, number> {
    return this.table.minors(this.vgs.flatMap((vg) => vg.lvs.filter((lv) => lv.isActive)));
  }

  minorOf(lv: Lv): number {
    return this.minors().get(lv) ?? -1;
  }

  /** The volume behind a device number, while it is active. */
  volumeOf(number: string): Lv | undefined {
    return [...this.minors()].find(([, minor]) => number === `254:${minor}`)?.[0];
  }

  missingPvs(vg: Vg): readonly Pv[] {
    return vg.pvs.filter((pv) => this.isMissing(pv));
  }

  /** Writes the metadata; each time LVM does so the sequence rises. */
  commit(vg: Vg, times = 1): void {
    vg.sequence += times;
    vg.writtenBy = this.commandLine;
    for (const pv of vg.pvs) {
      const device = this.deviceOf(pv);
      pv.device = device?.path ?? '[unknown]';
      pv.isFlaggedMissing = this.isMissing(pv);
      if (device !== undefined) pv.sequence = vg.sequence;
    }
  }

  /** Why the metadata of a group cannot be written with so much more in it. */
  metadataRefusal(vg: Vg, voice: Voice): Outcome | undefined {
    const needed = metadataText(vg).length;
    const room = metadataRoomOf(vg);
    if (needed <= room) return undefined;
    voice.complain(
      `VG ${vg.name} ${vg.sequence + 1} metadata on ${vg.pvs[0]?.device} (${needed} bytes) ` +
        `exceeds maximum metadata size (${room} bytes)`,
    );
    return voice.fail(`Failed to write VG ${vg.name}.`);
  }

  /** Takes a volume and its extents away. */
  drop(lv: Lv): void {
    for (const { strand } of strandsOf(lv)) releaseSegments(strand.segments);
    lv.vg.lvs = lv.vg.lvs.filter((other) => other !== lv);
    lv.isActive = false;
    for (const other of lv.vg.lvs) {
      if (other.body.kind === 'thin' && other.body.origin === lv) other.body.origin = undefined;
    }
  }

  recordLv(deed: Destruction['deed'], lv: Lv, how: Pick<Destruction, 'isDiscarded'> = {}): void {
    this.destroyed.push({
      ...how,
      deed,
      what: `${lv.vg.name}/${lv.name}`,
      uuid: lv.uuid,
      heldData: holdsData(lv.content),
      wasInUse: lv.users.size > 0,
      tags: [...lv.tags],
      atMs: this.clock.nowMs(),
    });
  }

  recordJoining(vg: Vg, device: Device): void {
    this.unlisted.delete(device.path);
    const { path, links, wwn, isBroken, openBy } = device;
    const twins = this.present().filter((other) => other.wwn === wwn && other.type === device.type);
    this.joined.push({
      ...{ vg: vg.name, vgUuid: vg.uuid, names: [path, ...links], atMs: this.clock.nowMs() },
      isDoubtful: isBroken || openBy !== '' || (wwn !== '' && twins.length > 1),
    });
  }

  recordDevice(deed: Destruction['deed'], device: Device, uuid: string): void {
    this.destroyed.push({
      ...{ signatures: device.content.signatures.map(({ type }) => type) },
      deed,
      what: device.path,
      uuid,
      heldData: holdsData(device.content),
      wasInUse: isInUse(device) || device.openBy !== '',
      tags: [],
      atMs: this.clock.nowMs(),
    });
  }
}

/** A device became part of a group. */
export type Joining = {
  readonly vg: string;
  readonly vgUuid: string;
  readonly names: readonly string[];
  readonly atMs: number;
  /** It cannot be read, another device says that it is the same, or somebody writes to it. */
  readonly isDoubtful: boolean;
};

/** One thing that is gone for good, and whether anybody could miss it. */
export type Destruction = {
  /** `overwrite`: it was written to where it held something; right only while it is a copy. */
  readonly deed:
    | 'wipefs'
    | 'lvremove'
    | 'vgremove'
    | 'pvremove'
    | 'vgreduce'
    | 'overwrite'
    | 'mkfs'
    | 'zeroout';
  readonly what: string;
  readonly uuid: string;
  readonly heldData: boolean;
  readonly wasInUse: boolean;
  /** The disks were told that nobody needs its blocks any more. */
  readonly isDiscarded?: boolean;
  /** Of a device: what a probe had found on it. */
  readonly signatures?: readonly string[];
  readonly tags: readonly string[];
  readonly atMs: number;
};

export function isInUse(device: Device): boolean {
  return device.mountPoints.length > 0 || device.isSwap || device.isHeld;
}

/** The group a changing command names, with LVM's warnings said; or why it cannot be changed. */
export function vgToChange(
  machine: Machine,
  name: string,
  voice: Voice,
  options: { readonly mayBePartial: boolean } = { mayBePartial: false },
): Vg | Outcome {
  const vg = machine.findVg(name);
  if (vg === undefined) {
    voice.complain(`Volume group "${name}" not found`);
    return voice.fail(`Cannot process volume group ${name}`);
  }
  for (const line of duplicateWarnings(machine)) voice.complain(line);
  for (const line of stateWarnings(machine, vg)) voice.complain(line);
  if (vg.isExported) {
    return voice.fail(`Volume group ${name} is exported`);
  }
  if (machine.missingPvs(vg).length > 0 && !options.mayBePartial) {
    voice.complain(`Cannot change VG ${name} while PVs are missing.`);
    voice.complain('See vgreduce --removemissing and vgextend --restoremissing.');
    return voice.fail(`Cannot process volume group ${name}`);
  }
  return vg;
}

/** One PV on two devices: LVM uses one of them and says which. */
export function duplicateWarnings(machine: Machine): readonly string[] {
  const uuids = new Set(machine.present().flatMap((device) => device.label?.pvUuid ?? []));
  return [...uuids].flatMap((uuid) => {
    const [first, ...others] = machine.devicesOf(uuid);
    if (first === undefined || others.length === 0) return [];
    const isUsed = machine.vgOfPv(uuid)?.lvs.some((lv) => lv.isActive) ?? false;
    const why = isUsed ? 'device is used by LV' : 'device name matches previous';
    return [
      ...others.map((other) => `WARNING: Not using device ${other.path} for PV ${uuid}.`),
      `WARNING: PV ${uuid} prefers device ${first.path} because ${why}.`,
    ];
  });
}

export function hasDuplicates(machine: Machine, vg: Vg): boolean {
  return vg.pvs.some((pv) => machine.devicesOf(pv.uuid).length > 1);
}

export function refuseDuplicates(machine: Machine, vg: Vg, voice: Voice): Outcome | undefined {
  if (!hasDuplicates(machine, vg)) return undefined;
  return voice.fail(`Cannot update volume group ${vg.name} with duplicate PV devices.`);
}

/** What LVM says about devices that are away or were, whenever it reads the group. */
export function stateWarnings(machine: Machine, vg: Vg): readonly string[] {
  return vg.pvs.flatMap((pv) => {
    const device = machine.deviceOf(pv);
    if (device === undefined) {
      return [
        `WARNING: Couldn't find device with uuid ${pv.uuid}.`,
        `WARNING: VG ${vg.name} is missing PV ${pv.uuid} (last written to ${pv.device}).`,
      ];
    }
    return pv.sequence < vg.sequence ? oldMetadataWarnings(machine, vg, pv, device) : [];
  });
}

function oldMetadataWarnings(
  machine: Machine,
  vg: Vg,
  pv: Pv,
  { path }: Device,
): readonly string[] {
  const newest = vg.pvs.find((other) => other.sequence === vg.sequence);
  return [
    `WARNING: ignoring metadata seqno ${pv.sequence} on ${path} for seqno ${vg.sequence} on ` +
      `${newest?.device} for VG ${vg.name}.`,
    `WARNING: Inconsistent metadata found for VG ${vg.name}.`,
    'See vgck --updatemetadata to correct inconsistency.',
    `WARNING: VG ${vg.name} was previously updated while PV ${path} was missing.`,
    machine.isMissing(pv)
      ? `WARNING: VG ${vg.name} was missing PV ${path} ${pv.uuid}.`
      : `WARNING: VG ${vg.name} has unused reappeared PV ${path} ${pv.uuid}.`,
  ];
}
