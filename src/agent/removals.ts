import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RemovalNotes } from '../core/catalog.ts';
import { writeDurably } from '../host/durable-file.ts';
import type { Log } from './log.ts';

/** More than can be under way at once; older ones say nothing any more. */
const notesMax = 1_000;

/** `removals.json` in the state directory: volumes that were to go, and the groups they were in. */
export class Removals implements RemovalNotes {
  readonly #path: string;
  readonly #log: Log;
  readonly #notes: Map<string, string>;
  #turn: Promise<void> = Promise.resolve();

  private constructor(path: string, log: Log, notes: Map<string, string>) {
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

  get(id: string): string | undefined {
    return this.#notes.get(id);
  }

  note(id: string, vgUuid: string): Promise<void> {
    if (this.#notes.get(id) === vgUuid) return this.#turn;
    this.#notes.delete(id);
    this.#notes.set(id, vgUuid);
    for (const old of [...this.#notes.keys()].slice(0, -notesMax)) this.#notes.delete(old);
    this.#turn = this.#turn.then(() => this.#write());
    return this.#turn;
  }

  /** Its object is gone. On disk it goes along with the next note: it can do no harm there. */
  forget(id: string): void {
    this.#notes.delete(id);
  }

  /** Where it cannot be kept the removal goes on all the same: it is only needed after a crash. */
  async #write(): Promise<void> {
    try {
      const text = JSON.stringify({ removals: Object.fromEntries(this.#notes) });
      await writeDurably(this.#path, `${text}\n`);
    } catch (error) {
      const message = `${this.#path} cannot be written: ${(error as Error).message}`;
      this.#log({ level: 'warn', message });
    }
  }
}

function parse(text: string): Map<string, string> {
  const { removals } = JSON.parse(text) as { readonly removals?: unknown };
  if (typeof removals !== 'object' || removals === null) throw new Error('it has no "removals"');
  const entries = Object.entries(removals as Readonly<Record<string, unknown>>);
  return new Map(
    entries.flatMap(([id, uuid]) => (typeof uuid === 'string' ? [[id, uuid] as const] : [])),
  );
}
