import { type Arguments, isOutcome, option, sizeOption, values } from '../argv.ts';
import type { Mishap } from '../faults.ts';
import { isInUse, type Machine, refuseDuplicates, vgToChange } from '../machine.ts';
import { type Device, freeExtentsOf, type Pv, type Vg } from '../model.ts';
import { selects } from '../select.ts';
import { type Outcome, Voice } from '../text.ts';

const mib = 1024 ** 2;

export const volumeGroupOptions = {
  vgcreate: { metadatasize: 'value', addtag: 'value', physicalextentsize: 'value', yes: 'flag' },
  vgextend: { metadatasize: 'value', yes: 'flag' },
  vgreduce: { yes: 'flag', removemissing: 'flag' },
  vgremove: { select: 'value', yes: 'flag' },
  pvremove: { yes: 'flag', config: 'value' },
} as const;

export function vgcreate(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  const [name = '', ...paths] = parsed.words;
  const metadataBytes = sizeOption(parsed, 'metadatasize');
  const extentBytes = sizeOption(parsed, 'physicalextentsize') ?? 4 * mib;
  if (typeof metadataBytes === 'object') return metadataBytes;
  if (typeof extentBytes === 'object') return extentBytes;
  // The kernel has its volumes also while none of its disks is there.
  if (machine.vgs.some((vg) => vg.name === name && vg.lvs.some((lv) => lv.isActive))) {
    voice.complain(`/dev/${name}: already exists in filesystem`);
    return voice.complain("Run `vgcreate --help' for more information.").end(3);
  }
  if (machine.findVg(name) !== undefined) {
    return voice.fail(`A volume group called ${name} already exists.`);
  }
  const made = makePvs(machine, paths, metadataBytes ?? mib - 4096, voice);
  if (isOutcome(made)) return made;
  if (mishap === 'dies-after-labels') return voice.end(5);
  const vg: Vg = {
    name,
    uuid: machine.chance.lvmUuid(),
    extentBytes,
    tags: [],
    sequence: 1,
    pvs: [],
    lvs: [],
    spare: undefined,
    moves: [],
    isExported: false,
    isReadOnly: false,
    systemId: '',
    lockType: '',
    writtenBy: machine.commandLine,
  };
  vg.pvs = made.map((device) => pvOn(device, vg));
  vg.tags = sortedTags(values(parsed, 'addtag'));
  machine.vgs.push(vg);
  for (const device of made) machine.recordJoining(vg, device);
  return voice.say(`Volume group "${name}" successfully created`).end();
}

export function vgextend(machine: Machine, parsed: Arguments, mishap?: Mishap): Outcome {
  const voice = new Voice();
  const [name = '', ...paths] = parsed.words;
  const metadataBytes = sizeOption(parsed, 'metadatasize');
  if (typeof metadataBytes === 'object') return metadataBytes;
  // LVM labels the devices first and looks for the group only then.
  const made = makePvs(machine, paths, metadataBytes ?? mib - 4096, voice);
  if (isOutcome(made)) return made;
  const vg = vgToChange(machine, name, voice, { mayBePartial: true });
  if (isOutcome(vg)) return vg;
  const refusal = refuseDuplicates(machine, vg, voice);
  if (refusal !== undefined) return refusal;
  if (mishap === 'dies-after-labels') return voice.end(5);
  vg.pvs.push(...made.map((device) => pvOn(device, vg)));
  for (const device of made) machine.recordJoining(vg, device);
  machine.commit(vg);
  return voice.say(`Volume group "${name}" successfully extended`).end();
}

export function vgreduce(machine: Machine, parsed: Arguments): Outcome {
  const voice = new Voice();
  const [name = '', path = ''] = parsed.words;
  if (option(parsed, 'removemissing') !== undefined) return removeMissing(machine, name, voice);
  if (machine.device(path) === undefined) {
    return voice.fail(`Cannot use ${path}: device not found`);
  }
  const vg = vgToChange(machine, name, voice);
  if (isOutcome(vg)) {
    const isKnown = machine.findVg(name) !== undefined;
    return isKnown ? voice.fail(`Failed to find physical volume "${path}".`) : vg;
  }
  const device = machine.device(path);
  const pv = vg.pvs.find((candidate) => machine.deviceOf(candidate) === device);
  if (pv === undefined || device === undefined) {
    return voice.fail(`Failed to find physical volume "${path}".`);
  }
  if (freeExtentsOf(pv) !== pv.extents) {
    return voice.fail(`Physical volume "${device.path}" still in use`);
  }
  if (vg.pvs.length === 1) {
    return voice.fail(
      `Can't remove final physical volume "${device.path}" from volume group "${name}"`,
    );
  }
  vg.pvs = vg.pvs.filter((candidate) => candidate !== pv);
  machine.recordDevice('vgreduce', device, pv.uuid);
  machine.commit(vg);
  return voice.say(`Removed "${device.path}" from volume group "${name}"`).end();
}

/** Only what no volume uses is forgotten: with volumes on it lvm wants --force. */
function removeMissing(machine: Machine, name: string, voice: Voice): Outcome {
  const vg = vgToChange(machine, name, voice, { mayBePartial: true });
  if (isOutcome(vg)) return vg;
  const missing = machine.missingPvs(vg);
  if (missing.some((pv) => freeExtentsOf(pv) !== pv.extents)) {
    return voice.fail(`There are still partial LVs in VG ${name}.`);
  }
  vg.pvs = vg.pvs.filter((pv) => !missing.includes(pv));
  machine.commit(vg);
  return voice.say(`Wrote out consistent volume group ${name}.`).end();
}

export function vgremove(machine: Machine, parsed: Arguments): Outcome {
  const voice = new Voice();
  const [name = ''] = parsed.words;
  const vg = vgToChange(machine, name, voice, { mayBePartial: true });
  if (isOutcome(vg)) return vg;
  const selection = option(parsed, 'select');
  if (selection !== undefined && !selects(machine, selection, vg)) return voice.end();
  const missing = machine.missingPvs(vg).length;
  if (missing > 0) {
    voice.complain(`WARNING: ${missing} physical volumes are currently missing from the system.`);
  }
  const refusal = refuseDuplicates(machine, vg, voice);
  if (refusal !== undefined) return refusal;
  if (vg.lvs.length > 0) {
    voice.err(
      `Do you really want to remove volume group "${name}" containing ` +
        `${vg.lvs.length} logical volumes? [y/n]: [n]`,
    );
    return voice.fail(`Volume group "${name}" not removed`);
  }
  removeVg(machine, vg);
  return voice.say(`Volume group "${name}" successfully removed`).end();
}

export function removeVg(machine: Machine, vg: Vg): void {
  machine.vgs = machine.vgs.filter((other) => other !== vg);
  machine.destroyed.push({
    deed: 'vgremove',
    what: vg.name,
    uuid: vg.uuid,
    heldData: vg.lvs.length > 0,
    wasInUse: vg.lvs.some((lv) => lv.isActive),
    tags: [...vg.tags],
    atMs: machine.clock.nowMs(),
  });
}

export function pvremove(machine: Machine, parsed: Arguments): Outcome {
  const voice = new Voice();
  const [path = ''] = parsed.words;
  const device = machine.device(path);
  if (device === undefined) return voice.fail(`No device found for ${path}.`);
  const isListless = option(parsed, 'config') === 'devices/use_devicesfile=0';
  if (machine.unlisted.has(device.path) && !isListless) {
    return voice.fail(`Cannot use ${device.path}: device is not in devices file`);
  }
  const { label } = device;
  if (label === undefined) return voice.fail(`No PV found on device ${path}.`);
  const vg = machine.vgOfPv(label.pvUuid);
  if (vg !== undefined) {
    voice.complain(`PV ${device.path} is used by VG ${vg.name} so please use vgreduce first.`);
    voice.complain('(If you are certain you need pvremove, then confirm by using --force twice.)');
    return voice.fail(`${device.path}: physical volume label not removed.`);
  }
  machine.recordDevice('pvremove', device, label.pvUuid);
  unlabel(device);
  return voice.say(`Labels on physical volume "${device.path}" successfully wiped.`).end();
}

export function unlabel(device: Device): void {
  device.label = undefined;
  device.content = {
    ...device.content,
    signatures: device.content.signatures.filter(({ type }) => type !== 'LVM2_member'),
  };
}

/** All devices get labels, or none does. Orphans are labelled anew. */
function makePvs(
  machine: Machine,
  paths: readonly string[],
  metadataBytes: number,
  voice: Voice,
): readonly Device[] | Outcome {
  const missing = paths.filter((path) => machine.device(path) === undefined);
  for (const path of missing) voice.complain(`No device found for ${path}.`);
  if (missing.length > 0) return voice.end(5);
  const devices = paths.flatMap((path) => machine.device(path) ?? []);
  for (const device of devices) {
    const refusal = refuseLabel(machine, device, voice);
    if (refusal !== undefined) return refusal;
  }
  const fresh = devices.filter((device) => device.label === undefined);
  for (const device of fresh) {
    label(machine, device, metadataBytes);
    voice.say(`Physical volume "${device.path}" successfully created.`);
  }
  // Devices that were labelled before stand first in the group.
  return [...devices.filter((device) => !fresh.includes(device)), ...fresh];
}

function refuseLabel(machine: Machine, device: Device, voice: Voice): Outcome | undefined {
  const owner = device.label === undefined ? undefined : machine.vgOfPv(device.label.pvUuid);
  if (owner !== undefined) {
    voice.complain(`Physical volume '${device.path}' is already in volume group '${owner.name}'`);
    voice.complain(
      `Unable to add physical volume '${device.path}' to volume group '${owner.name}'`,
    );
    return voice.fail(`${device.path}: physical volume not initialized.`);
  }
  if (device.isReadOnly) {
    return voice.fail(`Cannot use ${device.path}: device is read only`);
  }
  if (device.partitionTable !== '') {
    voice.complain(`Cannot use ${device.path}: device is partitioned`);
    return voice.fail('Command requires all devices to be found.');
  }
  if (isInUse(device)) {
    voice.complain(`Can't open ${device.path} exclusively.  Mounted filesystem?`);
    voice.complain(`Can't open ${device.path} exclusively.  Mounted filesystem?`);
    voice.complain(`Error opening device ${device.path} for reading at 0 length 4096.`);
    return voice.fail(`Cannot use ${device.path}: device has a signature`);
  }
  const found = device.content.signatures.filter(({ type }) => type !== 'LVM2_member');
  const [first] = found;
  if (first === undefined) return undefined;
  voice.err(
    `WARNING: ${first.type} signature detected on ${device.path} at offset ` +
      `${first.offset}. Wipe it? [y/n]: [n]`,
  );
  voice.complain(`Aborted wiping of ${first.type}.`);
  return voice.fail(`${found.length} existing signature left on the device.`);
}

export function label(machine: Machine, device: Device, metadataBytes: number): void {
  const pvUuid = machine.chance.lvmUuid();
  device.label = { pvUuid, metadataBytes: areaBytes(metadataBytes) };
  device.content = {
    ...device.content,
    signatures: [
      ...device.content.signatures,
      { type: 'LVM2_member', usage: 'raid', uuid: pvUuid, label: '', offset: 0x218 },
    ],
  };
}

/** The metadata area starts at 4 KiB and reaches to the next whole MiB: extents start there. */
export function areaBytes(metadataBytes: number): number {
  return Math.ceil((metadataBytes + 4096) / mib) * mib - 4096;
}

function pvOn(device: Device, vg: Vg): Pv {
  const { pvUuid, metadataBytes } = device.label ?? { pvUuid: '', metadataBytes: 0 };
  const usable = device.sizeBytes - metadataBytes - 4096;
  const extents = Math.max(0, Math.floor(usable / vg.extentBytes));
  return {
    uuid: pvUuid,
    device: device.path,
    deviceBytes: device.sizeBytes,
    metadataBytes,
    extents,
    free: extents > 0 ? [{ start: 0, count: extents }] : [],
    isAllocatable: true,
    isFlaggedMissing: false,
    sequence: vg.sequence,
    tags: [],
  };
}

export function sortedTags(tags: readonly string[]): string[] {
  return [...new Set(tags)];
}
