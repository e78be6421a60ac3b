import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../base/failures.ts';

/**
 * Which volume groups were seen on this host, by name: `groups.json` in the state directory. A
 * group whose disks are all gone looks like one that was never made; only this tells them apart.
 */
export type KnownGroups = ReadonlyMap<string, string>;

export async function readKnownGroups(directory: string): Promise<KnownGroups> {
  const path = join(directory, 'groups.json');
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw unusable(path, (error as Error).message, error);
  }
  return parse(path, text);
}

/** Written beside and moved into place, so that a power cut leaves the old or the new one. */
export async function writeKnownGroups(directory: string, groups: KnownGroups): Promise<void> {
  const path = join(directory, 'groups.json');
  try {
    await mkdir(directory, { recursive: true });
    const text = JSON.stringify({ groups: Object.fromEntries(groups) }, undefined, 2);
    await writeDurably(`${path}.new`, `${text}\n`);
    await rename(`${path}.new`, path);
    await syncDirectory(directory);
  } catch (error) {
    throw unusable(path, (error as Error).message, error);
  }
}

function parse(path: string, text: string): KnownGroups {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unusable(path, (error as Error).message, error);
  }
  const groups = (value as { readonly groups?: unknown } | null)?.groups;
  if (typeof groups !== 'object' || groups === null) throw unusable(path, 'it has no "groups"');
  for (const [name, uuid] of Object.entries(groups)) {
    if (typeof uuid !== 'string') throw unusable(path, `groups.${name} is not a UUID`);
  }
  return new Map(Object.entries(groups as Readonly<Record<string, string>>));
}

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'w', 0o600);
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

function unusable(path: string, why: string, cause?: unknown): OperationError {
  const message = `${path}, which tells the known volume groups, cannot be used: ${why}`;
  return new OperationError('InvalidConfiguration', message, { cause });
}
