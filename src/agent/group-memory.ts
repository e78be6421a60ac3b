import type { NodeFiles } from './node-files.ts';

/**
 * Which groups were ever here, by name and identity. One that is away is told by it from one that
 * was never made.
 */
export class GroupMemory {
  readonly #files: NodeFiles;
  #known: ReadonlyMap<string, string> = new Map();

  constructor(files: NodeFiles) {
    this.#files = files;
  }

  get known(): ReadonlyMap<string, string> {
    return this.#known;
  }

  /** An administrator may have given a group up. */
  async read(): Promise<ReadonlyMap<string, string>> {
    this.#known = await this.#files.readKnown();
    return this.#known;
  }

  /** On disk before anybody hears of the group. Undefined: it is gone for good. */
  async learn(name: string, uuid: string | undefined): Promise<void> {
    const known = new Map(this.#known);
    if (known.get(name) === uuid) return;
    if (uuid === undefined) known.delete(name);
    else known.set(name, uuid);
    await this.#files.writeKnown(known);
    this.#known = known;
  }

  /** Groups whose removal is under way. */
  leaving(): Promise<ReadonlyMap<string, string>> {
    return this.#files.readLeaving();
  }

  async noteLeaving(name: string, uuid: string): Promise<void> {
    await this.#files.writeLeaving(new Map([...(await this.leaving()), [name, uuid]]));
  }

  async forgetLeaving(name: string): Promise<void> {
    const noted = new Map(await this.leaving());
    if (noted.delete(name)) await this.#files.writeLeaving(noted);
  }
}
