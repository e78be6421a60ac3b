import { lvAt } from './commands/devices.ts';
import { write } from './content.ts';
import { signatureOf } from './devices.ts';
import type { Machine } from './machine.ts';
import type { Device, Lv, Vg } from './model.ts';
import { execute } from './programs.ts';
import type { Outcome } from './text.ts';

/** A person at the machine, who does not ask us and needs no lock. */
export class Admin {
  readonly #machine: Machine;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  /** Any command the fake understands, done at once; it must succeed. */
  run(...argv: readonly string[]): Outcome {
    const outcome = execute(this.#machine, argv);
    if (outcome?.exitCode === 0) return outcome;
    throw new Error(`${argv.join(' ')}: ${outcome?.stderr ?? 'no such command'}`);
  }

  lvrename(vgName: string, from: string, to: string): void {
    this.#lv(vgName, from).name = to;
    this.#machine.commit(this.#vg(vgName));
  }

  vgrename(from: string, to: string): void {
    const vg = this.#vg(from);
    vg.name = to;
    this.#machine.commit(vg);
  }

  /** The same name, but another volume: whoever remembers only the name is fooled. */
  replaceLv(vgName: string, lvName: string): Lv {
    const { extents, vg } = this.#lv(vgName, lvName);
    this.run('lvm', 'lvremove', '--yes', `${vgName}/${lvName}`);
    const size = `${extents * vg.extentBytes}b`;
    this.run('lvm', 'lvcreate', '--yes', '--size', size, '--name', lvName, vgName);
    return this.#lv(vgName, lvName);
  }

  /** Makes a file system on a disk or a volume, whatever is there. */
  mkfs(path: string, type = 'ext4'): void {
    const stamp = this.#machine.nextStamp();
    const target = this.#machine.device(path) ?? lvAt(this.#machine, path);
    if (target === undefined) throw new Error(`there is no ${path}`);
    const signature = signatureOf(type, this.#machine.chance);
    const written = write(target.content, { start: 0, end: 1024 ** 2, stamp });
    target.content = { ...written, signatures: [signature] };
    if ('label' in target) target.label = undefined;
  }

  mount(path: string, at: string): void {
    const device = this.#machine.device(path);
    if (device !== undefined) device.mountPoints.push(at);
    else this.#lvAt(path).users.add(at);
  }

  unmount(at: string): void {
    for (const device of this.#machine.present()) {
      device.mountPoints = device.mountPoints.filter((point) => point !== at);
    }
    for (const vg of this.#machine.vgs) for (const lv of vg.lvs) lv.users.delete(at);
  }

  /** The disk is out of its slot; what is on it stays on it. */
  pull(path: string): void {
    this.#anyDevice(path).isPresent = false;
    this.#machine.tellDevices();
  }

  insert(path: string): void {
    this.#anyDevice(path).isPresent = true;
    this.#machine.tellDevices();
  }

  /** Two disks are found in another order: each has the name of the other. */
  renumber(one: string, other: string): void {
    const [a, b] = [this.#anyDevice(one), this.#anyDevice(other)];
    [a.path, b.path] = [b.path, a.path];
    [a.number, b.number] = [b.number, a.number];
  }

  breakDisk(path: string): void {
    this.#anyDevice(path).isBroken = true;
  }

  /** Copies a disk's label onto another: two devices with one identity. */
  cloneLabel(from: string, to: string): void {
    const source = this.#anyDevice(from);
    const target = this.#anyDevice(to);
    target.label = source.label;
    target.content = { ...target.content, signatures: source.content.signatures };
  }

  exportVg(name: string): void {
    this.#vg(name).isExported = true;
  }

  #anyDevice(path: string): Device {
    const found = this.#machine.devices.find((device) => device.path === path);
    if (found === undefined) throw new Error(`there is no disk ${path}`);
    return found;
  }

  #vg(name: string): Vg {
    const vg = this.#machine.vgs.find((candidate) => candidate.name === name);
    if (vg === undefined) throw new Error(`there is no group ${name}`);
    return vg;
  }

  #lv(vgName: string, name: string): Lv {
    const lv = this.#vg(vgName).lvs.find((candidate) => candidate.name === name);
    if (lv === undefined) throw new Error(`there is no volume ${vgName}/${name}`);
    return lv;
  }

  #lvAt(path: string): Lv {
    const lv = lvAt(this.#machine, path);
    if (lv === undefined) throw new Error(`there is no ${path}`);
    return lv;
  }
}
