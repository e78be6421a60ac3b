import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../base/failures.ts';
import { writeDurably } from './durable-file.ts';

/**
 * Which volume groups were seen on this host, by name: `groups.json` in the state directory. A
 * group whose disks are all gone looks like one that was never made; only this tells them apart.
 * `leaving.json` has those that are being removed: one of these that is gone was removed.
 * `begun.json` has those that are being made, with their disks: one of these may be on one of them.
 * `labels.json` has disks that were labelled for groups, with their PVs: they may not be in them.
 * `forgotten.json` has those that an administrator gave up, as far as they were known: others may
 * tell of them still.
 */
export type KnownGroups = ReadonlyMap<string, string>;

type GroupsFile = 'groups.json' | 'leaving.json' | 'begun.json' | 'labels.json' | 'forgotten.json';

export async function readKnownGroups(
  directory: string,
  file: GroupsFile = 'groups.json',
): Promise<KnownGroups> {
  const path = join(directory, file);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw unusable(path, (error as Error).message, error);
  }
  return parse(path, text);
}

export async function writeKnownGroups(
  directory: string,
  groups: KnownGroups,
  file: GroupsFile = 'groups.json',
): Promise<void> {
  const path = join(directory, file);
  try {
    const text = JSON.stringify({ groups: Object.fromEntries(groups) }, undefined, 2);
    await writeDurably(path, `${text}\n`);
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

function unusable(path: string, why: string, cause?: unknown): OperationError {
  const message = `${path}, which tells the known volume groups, cannot be used: ${why}`;
  return new OperationError('InvalidConfiguration', message, { cause });
}
