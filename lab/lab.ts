import { copyFile, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory, projectDirectory } from './cache.ts';
import { Guest } from './guest.ts';
import { guestSetupScript } from './guest-setup.ts';
import { createNamespace, type Namespace } from './host/namespace.ts';
import { createScratchDirectory } from './host/owned.ts';
import { umlVerdict } from './self-test.ts';
import { type LabParts, setUpLab } from './setup/setup.ts';
import { checkName, type GuestKind, type GuestSpec, type Suite } from './spec.ts';
import { bootUml, umlMounts } from './uml.ts';

export type LabSpec = {
  readonly guests: readonly GuestSpec[];
  readonly kind?: GuestKind | 'auto';
  /** Where consoles and logs go. Without one they are kept in the cache, the newest only. */
  readonly logDirectory?: string;
  /** Where progress of a long first set-up is told; standard error unless given. */
  readonly progress?: (line: string) => void;
};

export type Lab = {
  readonly kind: GuestKind;
  readonly guests: readonly Guest[];
  readonly logDirectory: string;
  /** The host's end of the guests' network: other servers of a test run there. */
  readonly namespace: Namespace;
  readonly hostIp: string;
  guest(name: string): Guest;
  stop(): Promise<void>;
};

const network = { prefix: '10.77.0', host: 1, firstGuest: 11 } as const;
const guestsMax = 100;
const logDirectoriesMax = 40;
const defaultMemoryMiB = 768;
const umlBootTimeoutMs = 60_000;

/** Boots all guests at once and resolves when every one takes commands. */
export async function startLab(spec: LabSpec): Promise<Lab> {
  checkSpec(spec);
  if (spec.kind === 'uml' || spec.kind === 'qemu') return startLabOf(spec, spec.kind);
  const { umlVersion } = await setUpLab({ kind: 'uml', suites: [], progress: progressOf(spec) });
  const verdict = await umlVerdict(umlVersion, startLab);
  if (verdict.works) return startLabOf(spec, 'uml');
  const tell = progressOf(spec);
  tell('USER-MODE LINUX DOES NOT WORK ON THIS MACHINE; using QEMU, which is 5 to 10 times slower');
  tell(verdict.reason);
  return startLabOf(spec, 'qemu');
}

function progressOf(spec: LabSpec): (line: string) => void {
  return spec.progress ?? ((line) => process.stderr.write(`lab: ${line}\n`));
}

async function startLabOf(spec: LabSpec, kind: GuestKind): Promise<Lab> {
  if (kind === 'qemu') throw new Error('guests in QEMU are not built yet');
  const suites = new Set<Suite>(['trixie', ...spec.guests.map((guest) => suiteOf(guest))]);
  const parts = await setUpLab({
    kind,
    suites: [...suites],
    progress: progressOf(spec),
  });
  const logDirectory = spec.logDirectory ?? (await newLogDirectory());
  await mkdir(logDirectory, { recursive: true });
  const scratch = await createScratchDirectory('quarry-lab-');
  const namespace = await createNamespace([
    ...networkCommands(spec.guests.length),
    ...umlMounts({
      libcRoot: parts.root('trixie'),
      kernel: parts.umlKernel,
      project: projectDirectory,
      state: scratch.path,
      roots: new Map([...suites].map((suite) => [suite, parts.root(suite)])),
    }),
  ]);
  const place = { parts, namespace, stateDirectory: scratch.path, logDirectory };
  const guests: Guest[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(guests.filter((guest) => guest.running).map((guest) => guest.cutPower()));
    await namespace.close();
    await scratch.remove();
  };
  try {
    for (const [index, guest] of spec.guests.entries()) {
      guests.push(await createGuest(place, guest, index));
    }
    await Promise.all(guests.map((guest) => guest.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    kind,
    guests,
    logDirectory,
    namespace,
    hostIp: `${network.prefix}.${network.host}`,
    guest: (name) => {
      const found = guests.find((guest) => guest.name === name);
      if (found === undefined) throw new Error(`the lab has no guest ${name}`);
      return found;
    },
    stop,
  };
}

type Place = {
  readonly parts: LabParts;
  readonly namespace: Namespace;
  readonly stateDirectory: string;
  readonly logDirectory: string;
};

async function createGuest(place: Place, spec: GuestSpec, index: number): Promise<Guest> {
  const stateDirectory = join(place.stateDirectory, spec.name);
  await mkdir(stateDirectory);
  await copyFile(place.parts.agentProgram, join(stateDirectory, 'agent.mjs'));
  const disks = spec.disks ?? [];
  for (const disk of disks) {
    const file = await open(join(stateDirectory, `disk-${disk.name}`), 'wx');
    await file.truncate(Number(disk.sizeBytes));
    await file.close();
  }
  const ip = `${network.prefix}.${network.firstGuest + index}`;
  const gateway = `${network.prefix}.${network.host}`;
  const consoleLog = join(place.logDirectory, `${spec.name}.console.log`);
  const tap = tapOf(index);
  return new Guest({
    name: spec.name,
    ip,
    stateDirectory,
    consoleLog,
    setupScript: guestSetupScript(spec, { ip, gateway }),
    bootTimeoutMs: umlBootTimeoutMs,
    diskNames: disks.map((disk) => disk.name),
    boot: () =>
      bootUml(place.namespace, place.parts.root('trixie'), {
        name: spec.name,
        suite: suiteOf(spec),
        memoryMiB: spec.memoryMiB ?? defaultMemoryMiB,
        tap,
        mac: `52:54:00:77:00:${(index + 1).toString(16).padStart(2, '0')}`,
        diskFiles: disks.map((disk) => `${spec.name}/disk-${disk.name}`),
        consoleLog,
      }),
    // A tap that was set down stays deaf in UML for ever, so the cable is pulled at the bridge.
    setLink: async (up) => {
      const to = up ? ['master', 'br0'] : ['nomaster'];
      await place.namespace.run(['ip', 'link', 'set', tap, ...to]);
    },
  });
}

function networkCommands(guestCount: number): readonly (readonly string[])[] {
  const taps = Array.from({ length: guestCount }, (_, index) => [
    ['ip', 'tuntap', 'add', 'dev', tapOf(index), 'mode', 'tap'],
    ['ip', 'link', 'set', tapOf(index), 'master', 'br0', 'up'],
  ]);
  return [
    ['ip', 'link', 'set', 'lo', 'up'],
    ['ip', 'link', 'add', 'br0', 'type', 'bridge'],
    ['ip', 'addr', 'add', `${network.prefix}.${network.host}/24`, 'dev', 'br0'],
    ['ip', 'link', 'set', 'br0', 'up'],
    ...taps.flat(),
  ];
}

function tapOf(index: number): string {
  return `tap${index + 1}`;
}

function suiteOf(spec: GuestSpec): Suite {
  return spec.suite ?? 'trixie';
}

async function newLogDirectory(): Promise<string> {
  const logs = join(await cacheDirectory(), 'logs');
  await mkdir(logs, { recursive: true });
  const old = (await readdir(logs)).toSorted().slice(0, -logDirectoriesMax);
  for (const name of old) await rm(join(logs, name), { recursive: true, force: true });
  const stamp = new Date().toISOString().replaceAll(':', '-');
  return join(logs, `${stamp}-${process.pid}`);
}

function checkSpec(spec: LabSpec): void {
  if (spec.guests.length === 0 || spec.guests.length > guestsMax) {
    throw new Error(`a lab has 1 to ${guestsMax} guests`);
  }
  const names = spec.guests.map((guest) => guest.name);
  if (new Set(names).size !== names.length) throw new Error('two guests have one name');
  for (const guest of spec.guests) {
    checkName('guest', guest.name);
    for (const disk of guest.disks ?? []) checkName('disk', disk.name);
  }
}
