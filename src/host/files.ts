import { constants, type Stats } from 'node:fs';
import { lstat, mkdir, open, realpath, rmdir, stat, statfs, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { bytes } from '../base/bytes.ts';
import { type FailureCode, OperationError } from '../base/failures.ts';
import type { FsSpace } from '../core/publication/status.ts';
import type { FileStep } from '../core/publication/step.ts';
import type { PathFacts } from '../engine/ports.ts';

/** What a publication does with files, without a program. Nothing here is ever recursive. */

export async function inspect(path: string): Promise<PathFacts> {
  const real = join(await realDirectory(dirname(path)), basename(path));
  try {
    const own = await lstat(real);
    const isLink = own.isSymbolicLink();
    return { path: real, isLink, ...factsOf(isLink ? await stat(real) : own) };
  } catch (error) {
    const kind = isAbsent(error) ? 'absent' : 'unreadable';
    return { path: real, kind, isLink: false, number: '', mode: 0, sizeBytes: bytes(0n) };
  }
}

/** The table of mounts has no links in its paths. What is not there yet has none either. */
async function realDirectory(directory: string): Promise<string> {
  try {
    return await realpath(directory);
  } catch (error) {
    if (!isAbsent(error) || directory === '/') throw failed(directory, error);
    return join(await realDirectory(dirname(directory)), basename(directory));
  }
}

function factsOf(found: Stats): Omit<PathFacts, 'path' | 'isLink'> {
  const isDevice = found.isBlockDevice();
  return {
    kind: kindOf(found),
    number: isDevice ? deviceNumber(found.rdev) : '',
    mode: found.mode & 0o7777,
    sizeBytes: bytes(found.size),
  };
}

function kindOf(found: Stats): PathFacts['kind'] {
  if (found.isDirectory()) return 'directory';
  if (found.isFile()) return 'file';
  return found.isBlockDevice() ? 'device' : 'other';
}

/** Linux' dev_t: 12 bits of major and 20 of minor, the minor in two parts. */
export function deviceNumber(device: number): string {
  const number = BigInt(device);
  const major = ((number >> 8n) & 0xfffn) | ((number >> 32n) & ~0xfffn);
  const minor = (number & 0xffn) | ((number >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

export async function readBytes(
  path: string,
  { offset, length }: { readonly offset: number; readonly length: number },
): Promise<Uint8Array> {
  try {
    const file = await open(path, constants.O_RDONLY);
    try {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
      return buffer.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  } catch (cause) {
    const message = `${path} cannot be read: ${(cause as Error).message}`;
    throw new OperationError('DeviceFailed', message, { cause });
  }
}

export async function statFs(path: string): Promise<FsSpace> {
  try {
    const found = await statfs(path, { bigint: true });
    return {
      totalBytes: bytes(found.blocks * found.bsize),
      freeBytes: bytes(found.bfree * found.bsize),
      availableBytes: bytes(found.bavail * found.bsize),
      inodes: found.files,
      freeInodes: found.ffree,
    };
  } catch (error) {
    throw failed(path, error);
  }
}

export async function changeFile(step: FileStep): Promise<void> {
  try {
    await change(step);
  } catch (error) {
    if (step.kind.startsWith('remove') && isAbsent(error)) return;
    throw failed(step.path, error);
  }
}

async function change(step: FileStep): Promise<void> {
  switch (step.kind) {
    case 'make-directory':
      await mkdir(step.path, { recursive: true, mode: 0o755 });
      return;
    case 'make-file':
      await mkdir(dirname(step.path), { recursive: true, mode: 0o755 });
      await (await open(step.path, constants.O_CREAT | constants.O_RDONLY, 0o644)).close();
      return;
    case 'change-mode':
      return changeMode(step.path, step.mode);
    case 'remove-directory':
      return rmdir(step.path);
    case 'remove-file':
      return unlink(step.path);
  }
}

/** Kept through a power cut: the mark that says "not yet done" goes right after this. */
async function changeMode(path: string, mode: number): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.chmod(mode);
    await directory.sync();
  } finally {
    await directory.close();
  }
}

const codes: Readonly<Record<string, FailureCode>> = {
  ENOTEMPTY: 'TargetTaken',
  EEXIST: 'TargetTaken',
  ENOTDIR: 'TargetTaken',
  EISDIR: 'TargetTaken',
  EBUSY: 'PublicationInUse',
  EIO: 'DeviceFailed',
};

function failed(path: string, cause: unknown): OperationError {
  const { code = '', message } = cause as NodeJS.ErrnoException;
  return new OperationError(codes[code] ?? 'FileFailed', `${path}: ${message}`, { cause });
}

function isAbsent(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
