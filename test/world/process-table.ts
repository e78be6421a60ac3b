import { OperationError } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';
import type { Running, Signal } from '../../src/engine/ports.ts';
import type { Command, CommandResult } from '../../src/lvm/command.ts';
import { lvAt } from './commands/devices.ts';
import type { Fault, Faults } from './faults.ts';
import { type Lock, Locks, lockOf } from './locks.ts';
import type { Machine } from './machine.ts';
import { execute, executeMove } from './programs.ts';
import type { Outcome } from './text.ts';

/** The programs that run on a fake machine, each with its lock, its time and its end. */
export class ProcessTable {
  readonly #machine: Machine;
  readonly #faults: Faults;
  readonly #locks: Locks;
  readonly #running = new Set<Process>();
  /** How often each program was started. */
  readonly spawns = new Map<string, number>();
  /** Commands nobody here understands: a test with any of these is wrong. */
  readonly unknown: string[] = [];
  /** Every command line, in the order of their starts. */
  readonly history: (readonly string[])[] = [];

  constructor(machine: Machine, faults: Faults) {
    this.#machine = machine;
    this.#faults = faults;
    this.#locks = new Locks(machine.chance.fork());
  }

  start(command: Command, signal: Signal | undefined, starter: Starter): Running {
    const { die } = starter;
    this.#count(command);
    const fault = this.#faults.draw(command);
    if (fault?.kind === 'crash' && fault.when === 'before') {
      die();
      return { result: never(), gone: never() };
    }
    const process = new Process(this.#machine, this.#faults, this.#locks, {
      command,
      fault,
      starter,
    });
    this.#running.add(process);
    void process.gone.then(() => this.#running.delete(process));
    process.begin(signal, (what) => this.unknown.push(what));
    return process;
  }

  /** Changing commands whose starter is dead. */
  strays(): readonly string[] {
    const left = [...this.#running].filter((process) => process.isStray);
    return left.map((process) => process.argv.join(' '));
  }

  get running(): readonly (readonly string[])[] {
    return [...this.#running].map((process) => process.argv);
  }

  /** Does anything still run that was started before then? What is moved may take hours. */
  isBusySince(atMs: number): boolean {
    return [...this.#running].some(
      ({ startedMs, argv }) => startedMs <= atMs && argv[1] !== 'pvmove',
    );
  }

  /** Each pvmove that copies is killed: what it has begun stays begun. */
  killMoves(): void {
    for (const process of this.#running) process.killMove();
  }

  /** Everything that runs ends now, some of it with its work done. */
  cutPower(): void {
    for (const process of this.#running) {
      process.endAtOnce(this.#machine.chance.happens(0.5));
    }
    this.#running.clear();
    this.#locks.clear();
  }

  #count(command: Command): void {
    const name = nameOf(command.argv);
    this.spawns.set(name, (this.spawns.get(name) ?? 0) + 1);
    this.history.push(command.argv);
  }
}

export function nameOf(argv: readonly string[]): string {
  const [program = '', first = ''] = argv;
  return program === 'lvm' || program === 'dmsetup' ? `${program} ${first}` : program;
}

type Start = {
  readonly command: Command;
  readonly fault: Fault | undefined;
  readonly starter: Starter;
};

/** Who started a command. */
export type Starter = {
  /** Ends it, for faults that crash it. */
  readonly die: () => void;
  readonly isDead: () => boolean;
  /** What the command says before it ends. */
  readonly hear: (text: string) => void;
};

class Process implements Running {
  readonly result: Promise<CommandResult>;
  readonly gone: Promise<void>;
  readonly #machine: Machine;
  readonly #faults: Faults;
  readonly #locks: Locks;
  readonly #start: Start;
  readonly startedMs: number;
  readonly #settled = deferred<CommandResult>();
  readonly #ended = deferred<void>();
  #state: 'waiting' | 'working' | 'done' | 'ended' = 'waiting';
  #lock: Lock | undefined;
  #outcome: Outcome | undefined;
  #reportUnknown: (what: string) => void = () => undefined;

  constructor(machine: Machine, faults: Faults, locks: Locks, start: Start) {
    this.#machine = machine;
    this.#faults = faults;
    this.#locks = locks;
    this.#start = start;
    this.startedMs = machine.clock.nowMs();
    this.result = this.#settled.promise;
    this.gone = this.#ended.promise;
    // Nobody may be waiting any more when a command fails; that is no bug of the test.
    this.result.catch(() => undefined);
  }

  get isStray(): boolean {
    const { command, starter } = this.#start;
    return command.effect === 'changes' && starter.isDead();
  }

  get argv(): readonly string[] {
    return this.#start.command.argv;
  }

  begin(signal: Signal | undefined, reportUnknown: (what: string) => void): void {
    this.#reportUnknown = reportUnknown;
    const { command, fault } = this.#start;
    this.#watch(signal);
    const lock = lockOf(command.argv);
    if (fault?.kind === 'absent') {
      this.#endUnstarted();
      return;
    }
    if (fault?.kind === 'hang') {
      this.#faults.whenReleased(() => this.#work());
      return;
    }
    if (fault?.kind === 'locked' || lock === undefined) {
      this.#work();
      return;
    }
    this.#locks.take(lock, () => {
      if (this.#state !== 'waiting') {
        // It was killed while it waited: the lock goes to the next at once.
        this.#locks.release(lock);
        return;
      }
      this.#lock = lock;
      this.#work();
    });
  }

  #endUnstarted(): void {
    this.#state = 'ended';
    const message = `${this.argv[0]} cannot be started: ENOENT`;
    this.#settled.reject(new OperationError('CommandNotFound', message));
    this.#ended.resolve();
  }

  /** The power goes. Whoever waited for the result is gone too. */
  endAtOnce(withEffect: boolean): void {
    const isOpen = this.#state === 'waiting' || this.#state === 'working';
    const changes = this.#start.command.effect === 'changes';
    if (isOpen && this.#state === 'working' && changes && withEffect) this.#affect();
    this.#state = 'ended';
  }

  killMove(): void {
    // While it has the lock it does what nobody can cut off half-way.
    if (this.argv[1] !== 'pvmove' || this.#state !== 'working' || this.#lock !== undefined) return;
    this.#state = 'ended';
    const durationMs = this.#machine.clock.nowMs() - this.startedMs;
    const nothing = { exitCode: undefined, stdout: '', stderr: '' };
    this.#settled.resolve({ ...nothing, signal: 'SIGKILL', durationMs });
    this.#ended.resolve();
  }

  #watch(signal: Signal | undefined): void {
    const { command } = this.#start;
    const giveUp = (code: 'Cancelled' | 'CommandTimedOut', why: string) => {
      if (this.#state === 'ended') return;
      this.#settled.reject(new OperationError(code, `${command.argv.join(' ')}: ${why}`));
      if (command.effect === 'reads') this.#kill();
    };
    const onAbort = () => giveUp('Cancelled', 'the caller stopped waiting');
    signal?.addEventListener('abort', onAbort);
    const cancel = this.#machine.clock.after(
      command.timeoutMs,
      () => giveUp('CommandTimedOut', `no end after ${command.timeoutMs} ms`),
      `deadline of ${nameOf(command.argv)}`,
    );
    void this.gone.then(() => {
      signal?.removeEventListener('abort', onAbort);
      cancel();
    });
    if (signal?.aborted === true) onAbort();
  }

  #kill(): void {
    this.#state = 'ended';
    if (this.#lock !== undefined) this.#locks.release(this.#lock);
    this.#lock = undefined;
    this.#machine.clock.after(limits.killGraceMs / 2, () => this.#ended.resolve(), 'kill');
  }

  #work(): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'working';
    const { clock, chance } = this.#machine;
    const { command, fault, starter } = this.#start;
    const totalMs = durationOf(command, chance) + (fault?.kind === 'slow' ? fault.ms : 0);
    const workMs = totalMs * (0.2 + 0.7 * chance.fraction());
    // Moving is begun soon, and what takes its time is the copying, to which others may come.
    const effectMs = this.argv[1] === 'pvmove' ? Math.min(workMs, moveBeginsMs) : workMs;
    if (fault?.kind === 'crash' && fault.when === 'during') {
      clock.after(effectMs * chance.fraction(), starter.die, 'crash');
    }
    clock.after(effectMs, () => this.#affectWhenAwake(totalMs - effectMs), nameOf(command.argv));
  }

  /** I/O to a suspended volume waits until somebody resumes it. */
  #affectWhenAwake(restMs: number): void {
    if (this.#state !== 'working') return;
    if (isAsleep(this.#machine, this.argv)) {
      this.#machine.clock.after(250, () => this.#affectWhenAwake(restMs), 'suspended I/O');
      return;
    }
    if (
      this.argv[1] === 'pvmove' &&
      instead(this.#start.command, this.#start.fault) === undefined
    ) {
      this.#move(restMs);
      return;
    }
    this.#affect();
    this.#afterEffect(restMs);
  }

  #afterEffect(restMs: number): void {
    const { fault, starter } = this.#start;
    if (fault?.kind === 'crash' && fault.when === 'after') starter.die();
    this.#machine.clock.after(restMs, () => this.#end(), `end of ${nameOf(this.argv)}`);
  }

  /** Begins the move, lets others in while it copies, and ends it under the lock again. */
  #move(copyMs: number): void {
    const { clock } = this.#machine;
    this.#outcome = executeMove(this.#machine, this.argv, 'begin');
    if (this.#outcome !== undefined || mishapOf(this.#start.fault) === 'left-moving') {
      this.#outcome ??= { exitCode: 5, stdout: '', stderr: '' };
      this.#state = 'done';
      this.#afterEffect(1);
      return;
    }
    const lock = this.#lock;
    if (lock !== undefined) this.#locks.release(lock);
    this.#lock = undefined;
    for (const percent of [25, 50, 75]) {
      const say = () => {
        // Who is killed says nothing more.
        if (this.#state !== 'working') return;
        this.#start.starter.hear(`  ${this.argv.at(-1)}: Moved: ${percent}.00%\n`);
      };
      clock.after((copyMs * percent) / 100, say, 'pvmove tells');
    }
    clock.after(
      copyMs,
      () => {
        if (this.#state !== 'working') return;
        const again = lock ?? { mode: 'exclusive', keys: [] };
        this.#locks.take(again, () => {
          if (this.#state !== 'working') {
            this.#locks.release(again);
            return;
          }
          this.#lock = again;
          this.#affect();
          this.#afterEffect(50);
        });
      },
      'pvmove copies',
    );
  }

  #affect(): void {
    if (this.#state !== 'working') return;
    this.#state = 'done';
    const { command, fault } = this.#start;
    const isMove = this.argv[1] === 'pvmove';
    this.#outcome =
      instead(command, fault) ??
      (isMove ? executeMove(this.#machine, this.argv, 'finish') : this.#execute(mishapOf(fault)));
  }

  #execute(mishap: Parameters<typeof execute>[2]): Outcome {
    const { hostName } = this.#machine;
    this.#machine.hostName = this.#start.command.hostName ?? hostName;
    const outcome = execute(this.#machine, this.argv, mishap);
    this.#machine.hostName = hostName;
    if (outcome !== undefined) return outcome;
    const line = this.argv.join(' ');
    this.#reportUnknown(line);
    return { exitCode: 3, stdout: '', stderr: `  The fake host has no such command: ${line}\n` };
  }

  #end(): void {
    if (this.#state !== 'done') return;
    this.#state = 'ended';
    if (this.#lock !== undefined) this.#locks.release(this.#lock);
    const { fault } = this.#start;
    const outcome = this.#outcome ?? { exitCode: 0, stdout: '', stderr: '' };
    const isKilled = fault?.kind === 'killed';
    this.#settled.resolve({
      exitCode: isKilled ? undefined : outcome.exitCode,
      signal: isKilled ? 'SIGKILL' : undefined,
      stdout: fault?.kind === 'garbage' ? spoiled(outcome.stdout, fault) : outcome.stdout,
      stderr: outcome.stderr,
      durationMs: this.#machine.clock.nowMs() - this.startedMs,
    });
    this.#ended.resolve();
  }
}

const moveBeginsMs = 500;

/** What a command says when a fault keeps it from its work. */
function instead({ argv }: Command, fault: Fault | undefined): Outcome | undefined {
  switch (fault?.kind) {
    case 'fail':
      return { exitCode: fault.exitCode ?? 5, stdout: '', stderr: fault.stderr ?? ioError };
    case 'locked': {
      const vg = (argv.at(-1) ?? '').split('/')[0];
      const stderr =
        `  /run/lock/lvm/V_${vg}: flock failed: Resource temporarily unavailable\n` +
        `  Can't get lock for ${vg}.\n  Cannot process volume group ${vg}\n`;
      return { exitCode: 5, stdout: '', stderr };
    }
    case 'killed':
      return fault.when === 'before' ? { exitCode: 0, stdout: '', stderr: '' } : undefined;
    default:
      return undefined;
  }
}

const ioError =
  '  Error writing device /dev/sda at 4096 length 1024.\n' +
  '  WARNING: bcache_invalidate: block (0, 0) still dirty.\n';

function mishapOf(fault: Fault | undefined) {
  return fault?.kind === 'mishap' || fault?.kind === 'killed' ? fault.mishap : undefined;
}

function spoiled(stdout: string, fault: Extract<Fault, { kind: 'garbage' }>): string {
  // Not between two lines: that would be a shorter report, and a whole one.
  return fault.stdout ?? stdout.slice(0, Math.floor(stdout.length / 2)).trimEnd();
}

function durationOf(command: Command, chance: { between(a: number, b: number): number }): number {
  if (command.effect === 'reads') return chance.between(5, 60);
  switch (command.argv[1]) {
    case 'pvmove':
      return chance.between(2_000, 20_000);
    default:
      return command.argv[0] === 'dd' ? chance.between(50, 5_000) : chance.between(50, 400);
  }
}

/** Does the command read or write a volume that is suspended? */
function isAsleep(machine: Machine, argv: readonly string[]): boolean {
  const [program] = argv;
  if (program === 'lvm' || program === 'dmsetup' || program === 'lsblk') return false;
  return argv.some((word) => {
    const path = word.replace(/^(if|of)=/, '');
    return path.startsWith('/dev/') && lvAt(machine, path)?.isSuspended === true;
  });
}

type Deferred<T> = {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: Error): void;
};

function deferred<T>(): Deferred<T> {
  let settle: Omit<Deferred<T>, 'promise'> | undefined;
  const promise = new Promise<T>((resolve, reject) => {
    settle = { resolve, reject };
  });
  return { promise, ...(settle as Omit<Deferred<T>, 'promise'>) };
}

export function never<T>(): Promise<T> {
  return new Promise(() => undefined);
}
