import { constants } from 'node:fs';
import { open, readdir, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { DeviceLink, Host } from '../engine/ports.ts';
import { findDeviceUsers } from './device-users.ts';
import { DeviceWatch } from './device-watch.ts';
import { changeFile, inspect, readBytes, statFs } from './files.ts';
import { Patience } from './patience.ts';
import { type RunOptions, startCommand, startNamed } from './run.ts';
import { findStrays } from './strays.ts';

export type HostOptions = RunOptions & { readonly flushTimeoutMs?: number };

/** The door to this node: its programs, its block devices, its /proc. */
export function realHost(options: HostOptions): Host {
  const patience = new Patience();
  const { fileTimeoutMs, changeTimeoutMs } = limits;
  const { flushTimeoutMs = limits.flushTimeoutMs } = options;
  const soon = <T>(path: string, work: () => Promise<T>) => patience.run(path, fileTimeoutMs, work);
  const flush = (device: string) => patience.run(device, flushTimeoutMs, () => flushDevice(device));
  return {
    start: (command, signal, heard) =>
      command.hostName === undefined
        ? startCommand(command, options, signal, heard)
        : startNamed(command, options, signal),
    strays: () => findStrays({ directory: '/proc', patience, timeoutMs: fileTimeoutMs }),
    exclusiveOpen: (device) => soon(device, () => exclusiveOpen(device)).catch(() => 'unknown'),
    deviceUsers: () =>
      findDeviceUsers({
        ...{ processes: '/proc', blocks: '/sys/block', patience, timeoutMs: fileTimeoutMs },
      }),
    links: (directory) => soon(directory, () => findLinks(directory)),
    onDevices: (tell) => {
      const watch = new DeviceWatch(tell);
      watch.start();
      return () => watch.stop();
    },
    readText: (path) => soon(path, () => readFile(path, 'utf8')),
    flush: async (devices) =>
      void (await Promise.all(
        devices.map((device) => flush(device).catch((cause) => failed(device, cause))),
      )),
    inspect: (path) => soon(path, () => inspect(path)),
    readBytes: (path, range) => soon(path, () => readBytes(path, range)),
    statFs: (path) => soon(path, () => statFs(path)),
    changeFile: (step) => patience.run(step.path, changeTimeoutMs, () => changeFile(step)),
  };
}

/**
 * O_EXCL on a block device asks the kernel whether anybody has claimed it. Reading comes along: to
 * programs that look for signatures, a disk that cannot be read looks like an empty one.
 */
async function exclusiveOpen(device: string): Promise<'free' | 'busy' | 'unknown'> {
  try {
    const file = await open(device, constants.O_RDONLY | constants.O_EXCL);
    try {
      await file.read(Buffer.alloc(4096), 0, 4096, 0);
    } finally {
      await file.close();
    }
    return 'free';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EBUSY' ? 'busy' : 'unknown';
  }
}

/** fsync of a block device empties its volatile cache; any open file of it will do. */
async function flushDevice(device: string): Promise<void> {
  const file = await open(device, constants.O_RDONLY);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

function failed(device: string, cause: Error): never {
  const message = `${device} cannot be flushed: ${cause.message}`;
  throw new OperationError('DeviceFailed', message, { cause });
}

/** A host without udev has no such directory, and so no links. */
async function findLinks(directory: string): Promise<readonly DeviceLink[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    },
  );
  const links: DeviceLink[] = [];
  for (const entry of entries.filter((candidate) => candidate.isSymbolicLink())) {
    const link = join(entry.parentPath, entry.name);
    const device = await realpath(link).catch(() => undefined);
    if (device !== undefined) links.push({ link, device });
  }
  return links;
}
