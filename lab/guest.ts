import { copyFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Channel, type Running, type RunOptions, type RunResult } from './channel.ts';
import type { Machine } from './machine.ts';

/** What a guest needs from the lab it lives in. */
export type GuestHome = {
  readonly name: string;
  readonly ip: string;
  /** Seen by the guest as /run/lab. */
  readonly stateDirectory: string;
  readonly setupScript: string;
  readonly consoleLog: string;
  readonly bootTimeoutMs: number;
  readonly diskNames: readonly string[];
  boot(): Machine;
  setLink(up: boolean): Promise<void>;
};

type Boot = { readonly machine: Machine; readonly channel: Channel };

/** One virtual machine. Its disks outlive every boot; everything else in it is made anew. */
export class Guest {
  readonly #home: GuestHome;
  #boot: Boot | undefined;
  #copies = 0;

  constructor(home: GuestHome) {
    this.#home = home;
  }

  get name(): string {
    return this.#home.name;
  }

  get ip(): string {
    return this.#home.ip;
  }

  get running(): boolean {
    return this.#boot !== undefined;
  }

  /** Boots the guest with the disks it has. Resolves when it takes commands. */
  async start(): Promise<void> {
    if (this.#boot !== undefined) throw new Error(`${this.name} is running already`);
    const machine = this.#home.boot();
    const channel = new Channel(machine.channel, this.name);
    const boot = { machine, channel };
    this.#boot = boot;
    channel.open();
    void machine.exited.then((how) => {
      const { consoleLog } = this.#home;
      channel.close(new Error(`guest ${this.name} went down (${how}), see ${consoleLog}`));
      if (this.#boot === boot) this.#boot = undefined;
    });
    await this.#untilHello(boot);
    await this.sh(this.#home.setupScript);
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

  /** Takes the power away at once. Start the guest again with `start`. */
  async cutPower(): Promise<void> {
    const { machine } = this.#running();
    machine.kill();
    await machine.exited;
    this.#boot = undefined;
  }

  /** Shuts the guest's kernel down in order, after its file systems were synced. */
  async powerOff(): Promise<void> {
    const { machine, channel } = this.#running();
    // The line goes dead in the middle of this command, which is how it succeeds.
    const script = 'sync; echo o >/proc/sysrq-trigger; sleep 60';
    await channel.start(['sh', '-c', script]).result.catch(() => undefined);
    await machine.exited;
    this.#boot = undefined;
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

  async devicePath(diskName: string): Promise<string> {
    const index = this.#home.diskNames.indexOf(diskName);
    if (index < 0) throw new Error(`${this.name} has no disk ${diskName}`);
    return `/dev/ubd${String.fromCharCode('a'.charCodeAt(0) + index)}`;
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
