import { join } from 'node:path';
import { projectDirectory } from './cache.ts';
import type { Namespace } from './host/namespace.ts';
import type { Machine } from './machine.ts';
import { guestIpOf, guestNetwork, hostIpOf, linkOf, storageNetwork } from './network.ts';
import { bootQemu } from './qemu.ts';
import type { Accelerator } from './setup/qemu-host.ts';
import type { LabParts } from './setup/setup.ts';
import { type GuestSpec, type Suite, suiteOf } from './spec.ts';
import { bootUml, umlMounts } from './uml.ts';

export type BootPlace = {
  readonly namespace: Namespace;
  readonly logDirectory: string;
  readonly nbdSocket: string;
  /** The lab's state; a guest's own is a directory of its name below it. */
  readonly stateDirectory: string;
};

/** What differs between the two kinds of guests. */
export type Backend = {
  readonly bootTimeoutMs: number;
  /** Commands that prepare the lab's namespace. */
  mounts(stateDirectory: string): readonly (readonly string[])[];
  /** How a guest reaches its disks by itself, if it does. */
  storage(index: number): { readonly ip: string; readonly portal: string } | undefined;
  boot(place: BootPlace, spec: GuestSpec, index: number): Promise<Machine>;
};

const memoryMiB = { uml: 768, qemu: 1024 } as const;

export function backendOf(
  parts: LabParts,
  suites: readonly Suite[],
  accelerator: Accelerator,
): Backend {
  if (parts.kind === 'uml') return umlBackend(parts, suites);
  return qemuBackend(parts, accelerator);
}

function umlBackend(parts: LabParts & { readonly kind: 'uml' }, suites: readonly Suite[]): Backend {
  const libcRoot = parts.root('trixie');
  return {
    bootTimeoutMs: 60_000,
    mounts: (state) =>
      umlMounts({
        libcRoot,
        kernel: parts.umlKernel,
        project: projectDirectory,
        state,
        roots: new Map(suites.map((suite) => [suite, parts.root(suite)])),
      }),
    storage: (index) => ({
      ip: guestIpOf(storageNetwork, index),
      portal: hostIpOf(storageNetwork),
    }),
    boot: async (place, spec, index) =>
      bootUml(place.namespace, libcRoot, {
        name: spec.name,
        suite: suiteOf(spec),
        memoryMiB: spec.memoryMiB ?? memoryMiB.uml,
        raid6: spec.raid6 ?? false,
        network: linkOf(guestNetwork, index),
        storage: linkOf(storageNetwork, index),
        consoleLog: consoleLogOf(place.logDirectory, spec.name),
      }),
  };
}

function qemuBackend(
  parts: LabParts & { readonly kind: 'qemu' },
  accelerator: Accelerator,
): Backend {
  return {
    bootTimeoutMs: 180_000,
    mounts: () => [],
    storage: () => undefined,
    boot: (place, spec, index) =>
      bootQemu(place.namespace, {
        name: spec.name,
        kernel: parts.kernelImage,
        ...parts.qemuImage(suiteOf(spec)),
        memoryMiB: spec.memoryMiB ?? memoryMiB.qemu,
        cpus: spec.cpus ?? 1,
        accelerator,
        network: linkOf(guestNetwork, index),
        nbdSocket: place.nbdSocket,
        consoleLog: consoleLogOf(place.logDirectory, spec.name),
        qemuLog: join(place.logDirectory, `${spec.name}.qemu.log`),
        virtiofsd: parts.virtiofsd,
        directory: join(place.stateDirectory, spec.name),
        shares: {
          project: projectDirectory,
          state: join(place.stateDirectory, spec.name),
        },
      }),
  };
}

export function consoleLogOf(logDirectory: string, name: string): string {
  return join(logDirectory, `${name}.console.log`);
}
