import { copyFile, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Channel, type Running, type RunOptions, type RunResult } from './channel.ts';
import type { DiskFault } from './disk/fault.ts';
import type { GuestDisks, PluggedDisk } from './disk/guest-disks.ts';
import type { PowerLoss } from './disk/store.ts';
import { attachDisksCommand, type GuestAddress, guestSetupScript } from './guest-setup.ts';
import type { Machine } from './machine.ts';
import type { DiskSpec, GuestSpec } from './spec.ts';

/** What a guest needs from the lab it lives in. */
export type GuestHome = {
  /** Seen by the guest as /run/lab. */
  readonly stateDirectory: string;
  readonly spec: GuestSpec;
  readonly address: GuestAddress;
  readonly consoleLog: string;
  readonly bootTimeoutMs: number;
  readonly disks: GuestDisks;
  /** Resolves when the disks the guest begins with are on the shelf. */
  readonly disksReady: Promise<void>;
  boot(): Promise<Machine>;
  setLink(up: boolean): Promise<void>;
};

type Boot = { readonly machine: Machine; readonly channel: Channel };

/** One virtual machine. Its disks outlive every boot; everything else in it is made anew. */
export class Guest {
  readonly #home: GuestHome;
  #boot: Boot | undefined;
  /** The end of the last boot, disks included. */
  #down: Promise<void> = Promise.resolve();
  #copies = 0;

  constructor(home: GuestHome) {
    this.#home = home;
  }

  get name(): string {
    return this.#home.spec.name;
  }

  get ip(): string {
    return this.#home.address.ip;
  }

  get running(): boolean {
    return this.#boot !== undefined;
  }

  /** Boots the guest with the disks it has. Resolves when it takes commands. */
  async start(): Promise<void> {
    if (this.#boot !== undefined) throw new Error(`${this.name} is running already`);
    await this.#down;
    const machine = await this.#home.boot();
    const channel = new Channel(machine.channel, this.name);
    const boot = { machine, channel };
    this.#boot = boot;
    channel.open();
    void this.#watch(boot);
    await this.#untilHello(boot);
    const { spec, address, disks, disksReady } = this.#home;
    await disksReady;
    for (const disk of disks.plugged()) await machine.plug(disk);
    await this.sh(guestSetupScript(spec, address, disks.plugged()));
  }

  /** Runs a command to its end. A non-zero exit code is a result, not an error. */
  async run(argv: readonly string[], options: RunOptions = {}): Promise<RunResult> {
    const running = this.spawn(argv, options);
    if (options.stdin === undefined) running.endInput();
    return running.result;
  }

  /** Runs a shell script; anything but success throws, with all it said. Hands back stdout. */
  async sh(script: string, options: RunOptions = {}): Promise<string> {
    const result = await this.run(['sh', '-c', script], options);
    if (result.exitCode === 0) return result.stdout;
    const how = result.signal ?? `exit code ${result.exitCode}`;
    throw new Error(
      `${this.name}: ${how}: ${script}\nstdout: ${result.stdout}\nstderr: ${result.stderr}`,
    );
  }

  /** Starts a command and leaves it running; its input stays open until `endInput`. */
  spawn(argv: readonly string[], options: RunOptions = {}): Running {
    return this.#running().channel.start(argv, options);
  }

  async copyIn(hostPath: string, guestPath: string): Promise<void> {
    await this.#throughState(hostPath, async (shared, inGuest) => {
      await copyFile(hostPath, shared);
      await this.#must(['cp', '--', inGuest, guestPath]);
    });
  }

  async copyOut(guestPath: string, hostPath: string): Promise<void> {
    await this.#throughState(guestPath, async (shared, inGuest) => {
      await this.#must(['cp', '--', guestPath, inGuest]);
      await copyFile(shared, hostPath);
    });
  }

  /**
   * Takes the power away at once. Start the guest again with `start`. With `loseUnflushed` its
   * volatile disks forget every write that was not flushed, or a random half of them for a seed.
   */
  async cutPower(
    options: { readonly loseUnflushed?: boolean | { readonly seed: number } } = {},
  ): Promise<void> {
    const { machine } = this.#running();
    machine.kill();
    this.#down = this.#whenDown(machine, powerLoss(options.loseUnflushed ?? false));
    await this.#down;
  }

  /** Shuts the guest's kernel down in order, after its file systems were synced. */
  async powerOff(): Promise<void> {
    const { machine, channel } = this.#running();
    // The line goes dead in the middle of this command, which is how it succeeds.
    const script = 'sync; echo o >/proc/sysrq-trigger; sleep 60';
    this.#down = this.#whenDown(machine, { kind: 'keep' });
    await channel.start(['sh', '-c', script]).result.catch(() => undefined);
    await this.#down;
  }

  /** Stops the guest's time: leases expire, connections hang, nothing is lost. */
  freeze(): void {
    this.#running().machine.freeze();
  }

  thaw(): void {
    this.#running().machine.thaw();
  }

  /** Pulls the network cable. Commands from the host still work: they do not use it. */
  cutNetwork(): Promise<void> {
    return this.#home.setLink(false);
  }

  healNetwork(): Promise<void> {
    return this.#home.setLink(true);
  }

  /** Puts a new disk into the guest, running or not. */
  async addDisk(spec: DiskSpec): Promise<void> {
    await this.#home.disks.add(spec);
    await this.#attach(this.#home.disks.find(spec.name));
  }

  /** Pulls a disk out, whatever is being done with it. */
  async pullDisk(name: string): Promise<void> {
    const { disks } = this.#home;
    const path = this.running ? await this.devicePath(name) : undefined;
    await disks.unplug(name);
    await this.#boot?.machine.unplug(disks.find(name));
    if (path === undefined) return;
    const device = `/sys/block/${basename(path)}/device/delete`;
    await this.sh(`if [ -e ${device} ]; then echo 1 >${device}; fi`);
  }

  /** Puts a pulled disk back, with the data it had. */
  async plugDisk(name: string): Promise<void> {
    await this.#home.disks.plug(name);
    await this.#attach(this.#home.disks.find(name));
  }

  /** Where the disk is right now; the letter may be another one after every boot. */
  async devicePath(name: string): Promise<string> {
    const { wwn } = this.#home.disks.find(name);
    const found = await this.sh(`grep -ls ^naa.${wwn} /sys/block/*/device/wwid`);
    const device = /^\/sys\/block\/([^/]+)\//.exec(found)?.[1];
    if (device === undefined) throw new Error(`${this.name}: disk ${name} is not there`);
    return `/dev/${device}`;
  }

  setDiskFault(name: string, fault: DiskFault): Promise<void> {
    return this.#home.disks.setFault(name, fault);
  }

  /** Copies a disk to a file of the host, for `imageFile` of another one. */
  saveDisk(name: string, path: string): Promise<void> {
    return this.#home.disks.save(name, path);
  }

  async #attach(disk: PluggedDisk): Promise<void> {
    if (this.#boot === undefined) return; // it will be there at the next start
    await this.#boot.machine.plug(disk);
    const { spec, address } = this.#home;
    await this.sh(attachDisksCommand(spec.name, address, [disk]));
    if (spec.udev ?? true) await this.sh('udevadm settle');
  }

  #running(): Boot {
    if (this.#boot === undefined) throw new Error(`guest ${this.name} is not running`);
    return this.#boot;
  }

  async #must(argv: readonly string[]): Promise<void> {
    const result = await this.run(argv, { timeoutMs: 300_000 });
    if (result.exitCode !== 0) throw new Error(`${this.name}: ${argv.join(' ')}: ${result.stderr}`);
  }

  async #throughState(
    path: string,
    copy: (shared: string, inGuest: string) => Promise<void>,
  ): Promise<void> {
    this.#copies += 1;
    const name = `copy-${this.#copies}-${basename(path)}`;
    const shared = join(this.#home.stateDirectory, name);
    try {
      await copy(shared, `/run/lab/${name}`);
    } finally {
      await rm(shared, { force: true });
    }
  }

  async #whenDown(machine: Machine, loss: PowerLoss): Promise<void> {
    await machine.exited;
    await this.#home.disks.losePower(loss);
  }

  /** A guest that goes down fails everything that still waits for it, at once. */
  async #watch(boot: Boot): Promise<void> {
    const how = await boot.machine.exited;
    // First of all: whoever waited for the end may start the guest again right now.
    if (this.#boot === boot) this.#boot = undefined;
    const { consoleLog } = this.#home;
    const said = await lastLines(consoleLog);
    boot.channel.close(
      new Error(`guest ${this.name} went down (${how}), see ${consoleLog}\n${said}`),
    );
  }

  async #untilHello(boot: Boot): Promise<void> {
    const { bootTimeoutMs, consoleLog } = this.#home;
    const timer = setTimeout(() => {
      boot.channel.close(
        new Error(`guest ${this.name} did not boot in ${bootTimeoutMs} ms, see ${consoleLog}`),
      );
      boot.machine.kill();
    }, bootTimeoutMs);
    try {
      await boot.channel.hello();
    } finally {
      clearTimeout(timer);
    }
  }
}

function powerLoss(loseUnflushed: boolean | { readonly seed: number }): PowerLoss {
  if (loseUnflushed === false) return { kind: 'keep' };
  if (loseUnflushed === true) return { kind: 'lose' };
  return { kind: 'lose-some', seed: loseUnflushed.seed };
}

/** Why a kernel gave up stands in the first lines of its panic, if it panicked. */
async function lastLines(path: string): Promise<string> {
  const lines = (await readFile(path, 'utf8').catch(() => '')).trimEnd().split('\n');
  const panic = lines.findLastIndex((line) => line.includes('Kernel panic'));
  return (panic < 0 ? lines.slice(-5) : lines.slice(panic, panic + 12)).join('\n');
}
