import { access, constants, readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperationError } from '../base/failures.ts';
import type { Wipes } from '../core/device/wipes.ts';
import type { Begun } from '../core/volume-group/begun.ts';
import type { Labels } from '../core/volume-group/labels.ts';
import { writeDurably } from '../host/durable-file.ts';
import { readKnownGroups, writeKnownGroups } from '../host/known-groups.ts';
import { readWipes, writeWipes } from '../host/wiped-disks.ts';

/** What is kept on the node's own disk. */
export type NodeFiles = {
  /** Undefined where there is none. */
  readLvmd(): Promise<string | undefined>;
  /** Fails where it cannot be written, such as a ConfigMap. */
  checkLvmd(): Promise<void>;
  /**
   * Instead of what stood there when it was read; refused when that is another text by now. What
   * it says is in force when this is done, if it can be.
   */
  writeLvmd(text: string, before: string | undefined): Promise<void>;
  readKnown(): Promise<ReadonlyMap<string, string>>;
  writeKnown(known: ReadonlyMap<string, string>): Promise<void>;
  /** Disks that were wiped, or are about to be. */
  readWipes(): Promise<Wipes>;
  writeWipes(wipes: Wipes): Promise<void>;
  /** Groups that are being removed. */
  readLeaving(): Promise<ReadonlyMap<string, string>>;
  writeLeaving(leaving: ReadonlyMap<string, string>): Promise<void>;
  /** Groups that are being made. */
  readBegun(): Promise<Begun>;
  writeBegun(begun: Begun): Promise<void>;
  /** Labels that are being put on disks for groups. */
  readLabels(): Promise<Labels>;
  writeLabels(labels: Labels): Promise<void>;
  /** Groups that were given up. */
  readForgotten(): Promise<ReadonlyMap<string, string>>;
  writeForgotten(forgotten: ReadonlyMap<string, string>): Promise<void>;
};

type Places = {
  readonly lvmdFile: string;
  readonly stateDirectory: string;
  /** Lets what lvmd.yaml says be in force. */
  readonly reread: () => Promise<void>;
};

/** lvmd.yaml, and what stands beside it in the state directory. */
export function nodeFiles({ lvmdFile, stateDirectory, reread }: Places): NodeFiles {
  return {
    readLvmd: () => telling(lvmdFile, 'read', () => textIn(lvmdFile)),
    checkLvmd: () => telling(lvmdFile, 'written', () => access(dirname(lvmdFile), constants.W_OK)),
    writeLvmd: async (text, before) => {
      await telling(lvmdFile, 'written', async () => {
        if ((await textIn(lvmdFile)) !== before)
          throw new Error('somebody else has just written it');
        await writeDurably(await realpath(lvmdFile).catch(() => lvmdFile), text, 0o644);
      });
      await reread();
    },
    readKnown: () => readKnownGroups(stateDirectory),
    writeKnown: (known) => writeKnownGroups(stateDirectory, known),
    readWipes: () => readWipes(stateDirectory),
    writeWipes: (wipes) => writeWipes(stateDirectory, wipes),
    readLeaving: () => readKnownGroups(stateDirectory, 'leaving.json'),
    writeLeaving: (leaving) => writeKnownGroups(stateDirectory, leaving, 'leaving.json'),
    readBegun: () => readKnownGroups(stateDirectory, 'begun.json'),
    writeBegun: (begun) => writeKnownGroups(stateDirectory, begun, 'begun.json'),
    readLabels: () => readKnownGroups(stateDirectory, 'labels.json'),
    writeLabels: (labels) => writeKnownGroups(stateDirectory, labels, 'labels.json'),
    readForgotten: () => readKnownGroups(stateDirectory, 'forgotten.json'),
    writeForgotten: (forgotten) => writeKnownGroups(stateDirectory, forgotten, 'forgotten.json'),
  };
}

async function textIn(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function telling<T>(path: string, what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const message = `${path} cannot be ${what}: ${(cause as Error).message}`;
    throw new OperationError('FileFailed', message, { cause });
  }
}
