import { Admin } from './admin.ts';
import { DiskCaches } from './caches.ts';
import { Chance } from './chance.ts';
import { FakeClock } from './clock.ts';
import { activate, isUnusable } from './commands/lvchange.ts';
import { type Content, isSame } from './content.ts';
import { type DeviceSpec, makeDevices, plainDisks } from './devices.ts';
import { FakeHost } from './fake-host.ts';
import { Faults } from './faults.ts';
import { type Destruction, Machine } from './machine.ts';
import { type Lv, type Vg, virtualBytes } from './model.ts';
import { ProcessTable } from './process-table.ts';
import { writeData } from './writes.ts';

export type WorldSpec = {
  readonly seed: number;
  /** Four plain disks of 1 GiB unless told otherwise. */
  readonly devices?: readonly DeviceSpec[];
  /** Text files the host can read. */
  readonly files?: Readonly<Record<string, string>>;
  /** Disks forget in a power cut what was not flushed. */
  readonly hasVolatileCaches?: boolean;
  /** Shared by several machines of one world. */
  readonly clock?: FakeClock;
};

/** One fake machine with its disks, its LVM, its clock and its bad luck. */
export class FakeWorld {
  readonly seed: number;
  readonly chance: Chance;
  readonly clock: FakeClock;
  readonly machine: Machine;
  readonly faults: Faults;
  readonly admin: Admin;
  readonly processes: ProcessTable;
  readonly files: Map<string, string>;
  readonly #hosts: FakeHost[] = [];

  constructor(spec: WorldSpec) {
    this.seed = spec.seed;
    this.chance = new Chance(spec.seed);
    this.clock = spec.clock ?? new FakeClock(this.chance.fork());
    const devices = makeDevices(spec.devices ?? plainDisks(4), this.chance.fork());
    this.machine = new Machine({ clock: this.clock, chance: this.chance.fork(), devices });
    if (spec.hasVolatileCaches === true) this.machine.caches = new DiskCaches(this.machine);
    this.faults = new Faults(this.chance.fork());
    this.processes = new ProcessTable(this.machine, this.faults);
    this.admin = new Admin(this.machine);
    this.files = new Map(Object.entries(spec.files ?? {}));
  }

  /** A door for one life of our process. */
  host(): FakeHost {
    const host = new FakeHost(this.machine, this.processes, this.files);
    this.#hosts.push(host);
    return host;
  }

  vgs(): readonly Vg[] {
    return this.machine.visibleVgs();
  }

  vg(name: string): Vg | undefined {
    return this.machine.findVg(name);
  }

  lv(vgName: string, lvName: string): Lv | undefined {
    const [first, ...twins] = this.machine.vgs.filter((vg) => vg.name === vgName);
    // Of two groups with one name, the one whose disks are here.
    const vg = twins.length === 0 ? first : (this.machine.findVg(vgName) ?? first);
    return vg?.lvs.find((lv) => lv.name === lvName);
  }

  /** Somebody writes to a volume; tells why that failed. */
  write(lv: Lv, offsetBytes: bigint | number, lengthBytes: bigint | number): string | undefined {
    return writeData(this.machine, lv, {
      start: Number(offsetBytes),
      length: Number(lengthBytes),
    });
  }

  content(lv: Lv): Content {
    return lv.content;
  }

  /** Do two volumes hold the same over the whole size of the first? */
  holdsSame(a: Lv, b: Lv): boolean {
    return isSame(a.content, b.content, virtualBytes(a));
  }

  /** What is gone for good, oldest first. */
  get destroyed(): readonly Destruction[] {
    return this.machine.destroyed;
  }

  get spawns(): ReadonlyMap<string, number> {
    return this.processes.spawns;
  }

  /** Commands the fake did not understand. Tests end with this empty. */
  get unknown(): readonly string[] {
    return this.processes.unknown;
  }

  /** Every process dies at once; running changes are done or not, as luck has it. */
  cutPower(options: { readonly autoActivate: boolean } = { autoActivate: true }): void {
    for (const host of this.#hosts) host.die();
    this.processes.cutPower();
    this.machine.frozen.clear();
    this.machine.caches?.lose(this.chance);
    this.machine.table.clear();
    for (const lv of this.machine.vgs.flatMap((vg) => vg.lvs)) {
      lv.users.clear();
      lv.isActive = false;
      lv.isSuspended = false;
    }
    if (!options.autoActivate) return;
    for (const lv of this.machine.visibleVgs().flatMap((vg) => vg.lvs)) {
      if (!lv.skipsActivation && !isUnusable(this.machine, lv)) activate(lv);
    }
  }
}

export function fakeWorld(spec: WorldSpec): FakeWorld {
  return new FakeWorld(spec);
}
