import { bytes } from '../../src/base/bytes.ts';
import { OperationError } from '../../src/base/failures.ts';
import type { ObservedHost, ObservedLv, ObservedVg } from '../../src/core/observed.ts';
import type { DeviceLink, DeviceUser, Host, Running } from '../../src/engine/ports.ts';
import type { Command, CommandResult } from '../../src/lvm/command.ts';
import { noFiles } from './no-files.ts';
import { hostOf, sampleLv, sampleVg } from './observed.ts';
import { reportText } from './report-text.ts';

/** What a command does other than succeed at once. */
export type Behaviour = {
  readonly exitCode?: number;
  readonly stderr?: string;
  /** `false`: nothing changes, whatever the exit code says. */
  readonly hasEffect?: boolean;
  /** A signal ends the program. */
  readonly isKilled?: boolean;
  /** The caller's patience ends: `result` rejects, the program goes on until `gone`. */
  readonly timesOut?: boolean;
  /** The program runs until this resolves. */
  readonly until?: Promise<unknown>;
};

/** A gate that holds a command until a test opens it. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open: () => void = () => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

/**
 * Just enough of a host for the engine: linear volumes in groups that are never full, and no disks
 * to make them of. It counts what is run, and a test may bend any command.
 */
export class TinyHost implements Host {
  state: ObservedHost;
  /** The suspended devices, as `dmsetup info` tells them. */
  suspended: string[] = [];
  /** Paths of drives that nobody would ever take. */
  drives: readonly string[] = [];
  looks = 0;
  /** Changing commands in the order they began, such as `lvcreate a`. */
  readonly changes: string[] = [];
  /** How many of each kind ever ran side by side. */
  mostLooks = 0;
  mostChanges = 0;
  behave: (name: string) => Behaviour = () => ({});
  #looking = 0;
  #changing = 0;

  constructor(...vgs: readonly ObservedVg[]) {
    this.state = hostOf(...(vgs.length > 0 ? vgs : [sampleVg()]));
  }

  /** Devices in the order they were flushed. */
  readonly flushed: string[] = [];

  async flush(devices: readonly string[]): Promise<void> {
    this.flushed.push(...devices);
  }

  start(command: Command): Running {
    const isChange = command.effect === 'changes';
    const name = nameOf(command.argv);
    if (name === 'fullreport') this.looks += 1;
    if (isChange) this.changes.push(name);
    const behaviour = this.behave(name);
    const program = this.#run(command, behaviour);
    const gone = program.then(
      () => undefined,
      () => undefined,
    );
    if (behaviour.timesOut !== true) return { result: program, gone };
    const timeout = new OperationError('CommandTimedOut', `${name} takes too long`);
    const result = Promise.reject(timeout);
    result.catch(() => undefined);
    return { result, gone };
  }

  async #run(command: Command, behaviour: Behaviour): Promise<CommandResult> {
    const isChange = command.effect === 'changes';
    if (isChange) this.#changing += 1;
    else this.#looking += 1;
    this.mostChanges = Math.max(this.mostChanges, this.#changing);
    this.mostLooks = Math.max(this.mostLooks, this.#looking);
    // A look shows what was true when it began.
    const stdout = this.#output(command.argv);
    await behaviour.until;
    if (isChange && behaviour.hasEffect !== false) this.#change(command.argv);
    if (isChange) this.#changing -= 1;
    else this.#looking -= 1;
    const { exitCode = 0, stderr = '', isKilled = false } = behaviour;
    const how = isKilled
      ? { exitCode: undefined, signal: 'SIGKILL' }
      : { exitCode, signal: undefined };
    return { ...how, stdout, stderr, durationMs: 1 };
  }

  #output(argv: readonly string[]): string {
    if (argv.includes('fullreport')) return reportText(this.state);
    if (argv[0] === 'dmsetup' && argv[1] === 'info') {
      const none = this.suspended.length === 0;
      return none ? 'No devices found\n' : `${this.suspended.join('\n')}\n`;
    }
    if (argv[0] === 'lsblk') return JSON.stringify({ blockdevices: this.drives.map(driveRow) });
    return argv[1] === 'pvs' ? '{"report": [{"pv": []}]}' : '';
  }

  #change(argv: readonly string[]): void {
    const [program, verb] = argv;
    if (program === 'dmsetup') {
      const name = argv.at(-1) ?? '';
      this.suspended = this.suspended.filter((line) => !line.startsWith(`${name}:`));
    }
    if (program !== 'lvm') return;
    const target = argv.at(-1) ?? '';
    if (verb === 'lvcreate') this.#edit(target, (lvs) => [...lvs, made(argv, target)]);
    const [vg = '', name = ''] = target.split('/');
    if (verb === 'lvchange') this.#retag(argv);
    if (verb === 'lvremove') this.#edit(vg, (lvs) => lvs.filter((lv) => lv.name !== name));
    if (verb !== 'lvextend') return;
    const sizeBytes = sizeOf(argv);
    const extended = (lv: ObservedLv) =>
      lv.name === name ? { ...lv, sizeBytes, ownSizeBytes: sizeBytes } : lv;
    this.#edit(vg, (lvs) => lvs.map(extended));
  }

  /** Of the volumes that are named those that are selected. */
  #retag(argv: readonly string[]): void {
    const after = (option: string) => argv.filter((_word, index) => argv[index - 1] === option);
    const [selection = ''] = after('--select');
    const without = (tags: readonly string[]) =>
      tags.filter((tag) => !after('--deltag').includes(tag));
    for (const [vg = '', name] of targetsOf(argv).map((target) => target.split('/'))) {
      const retagged = (lv: ObservedLv) =>
        lv.name === name && selection.includes(`lv_uuid=${lv.uuid}`)
          ? { ...lv, tags: [...without(lv.tags), ...after('--addtag')] }
          : lv;
      this.#edit(vg, (lvs) => lvs.map(retagged));
    }
  }

  #edit(name: string, change: (lvs: readonly ObservedLv[]) => readonly ObservedLv[]): void {
    const edited = (vg: ObservedVg) => (vg.name === name ? { ...vg, lvs: change(vg.lvs) } : vg);
    this.state = { ...this.state, vgs: this.state.vgs.map(edited) };
  }

  readonly inspect = noFiles.inspect;
  readonly onDevices = noFiles.onDevices;
  readonly readBytes = noFiles.readBytes;
  readonly statFs = noFiles.statFs;
  readonly changeFile = noFiles.changeFile;

  strays(): Promise<readonly string[]> {
    return Promise.resolve([]);
  }

  exclusiveOpen(): Promise<'free'> {
    return Promise.resolve('free');
  }

  deviceUsers(): Promise<readonly DeviceUser[]> {
    return Promise.resolve([]);
  }

  links(): Promise<readonly DeviceLink[]> {
    return Promise.resolve([]);
  }

  readText(): Promise<string> {
    return Promise.resolve('');
  }
}

/** `lvcreate a`, `lvremove a`, `fullreport`, `dmsetup resume`: enough to tell commands apart. */
function nameOf(argv: readonly string[]): string {
  const [program = '', verb = ''] = argv;
  if (program !== 'lvm') return `${program} ${verb}`;
  const named = argv[argv.indexOf('--name') + 1];
  const targets = targetsOf(argv).map((target) => target.split('/')[1]);
  const target = argv.includes('--name') ? named : targets.join(' ');
  return verb === 'fullreport' ? verb : `${verb} ${target}`;
}

/** The words at the end that name volumes. */
function targetsOf(argv: readonly string[]): readonly string[] {
  return argv.slice(argv.findLastIndex((word) => !word.includes('/') || word.includes('=')) + 1);
}

function made(argv: readonly string[], vg: string): ObservedLv {
  const name = argv[argv.indexOf('--name') + 1] ?? '';
  const tags = argv.filter((_word, index) => argv[index - 1] === '--addtag');
  return sampleLv({ name, uuid: `${vg}-${name}-made`, sizeBytes: sizeOf(argv), tags });
}

function sizeOf(argv: readonly string[]) {
  return bytes(BigInt((argv[argv.indexOf('--size') + 1] ?? '0b').slice(0, -1)));
}

function driveRow(path: string) {
  const nothing = { state: null, mountpoint: null, fstype: null };
  return { name: path, kname: path, 'maj:min': '', type: 'rom', size: 0, ro: true, ...nothing };
}
