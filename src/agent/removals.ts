import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RemovalNotes, SeenIn } from '../core/catalog.ts';
import { writeDurably } from '../host/durable-file.ts';
import type { Log } from './log.ts';

/** More than can be under way at once; older ones say nothing any more. */
const notesMax = 1_000;

/**
 * `removals.json` in the state directory: volumes that were to go, the groups they were in, and
 * those of them whose groups were removed since.
 */
export class Removals implements RemovalNotes {
  readonly #path: string;
  readonly #log: Log;
  readonly #notes: Map<string, SeenIn>;
  #turn: Promise<void> = Promise.resolve();
  /** Is on disk what was noted last? */
  #isWritten = true;

  private constructor(path: string, log: Log, notes: Map<string, SeenIn>) {
    this.#path = path;
    this.#log = log;
    this.#notes = notes;
  }

  /** What cannot be read is as good as nothing: then every group has to be seen. */
  static async open(directory: string, log: Log): Promise<Removals> {
    const path = join(directory, 'removals.json');
    try {
      return new Removals(path, log, parse(await readFile(path, 'utf8')));
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT') log({ level: 'warn', message: `${path} is not used: ${message}` });
      return new Removals(path, log, new Map());
    }
  }

  get(id: string): SeenIn | undefined {
    return this.#notes.get(id);
  }

  note(id: string, vgUuid: string): Promise<void> {
    const known = this.#notes.get(id);
    if (known?.vgUuid === vgUuid && !known.isRemoved) return this.#kept();
    this.#notes.delete(id);
    this.#notes.set(id, { vgUuid, isRemoved: false });
    for (const old of [...this.#notes.keys()].slice(0, -notesMax)) this.#notes.delete(old);
    return this.#keep();
  }

  groupRemoved(vgUuid: string): Promise<void> {
    const stale = [...this.#notes].filter(([, one]) => one.vgUuid === vgUuid && !one.isRemoved);
    if (stale.length === 0) return this.#kept();
    for (const [id] of stale) this.#notes.set(id, { vgUuid, isRemoved: true });
    return this.#keep();
  }

  /** Its object is gone. On disk it goes along with the next note: it can do no harm there. */
  forget(id: string): void {
    this.#notes.delete(id);
  }

  /** There may be room again for what was noted before. */
  #kept(): Promise<void> {
    return this.#isWritten ? this.#turn : this.#keep();
  }

  #keep(): Promise<void> {
    this.#turn = this.#turn.then(() => this.#write());
    return this.#turn;
  }

  /** Where it cannot be kept the removal goes on all the same: it is only needed after a crash. */
  async #write(): Promise<void> {
    try {
      const notes = [...this.#notes];
      const removals = Object.fromEntries(notes.map(([id, { vgUuid }]) => [id, vgUuid]));
      const removed = notes.filter(([, { isRemoved }]) => isRemoved).map(([id]) => id);
      const text = JSON.stringify({ removals, removed });
      await writeDurably(this.#path, `${text}\n`);
      this.#isWritten = true;
    } catch (error) {
      this.#isWritten = false;
      const message = `${this.#path} cannot be written: ${(error as Error).message}`;
      this.#log({ level: 'warn', message });
    }
  }
}

/** Who wrote it before there was a word of groups that were removed knew of none. */
function parse(text: string): Map<string, SeenIn> {
  const { removals, removed } = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (typeof removals !== 'object' || removals === null) throw new Error('it has no "removals"');
  const entries = Object.entries(removals as Readonly<Record<string, unknown>>);
  const gone = new Set<unknown>(Array.isArray(removed) ? removed : []);
  return new Map(
    entries.flatMap(([id, vgUuid]) =>
      typeof vgUuid === 'string' ? [[id, { vgUuid, isRemoved: gone.has(id) }] as const] : [],
    ),
  );
}
