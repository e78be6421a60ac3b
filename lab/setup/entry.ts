import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheDirectory } from '../cache.ts';
import { withLock } from './lock.ts';

const manifestName = 'manifest.json';
const unusedMsMax = 14 * 24 * 3600 * 1000;

export type Progress = (line: string) => void;

export type Manifest = {
  readonly inputs: unknown;
  readonly builtAt: string;
  readonly versions: Readonly<Record<string, string>>;
};

export type EntryRecipe = {
  readonly name: string;
  /** Everything that decides the content. Another value is another entry. */
  readonly inputs: unknown;
  /** What to tell before a build that takes long. */
  readonly announce?: string;
  /** Fills an empty directory and says which versions went into it. */
  readonly build: (directory: string) => Promise<Readonly<Record<string, string>>>;
};

export type Entry = { readonly path: string; readonly manifest: Manifest };

/**
 * A directory in the cache, built once. It is made under a temporary name and renamed when it is
 * complete, so an entry that exists is whole and a broken build is never mistaken for one.
 */
export async function ensureEntry(recipe: EntryRecipe, progress: Progress): Promise<Entry> {
  const cache = await cacheDirectory();
  const key = createHash('sha256').update(JSON.stringify(recipe.inputs)).digest('hex').slice(0, 12);
  const path = join(cache, `${recipe.name}-${key}`);
  const ready = await readEntry(path);
  if (ready !== undefined) return ready;
  const onWait = (): void => progress(`waiting for another set-up of ${recipe.name} to end`);
  return withLock(join(cache, `${recipe.name}.lock`), onWait, async () => {
    // Whoever held the lock before us may have built exactly this.
    const made = await readEntry(path);
    if (made !== undefined) return made;
    const tell: Progress = recipe.announce === undefined ? () => {} : progress;
    tell(`${recipe.announce}`);
    const startedMs = Date.now();
    await buildEntry(path, recipe);
    await removeUnused(cache, recipe.name);
    tell(`${recipe.name} ready after ${((Date.now() - startedMs) / 1000).toFixed(0)} s`);
    const built = await readEntry(path);
    if (built === undefined) throw new Error(`the build of ${path} left nothing behind`);
    return built;
  });
}

async function buildEntry(path: string, recipe: EntryRecipe): Promise<void> {
  const draft = `${path}.draft`;
  await rm(draft, { recursive: true, force: true }); // of a build that died
  await mkdir(draft, { recursive: true });
  const versions = await recipe.build(draft);
  const manifest: Manifest = {
    inputs: recipe.inputs,
    builtAt: new Date().toISOString(),
    versions,
  };
  await writeFile(join(draft, manifestName), `${JSON.stringify(manifest, null, 2)}\n`);
  await rename(draft, path);
}

/** Entries of other versions that nobody has asked for in a long time. */
async function removeUnused(cache: string, name: string): Promise<void> {
  const pattern = new RegExp(`^${name}-[0-9a-f]{12}$`);
  for (const entry of (await readdir(cache)).filter((found) => pattern.test(found))) {
    const used = await stat(join(cache, entry, manifestName)).catch(() => undefined);
    if (used === undefined || Date.now() - used.mtimeMs < unusedMsMax) continue;
    await rm(join(cache, entry), { recursive: true, force: true });
  }
}

async function readEntry(path: string): Promise<Entry | undefined> {
  try {
    const file = join(path, manifestName);
    const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest;
    const now = new Date();
    await utimes(file, now, now); // tells that it is still used
    return { path, manifest };
  } catch {
    return undefined;
  }
}
