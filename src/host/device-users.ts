import { readdir, readFile, readlink, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../base/failures.ts';
import type { DeviceUser } from '../engine/ports.ts';
import { deviceNumber } from './files.ts';
import type { Patience } from './patience.ts';

export type UserLook = {
  /** `/proc` and `/sys/block`, but for a test. */
  readonly processes: string;
  readonly blocks: string;
  readonly patience: Patience;
  readonly timeoutMs: number;
};

/**
 * Who has block devices open without claiming them, where no exclusive open would notice: a virtual
 * machine or a database on a raw disk, and loop devices.
 */
export async function findDeviceUsers(look: UserLook): Promise<readonly DeviceUser[]> {
  return [...(await findLoops(look)), ...(await findWriters(look))];
}

/** The kernel itself has what is below a loop device open, and nothing in /sys says which it is. */
async function findLoops(look: UserLook): Promise<readonly DeviceUser[]> {
  const users: DeviceUser[] = [];
  const names = await readdir(look.blocks).catch(none);
  for (const name of names.filter((candidate) => candidate.startsWith('loop'))) {
    const file = await readFile(join(look.blocks, name, 'loop/backing_file'), 'utf8').catch(
      nothing,
    );
    if (file === '') continue;
    // As the host's first process sees it, not as our container does.
    const path = `${look.processes}/1/root${file.replace(/\n$/, '')}`;
    const number = await blockNumber(look, path);
    if (number !== '') users.push({ number, by: `/dev/${name}` });
  }
  return users;
}

async function findWriters(look: UserLook): Promise<readonly DeviceUser[]> {
  const users: DeviceUser[] = [];
  for (const pid of (await readdir(look.processes)).filter((name) => /^[0-9]+$/.test(name))) {
    const numbers = await writtenBy(look, join(look.processes, pid));
    if (numbers.length === 0) continue;
    const name = await readFile(join(look.processes, pid, 'comm'), 'utf8').catch(nothing);
    const by = name.trim() === '' ? 'a process' : `the process ${name.trim()}`;
    users.push(...numbers.map((number) => ({ number, by })));
  }
  return users;
}

/** Numbers of the block devices that a process has open for writing. One that ends has none. */
async function writtenBy(look: UserLook, directory: string): Promise<readonly string[]> {
  const numbers: string[] = [];
  let mounts: ReadonlyMap<string, boolean> | undefined;
  for (const name of await readdir(join(directory, 'fd')).catch(none)) {
    const link = await readlink(join(directory, 'fd', name)).catch(nothing);
    if (!link.startsWith('/') || harmless.test(link)) continue;
    const info = await readFile(join(directory, 'fdinfo', name), 'utf8').catch(nothing);
    if (!isForWriting(info)) continue;
    mounts ??= await mountsOf(directory);
    // What was opened elsewhere, and handed over or kept, is in no list of its own.
    const hasNodes = mounts.get(field(info, 'mnt_id')) ?? link.startsWith('/dev/');
    if (!hasNodes) continue;
    const number = await blockNumber(look, join(directory, 'fd', name));
    if (number !== '') numbers.push(number);
  }
  return numbers;
}

const harmless = /^\/dev\/(null|zero|u?random|full|ptmx|tty.*|pts\/.*|shm\/.*|mapper\/control)$/;

function isForWriting(info: string): boolean {
  return (Number.parseInt(field(info, 'flags') || '0', 8) & 0b11) !== 0;
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:\\s*(\\S+)$`, 'm').exec(info)?.[1] ?? '';
}

/** Has a mount device nodes? A file on a network that is away would not even say what it is. */
async function mountsOf(directory: string): Promise<ReadonlyMap<string, boolean>> {
  const text = await readFile(join(directory, 'mountinfo'), 'utf8').catch(nothing);
  const lines = text.split('\n').filter((line) => line !== '');
  return new Map(
    lines.map((line) => [line.split(' ')[0] ?? '', / - (devtmpfs|tmpfs) /.test(line)]),
  );
}

/** '' of what is no block device, or gone. */
async function blockNumber({ patience, timeoutMs }: UserLook, path: string): Promise<string> {
  try {
    const found = await patience.run(path, timeoutMs, () => stat(path).catch(() => undefined));
    return found?.isBlockDevice() ? deviceNumber(found.rdev) : '';
  } catch (error) {
    if (error instanceof OperationError) return '';
    throw error;
  }
}

const nothing = () => '';
const none = (): string[] => [];
