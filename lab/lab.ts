import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Backend, backendOf, consoleLogOf } from './backend.ts';
import { cacheDirectory, preferredKind } from './cache.ts';
import { createDisk, GuestDisks } from './disk/guest-disks.ts';
import { DiskShelf } from './disk/shelf.ts';
import { Guest } from './guest.ts';
import { createNamespace, type Namespace } from './host/namespace.ts';
import { createScratchDirectory } from './host/owned.ts';
import {
  cableCommand,
  guestIpOf,
  guestNetwork,
  hostIpOf,
  networkCommands,
  storageNetwork,
} from './network.ts';
import { umlVerdict } from './self-test.ts';
import type { Accelerator } from './setup/qemu-host.ts';
import { setUpLab, umlVersionOf } from './setup/setup.ts';
import {
  checkDisk,
  checkName,
  type DiskSpec,
  type GuestKind,
  type GuestSpec,
  type Suite,
  suiteOf,
} from './spec.ts';

export type LabSpec = {
  readonly guests: readonly GuestSpec[];
  /** Disks that every guest sees. */
  readonly sharedDisks?: readonly DiskSpec[];
  readonly kind?: GuestKind | 'auto';
  /** QEMU only: plain emulation unless told otherwise. */
  readonly accelerator?: Accelerator;
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

const guestsMax = 100;
const logDirectoriesMax = 40;

/** Boots all guests at once and resolves when every one takes commands. */
export async function startLab(spec: LabSpec): Promise<Lab> {
  checkSpec(spec);
  const kind = spec.kind ?? preferredKind();
  if (kind !== 'auto') return startLabOf(spec, kind);
  const tell = progressOf(spec);
  const setUp = () => setUpLab({ kind: 'uml', suites: ['trixie'], progress: tell });
  const verdict = await umlVerdict(await umlVersionOf(tell), { setUp, start: startLab });
  if (verdict.works) return startLabOf(spec, 'uml');
  tell('USER-MODE LINUX DOES NOT WORK ON THIS MACHINE; using QEMU, which is 5 to 10 times slower');
  tell(`${verdict.reason} (kept in ${verdict.keptIn})`);
  return startLabOf(spec, 'qemu');
}

function progressOf(spec: LabSpec): (line: string) => void {
  return spec.progress ?? ((line) => process.stderr.write(`lab: ${line}\n`));
}

async function startLabOf(spec: LabSpec, kind: GuestKind): Promise<Lab> {
  const suites = [...new Set<Suite>(['trixie', ...spec.guests.map((guest) => suiteOf(guest))])];
  const parts = await setUpLab({ kind, suites, progress: progressOf(spec) });
  const backend = backendOf(parts, suites, spec.accelerator ?? 'tcg');
  const logDirectory = spec.logDirectory ?? (await newLogDirectory());
  await mkdir(logDirectory, { recursive: true });
  const scratch = await createScratchDirectory('quarry-lab-');
  const namespace = await createNamespace([
    ...networkCommands(spec.guests.length),
    ...backend.mounts(scratch.path),
  ]);
  const shelf = new DiskShelf({
    namespace,
    directory: scratch.path,
    logFile: join(logDirectory, 'disks.log'),
    address: hostIpOf(storageNetwork),
  });
  shelf.open();
  const { agentProgram } = parts;
  const stateDirectory = scratch.path;
  const place: Place = { agentProgram, backend, namespace, shelf, stateDirectory, logDirectory };
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
    hostIp: hostIpOf(guestNetwork),
    guest: (name) => {
      const found = guests.find((guest) => guest.name === name);
      if (found === undefined) throw new Error(`the lab has no guest ${name}`);
      return found;
    },
    stop,
  };
}

type Place = {
  readonly agentProgram: string;
  readonly backend: Backend;
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
  await copyFile(place.agentProgram, join(stateDirectory, 'agent.mjs'));
  const disks = new GuestDisks(spec.name, place.shelf, place.stateDirectory);
  const disksReady = fillDisks(disks, spec.disks ?? [], sharedReady);
  disksReady.catch(() => {}); // told to whoever starts the guest
  const { backend, namespace, logDirectory } = place;
  const bootPlace = { ...place, nbdSocket: place.shelf.nbdSocket };
  return new Guest({
    spec,
    stateDirectory,
    consoleLog: consoleLogOf(logDirectory, spec.name),
    disks,
    disksReady,
    address: {
      ip: guestIpOf(guestNetwork, index),
      gateway: hostIpOf(guestNetwork),
      storage: backend.storage(index),
    },
    bootTimeoutMs: backend.bootTimeoutMs,
    boot: () => backend.boot(bootPlace, spec, index),
    setLink: async (up) => {
      await namespace.run(cableCommand(index, up));
    },
  });
}

let logDirectoryCount = 0;

async function newLogDirectory(): Promise<string> {
  const logs = join(await cacheDirectory(), 'logs');
  await mkdir(logs, { recursive: true });
  const old = (await readdir(logs)).toSorted().slice(0, -logDirectoriesMax);
  for (const name of old.filter((found) => !isOfLivingProcess(found))) {
    await rm(join(logs, name), { recursive: true, force: true });
  }
  const stamp = new Date().toISOString().replaceAll(':', '-');
  logDirectoryCount += 1;
  return join(logs, `${stamp}-${process.pid}-${logDirectoryCount}`);
}

/** A lab that runs for long must keep its logs, however many were started after it. */
function isOfLivingProcess(name: string): boolean {
  const pid = /Z-(\d+)/.exec(name)?.[1];
  return pid !== undefined && existsSync(`/proc/${pid}`);
}

function checkSpec(spec: LabSpec): void {
  // None: the servers of a cluster alone.
  if (spec.guests.length > guestsMax) throw new Error(`a lab has at most ${guestsMax} guests`);
  const names = spec.guests.map((guest) => guest.name);
  if (new Set(names).size !== names.length) throw new Error('two guests have one name');
  for (const disk of spec.sharedDisks ?? []) checkDisk(disk);
  for (const guest of spec.guests) {
    checkName('guest', guest.name);
    for (const disk of guest.disks ?? []) checkDisk(disk);
  }
}
