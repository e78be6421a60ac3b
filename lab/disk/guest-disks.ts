import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { checkDisk, type DiskSpec } from '../spec.ts';
import type { DiskFault } from './fault.ts';
import { worldWideName } from './scsi-pages.ts';
import type { DiskShelf } from './shelf.ts';
import type { PowerLoss } from './store.ts';

type Slot = {
  readonly spec: DiskSpec;
  /** The disk's name on the shelf, where all guests' disks are side by side. */
  readonly key: string;
  readonly unit: number;
  readonly shared: boolean;
  plugged: boolean;
};

export type PluggedDisk = {
  readonly spec: DiskSpec;
  readonly key: string;
  readonly unit: number;
  /** Hexadecimal, as in `/sys/block/X/device/wwid` after "naa.". */
  readonly wwn: string;
};

/** The disks of one guest. They stay when the guest goes down. */
export class GuestDisks {
  readonly #guest: string;
  readonly #shelf: DiskShelf;
  readonly #directory: string;
  readonly #slots = new Map<string, Slot>();
  #lastUnit = 0;

  constructor(guest: string, shelf: DiskShelf, directory: string) {
    this.#guest = guest;
    this.#shelf = shelf;
    this.#directory = directory;
  }

  async add(spec: DiskSpec): Promise<void> {
    const key = `${this.#guest}.${spec.name}`;
    const full = { ...spec, serial: spec.serial ?? `QRY-${this.#guest}-${spec.name}` };
    await createDisk(this.#shelf, this.#directory, key, full);
    await this.#plugNew(full, key, { shared: false });
  }

  /** Plugs a disk that other guests have as well; `key` names it on the shelf. */
  async addShared(spec: DiskSpec, key: string): Promise<void> {
    await this.#plugNew(spec, key, { shared: true });
  }

  async unplug(name: string): Promise<void> {
    const slot = this.#slot(name);
    slot.plugged = false;
    await this.#shelf.order({ op: 'unplug', client: this.#guest, disk: slot.key });
  }

  async plug(name: string): Promise<void> {
    const slot = this.#slot(name);
    slot.plugged = true;
    const { key, unit } = slot;
    await this.#shelf.order({ op: 'plug', client: this.#guest, disk: key, unit });
  }

  /** What the guest should see. */
  plugged(): readonly PluggedDisk[] {
    return [...this.#slots.values()].filter((slot) => slot.plugged).map(pluggedDisk);
  }

  find(name: string): PluggedDisk {
    return pluggedDisk(this.#slot(name));
  }

  async setFault(name: string, fault: DiskFault): Promise<void> {
    await this.#shelf.order({ op: 'fault', disk: this.#slot(name).key, fault });
  }

  async save(name: string, path: string): Promise<void> {
    await this.#shelf.order({ op: 'save', disk: this.#slot(name).key, path });
  }

  /** To be called when the guest is down: its requests on the way must not arrive any more. */
  async losePower(loss: PowerLoss): Promise<void> {
    await this.#shelf.order({ op: 'drop-client', client: this.#guest });
    for (const { key, shared } of this.#slots.values()) {
      // A shared disk has a power supply of its own.
      if (!shared) await this.#shelf.order({ op: 'lose-power', disk: key, loss });
    }
  }

  async #plugNew(spec: DiskSpec, key: string, { shared }: { shared: boolean }): Promise<void> {
    if (this.#slots.has(spec.name)) throw new Error(`${this.#guest} has a disk ${spec.name}`);
    this.#lastUnit += 1;
    this.#slots.set(spec.name, { spec, key, unit: this.#lastUnit, shared, plugged: false });
    await this.plug(spec.name);
  }

  #slot(name: string): Slot {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`${this.#guest} has no disk ${name}`);
    return slot;
  }
}

function pluggedDisk({ spec, key, unit }: Slot): PluggedDisk {
  return { spec, key, unit, wwn: worldWideName(spec.serial ?? key).toString('hex') };
}

export async function createDisk(
  shelf: DiskShelf,
  directory: string,
  key: string,
  spec: DiskSpec,
): Promise<void> {
  checkDisk(spec);
  const path = join(directory, `disk-${key}`);
  if (spec.imageFile !== undefined) await copyFile(spec.imageFile, path);
  await shelf.order({
    op: 'create',
    disk: key,
    path,
    sizeBytes: Number(spec.sizeBytes),
    writeCache: spec.writeCache ?? 'volatile',
    filled: spec.imageFile !== undefined,
    identity: { vendor: 'QUARRY', model: spec.model ?? 'LAB DISK', serial: spec.serial ?? key },
  });
}
