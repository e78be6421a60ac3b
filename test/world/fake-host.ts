import { OperationError } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';
import type { FsSpace } from '../../src/core/publication/status.ts';
import type { FileStep } from '../../src/core/publication/step.ts';
import type {
  DeviceLink,
  DeviceUser,
  Host,
  PathFacts,
  Running,
  Signal,
} from '../../src/engine/ports.ts';
import type { Command } from '../../src/lvm/command.ts';
import { kernelReleasePath } from '../../src/lvm/freeze-argv.ts';
import { mountsPath, swapsPath } from '../../src/lvm/looks.ts';
import { isOpenByLvm, lvAt } from './commands/devices.ts';
import { holdFreeze } from './commands/freeze.ts';
import { fsSpace, inspectPath, sysFile } from './fake-files.ts';
import { isInUse, type Machine } from './machine.ts';
import { never, type ProcessTable } from './process-table.ts';
import { fileProgram } from './programs.ts';
import { mountInfo, swaps } from './reports/block-devices.ts';
import { superblockBytes } from './superblock-bytes.ts';

/**
 * The door to a fake machine for one life of a process. Once that process has died nothing comes
 * through it any more: promises stay open for ever, as they do in a process that is gone.
 */
export class FakeHost implements Host {
  readonly #machine: Machine;
  readonly #processes: ProcessTable;
  readonly #files: ReadonlyMap<string, string>;
  readonly #deathWatchers: (() => void)[] = [];
  #isDead = false;

  constructor(
    machine: Machine,
    processes: ProcessTable,
    files: ReadonlyMap<string, string> = new Map(),
  ) {
    this.#machine = machine;
    this.#processes = processes;
    this.#files = files;
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** The process ends here and now. Commands it started go on without it. */
  die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    for (const tell of this.#deathWatchers) tell();
  }

  /** For whoever starts the process again. */
  onDeath(tell: () => void): void {
    this.#deathWatchers.push(tell);
  }

  start(command: Command, signal?: Signal, heard?: (text: string) => void): Running {
    if (this.#isDead) return { result: never(), gone: never() };
    if (command.isHeld === true) return this.#hold(command);
    const running = this.#processes.start(command, signal, {
      die: () => this.die(),
      isDead: () => this.#isDead,
      hear: (text) => {
        if (!this.#isDead) heard?.(text);
      },
    });
    return { result: this.#whileAlive(running.result), gone: this.#whileAlive(running.gone) };
  }

  /** Its input ends when it is released, and when we are gone. */
  #hold(command: Command): Running {
    const { result, gone, ready, release } = holdFreeze(this.#machine, command.argv);
    this.onDeath(() => release?.());
    return {
      result: this.#whileAlive(result),
      gone: this.#whileAlive(gone),
      ...(ready === undefined ? {} : { ready: this.#whileAlive(ready) }),
      ...(release === undefined ? {} : { release }),
    };
  }

  async strays(): Promise<readonly string[]> {
    await this.#shortly();
    return this.#processes.strays();
  }

  async exclusiveOpen(path: string): Promise<'free' | 'busy' | 'unknown'> {
    await this.#shortly();
    const device = this.#machine.device(path);
    if (device === undefined) {
      const lv = lvAt(this.#machine, path);
      if (lv === undefined) return 'unknown';
      return lv.users.size > 0 ? 'busy' : 'free';
    }
    if (device.isBroken) return 'unknown';
    const all = [device, ...device.partitions];
    return all.some((item) => isInUse(item) || isOpenByLvm(this.#machine, item)) ? 'busy' : 'free';
  }

  async deviceUsers(): Promise<readonly DeviceUser[]> {
    await this.#shortly();
    const all = this.#machine.present().flatMap((device) => [device, ...device.partitions]);
    const open = all.filter(({ openBy }) => openBy !== '');
    return open.map(({ number, openBy }) => ({ number, by: openBy }));
  }

  async links(directory: string): Promise<readonly DeviceLink[]> {
    await this.#shortly();
    const below = directory.endsWith('/') ? directory : `${directory}/`;
    return this.#machine
      .present()
      .flatMap((device) =>
        device.links
          .filter((link) => link.startsWith(below))
          .map((link) => ({ link, device: device.path })),
      );
  }

  onDevices(tell: () => void): () => void {
    const hear = () => {
      if (!this.#isDead) tell();
    };
    this.#machine.deviceListeners.add(hear);
    return () => this.#machine.deviceListeners.delete(hear);
  }

  async readText(path: string): Promise<string> {
    await this.#shortly();
    const text = this.#procFile(path) ?? this.#files.get(path);
    if (text !== undefined) return text;
    throw Object.assign(new Error(`ENOENT: no such file or directory, open '${path}'`), {
      code: 'ENOENT',
    });
  }

  async flush(devices: readonly string[]): Promise<void> {
    await this.#shortly();
    const gone = devices.find((path) => {
      if (lvAt(this.#machine, path) !== undefined) return false;
      return this.#machine.device(path)?.isBroken ?? true;
    });
    if (gone !== undefined) {
      throw new OperationError('DeviceFailed', `${gone} cannot be flushed: ENXIO`);
    }
    this.#machine.caches?.flush(devices);
  }

  async inspect(path: string): Promise<PathFacts> {
    await this.#shortly();
    return inspectPath(this.#machine, path);
  }

  async readBytes(
    path: string,
    range: { readonly offset: number; readonly length: number },
  ): Promise<Uint8Array> {
    await this.#shortly();
    const lv = lvAt(this.#machine, path);
    if (lv === undefined) throw new OperationError('DeviceFailed', `${path}: ENXIO`);
    // A read from a suspended device waits until it is resumed.
    while (lv.isSuspended) await this.#whileAlive(this.#machine.clock.sleep(250));
    return superblockBytes(lv.content.signatures, range);
  }

  async statFs(path: string): Promise<FsSpace> {
    await this.#shortly();
    const space = fsSpace(this.#machine, path);
    if (space === undefined) throw new OperationError('FileFailed', `${path}: ENOENT`);
    return space;
  }

  /** Runs like a program, so that it meets the same faults. */
  async changeFile(step: FileStep): Promise<void> {
    const mode = step.kind === 'change-mode' ? [String(step.mode)] : [];
    const argv: Command['argv'] = [fileProgram, step.kind, step.path, ...mode];
    const timeoutMs = limits.changeTimeoutMs;
    const { exitCode, stderr } = await this.start({ argv, effect: 'changes', timeoutMs }).result;
    if (exitCode === 0) return;
    const code = stderr.includes('ENOTEMPTY') ? 'TargetTaken' : 'FileFailed';
    throw new OperationError(code, `${step.path}: ${stderr.trim()}`);
  }

  #procFile(path: string): string | undefined {
    if (path === mountsPath) return mountInfo(this.#machine);
    if (path === kernelReleasePath) return `${this.#machine.kernelRelease}\n`;
    return path === swapsPath ? swaps(this.#machine) : sysFile(this.#machine, path);
  }

  async #shortly(): Promise<void> {
    if (this.#isDead) return never();
    await this.#whileAlive(this.#machine.clock.sleep(1));
  }

  #whileAlive<T>(promise: Promise<T>): Promise<T> {
    const passed = new Promise<T>((resolve, reject) => {
      promise.then(
        (value) => {
          if (!this.#isDead) resolve(value);
        },
        (error: unknown) => {
          if (!this.#isDead) reject(error);
        },
      );
    });
    passed.catch(() => undefined);
    return passed;
  }
}
