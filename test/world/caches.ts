import type { Chance } from './chance.ts';
import type { Content } from './content.ts';
import type { Machine } from './machine.ts';
import type { Device, Lv, PvLabel, Vg } from './model.ts';

/**
 * Disks that say "written" before it is true. lvm does not empty their caches, so a change lives
 * through a power cut for certain only after somebody flushed the devices. Data of volumes is
 * kept: whoever writes it and wants it back has flushed it.
 */
export class DiskCaches {
  readonly #machine: Machine;
  readonly #groups = new Map<string, Vg>();
  readonly #labels = new Map<Device, { readonly label?: PvLabel; readonly content: Content }>();

  constructor(machine: Machine) {
    this.#machine = machine;
    this.flush(machine.present().map((device) => device.path));
  }

  flush(paths: readonly string[]): void {
    const flushed = new Set<Device>();
    for (const device of paths.flatMap((path) => this.#machine.device(path) ?? [])) {
      const { label, content } = device;
      this.#labels.set(device, label === undefined ? { content } : { label, content });
      flushed.add(device);
    }
    for (const vg of this.#machine.visibleVgs()) {
      const devices = vg.pvs.map((pv) => this.#machine.deviceOf(pv));
      if (devices.some((device) => device !== undefined && flushed.has(device))) {
        this.#groups.set(vg.uuid, structuredClone(vg));
      }
    }
  }

  /** The power goes: what was not flushed is lost or not, each device by its own luck. */
  lose(chance: Chance): void {
    const machine = this.#machine;
    for (const [device, kept] of this.#labels) {
      const isSame = device.label?.pvUuid === kept.label?.pvUuid;
      if (isSame || !chance.happens(0.5)) continue;
      device.label = kept.label;
      device.content = kept.content;
    }
    machine.vgs = machine.vgs.flatMap((vg) => {
      const kept = this.#groups.get(vg.uuid);
      if (kept?.sequence === vg.sequence || !chance.happens(0.5)) return [vg];
      return kept === undefined ? [] : [revive(kept, vg)];
    });
    // Also on a disk that is out of its slot.
    const devices = machine.devices.flatMap((disk) => [disk, ...disk.partitions]);
    const labels = new Set(devices.map(({ label }) => label?.pvUuid));
    machine.vgs = machine.vgs.filter((vg) => vg.pvs.some(({ uuid }) => labels.has(uuid)));
  }
}

/** The group as it was, with what the volumes that are in both hold now. */
function revive(kept: Vg, lost: Vg): Vg {
  const vg = structuredClone(kept);
  for (const lv of vg.lvs) {
    const newer = lost.lvs.find((other) => other.uuid === lv.uuid);
    if (newer !== undefined) carryData(lv, newer);
  }
  return vg;
}

function carryData(lv: Lv, newer: Lv): void {
  lv.content = newer.content;
  if (lv.body.kind === 'thin' && newer.body.kind === 'thin') lv.body.map = newer.body.map;
  if (lv.body.kind === 'cow' && newer.body.kind === 'cow') {
    lv.body.copied = newer.body.copied;
    lv.body.isInvalid = newer.body.isInvalid;
  }
}
