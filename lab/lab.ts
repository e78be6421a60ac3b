import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory, projectDirectory } from './cache.ts';
import { createDisk, GuestDisks } from './disk/guest-disks.ts';
import { DiskShelf } from './disk/shelf.ts';
import { Guest } from './guest.ts';
import { createNamespace, type Namespace } from './host/namespace.ts';
import { createScratchDirectory } from './host/owned.ts';
import { umlVerdict } from './self-test.ts';
import { type LabParts, setUpLab } from './setup/setup.ts';
import {
  checkDisk,
  checkName,
  type DiskSpec,
  type GuestKind,
  type GuestSpec,
  type Suite,
} from './spec.ts';
import { bootUml, type Link, umlMounts } from './uml.ts';

export type LabSpec = {
  readonly guests: readonly GuestSpec[];
  /** Disks that every guest sees. */
  readonly sharedDisks?: readonly DiskSpec[];
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

const network = {
  bridge: 'br0',
  tap: 'tap',
  macByte: '00',
  prefix: '10.77.0',
  host: 1,
  firstGuest: 11,
} as const;
/** A network of its own for the disks, so that cutting the other one leaves them alone. */
const storage = {
  bridge: 'br1',
  tap: 'disk',
  macByte: '01',
  prefix: '192.168.77',
  host: 1,
} as const;
const networkHost = `${network.prefix}.${network.host}`;
const storageHost = `${storage.prefix}.${storage.host}`;
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
  const shelf = new DiskShelf({
    namespace,
    directory: scratch.path,
    logFile: join(logDirectory, 'disks.log'),
    address: storageHost,
  });
  shelf.open();
  const place = { parts, namespace, shelf, stateDirectory: scratch.path, logDirectory };
  const guests: Guest[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(guests.filter((guest) => guest.running).map((guest) => guest.cutPower()));
    await shelf.close();
    await namespace.close();
    await scratch.remove();
  };
  try {
    const sharedReady = createSharedDisks(place, spec.sharedDisks ?? []);
    for (const [index, guest] of spec.guests.entries()) {
      guests.push(await createGuest(place, guest, { index, sharedReady }));
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
    hostIp: networkHost,
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
  readonly shelf: DiskShelf;
  readonly stateDirectory: string;
  readonly logDirectory: string;
};

type SharedDisk = { readonly key: string; readonly spec: DiskSpec };

async function createSharedDisks(
  place: Place,
  specs: readonly DiskSpec[],
): Promise<readonly SharedDisk[]> {
  const shared = specs.map((spec) => {
    const key = `shared.${spec.name}`;
    return { key, spec: { ...spec, serial: spec.serial ?? `QRY-shared-${spec.name}` } };
  });
  for (const { key, spec } of shared) {
    await createDisk(place.shelf, place.stateDirectory, key, spec);
  }
  return shared;
}

async function fillDisks(
  disks: GuestDisks,
  specs: readonly DiskSpec[],
  sharedReady: Promise<readonly SharedDisk[]>,
): Promise<void> {
  for (const disk of specs) await disks.add(disk);
  for (const { key, spec } of await sharedReady) await disks.addShared(spec, key);
}

async function createGuest(
  place: Place,
  spec: GuestSpec,
  { index, sharedReady }: { index: number; sharedReady: Promise<readonly SharedDisk[]> },
): Promise<Guest> {
  const stateDirectory = join(place.stateDirectory, spec.name);
  await mkdir(stateDirectory);
  await copyFile(place.parts.agentProgram, join(stateDirectory, 'agent.mjs'));
  const disks = new GuestDisks(spec.name, place.shelf, place.stateDirectory);
  const disksReady = fillDisks(disks, spec.disks ?? [], sharedReady);
  disksReady.catch(() => {}); // told to whoever starts the guest
  const host = network.firstGuest + index;
  const consoleLog = join(place.logDirectory, `${spec.name}.console.log`);
  const { namespace } = place;
  return new Guest({
    spec,
    stateDirectory,
    consoleLog,
    disks,
    disksReady,
    address: {
      ip: `${network.prefix}.${host}`,
      gateway: networkHost,
      storage: { ip: `${storage.prefix}.${host}`, portal: storageHost },
    },
    bootTimeoutMs: umlBootTimeoutMs,
    boot: () =>
      bootUml(namespace, place.parts.root('trixie'), {
        name: spec.name,
        suite: suiteOf(spec),
        memoryMiB: spec.memoryMiB ?? defaultMemoryMiB,
        raid6: spec.raid6 ?? false,
        network: linkOf(network, index),
        storage: linkOf(storage, index),
        consoleLog,
      }),
    // A tap that was set down stays deaf in UML for ever, so the cable is pulled at the bridge.
    setLink: async (up) => {
      const to = up ? ['master', network.bridge] : ['nomaster'];
      await namespace.run(['ip', 'link', 'set', linkOf(network, index).tap, ...to]);
    },
  });
}

function networkCommands(guestCount: number): readonly (readonly string[])[] {
  const bridges = [network, storage].flatMap((net) => {
    const taps = Array.from({ length: guestCount }, (_, index) => linkOf(net, index).tap);
    return [
      ['ip', 'link', 'add', net.bridge, 'type', 'bridge'],
      ['ip', 'addr', 'add', `${net.prefix}.${net.host}/24`, 'dev', net.bridge],
      ['ip', 'link', 'set', net.bridge, 'up'],
      ...taps.flatMap((tap) => [
        ['ip', 'tuntap', 'add', 'dev', tap, 'mode', 'tap'],
        ['ip', 'link', 'set', tap, 'master', net.bridge, 'up'],
      ]),
    ];
  });
  return [['ip', 'link', 'set', 'lo', 'up'], ...bridges];
}

function linkOf(net: typeof network | typeof storage, index: number): Link {
  const number = (index + 1).toString(16).padStart(2, '0');
  return { tap: `${net.tap}${index + 1}`, mac: `52:54:00:77:${net.macByte}:${number}` };
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
  for (const disk of spec.sharedDisks ?? []) checkDisk(disk);
  for (const guest of spec.guests) {
    checkName('guest', guest.name);
    for (const disk of guest.disks ?? []) checkDisk(disk);
  }
}
