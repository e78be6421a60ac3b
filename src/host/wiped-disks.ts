import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { OperationError } from '../base/failures.ts';
import type { Wipe, Wipes } from '../core/device/wipes.ts';
import { writeDurably } from './durable-file.ts';

/**
 * Which disks of this host were wiped by themselves: `wiped.json` in the state directory. It
 * outlives every object, and a disk that stands in it is never wiped again.
 */
export async function readWipes(directory: string): Promise<Wipes> {
  const path = join(directory, 'wiped.json');
  try {
    return parse(await readFile(path, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Map();
    throw unusable(path, error);
  }
}

export async function writeWipes(directory: string, wipes: Wipes): Promise<void> {
  const path = join(directory, 'wiped.json');
  try {
    const text = JSON.stringify({ disks: Object.fromEntries(wipes) }, undefined, 2);
    await writeDurably(path, `${text}\n`);
  } catch (error) {
    throw unusable(path, error);
  }
}

function parse(text: string): Wipes {
  const { disks } = (JSON.parse(text) ?? {}) as { readonly disks?: unknown };
  if (typeof disks !== 'object' || disks === null) throw new Error('it has no "disks"');
  const entries = Object.entries(disks as Readonly<Record<string, unknown>>);
  for (const [id, wipe] of entries) {
    if (!isWipe(wipe)) throw new Error(`disks["${id}"] has no "found" and "isDone"`);
  }
  return new Map(entries as [string, Wipe][]);
}

function isWipe(value: unknown): boolean {
  const { found, isDone } = (value ?? {}) as Partial<Wipe>;
  const areTexts = Array.isArray(found) && found.every((one) => typeof one === 'string');
  return areTexts && typeof isDone === 'boolean';
}

function unusable(path: string, cause: unknown): OperationError {
  const why = (cause as Error).message;
  const message = `${path}, which tells the disks that were wiped, cannot be used: ${why}`;
  return new OperationError('InvalidConfiguration', message, { cause });
}
