import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Written beside and moved into place: a power cut leaves the old file or the new one. An
 * administrator's command may write at the same moment: each has a file of its own.
 */
export async function writeDurably(path: string, text: string, mode = 0o600): Promise<void> {
  const directory = dirname(path);
  await mkdir(directory, { recursive: true });
  const beside = `${path}.${randomUUID()}.new`;
  try {
    await writeThrough(beside, text, mode);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  }
  await syncDirectory(directory);
}

async function writeThrough(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, 'w', mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
