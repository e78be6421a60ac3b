import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { OperationError } from '../base/failures.ts';
import type { LastGood } from '../core/configuration.ts';
import { lvmdDeviceClasses } from '../core/lvmd.ts';
import { writeDurably } from '../host/durable-file.ts';

/**
 * The configuration that last worked, as `configuration.json` in the state directory: the text of
 * the file, and for each class it no longer has the text that did. Texts outlive a new version of
 * this program, which may read more out of them.
 */
export type StoredConfiguration = {
  readonly text: string;
  readonly retired: readonly {
    readonly name: string;
    readonly text: string;
    /** Of its group, where that was made here. */
    readonly vgUuid?: string;
  }[];
};

/** Nothing where there is none, or none that can be read: then the file alone counts. */
export async function readStored(directory: string): Promise<StoredConfiguration | undefined> {
  const path = pathIn(directory);
  try {
    return parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw unusable(path, error);
  }
}

export async function writeStored(directory: string, stored: StoredConfiguration): Promise<void> {
  const path = pathIn(directory);
  try {
    await writeDurably(path, `${JSON.stringify(stored, undefined, 2)}\n`);
  } catch (error) {
    throw unusable(path, error);
  }
}

export function lastGoodOf(stored: StoredConfiguration): LastGood | undefined {
  const decoded = decodedText(stored.text);
  if (decoded.kind === 'problems') return undefined;
  const retired = stored.retired.flatMap(({ name, text, vgUuid }) => {
    const old = decodedText(text);
    const classes = old.kind === 'lvmd' ? lvmdDeviceClasses(old.spec) : [];
    const found = classes.filter((candidate) => candidate.name === name);
    return vgUuid === undefined ? found : found.map((each) => ({ ...each, vgUuid }));
  });
  return { spec: decoded.spec, retired };
}

/** It was good when it was kept, also where it had no class. */
function decodedText(text: string) {
  return decodeLvmdFile({ file: 'configuration.json', text, mayBeEmpty: true });
}

function parse(value: unknown): StoredConfiguration {
  const { text, retired } = (value ?? {}) as Partial<StoredConfiguration>;
  const isRight = typeof text === 'string' && Array.isArray(retired) && retired.every(isRetired);
  if (!isRight) throw new Error('it has no "text" and "retired"');
  return { text, retired };
}

function isRetired(value: unknown): boolean {
  const { name, text, vgUuid } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isIdentity = vgUuid === undefined || typeof vgUuid === 'string';
  return typeof name === 'string' && typeof text === 'string' && isIdentity;
}

function pathIn(directory: string): string {
  return join(directory, 'configuration.json');
}

function unusable(path: string, cause: unknown): OperationError {
  const why = (cause as Error).message;
  const message = `${path}, which has the last good configuration, cannot be used: ${why}`;
  return new OperationError('InvalidConfiguration', message, { cause });
}
