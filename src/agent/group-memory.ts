import { isSameJson } from '../api/same.ts';
import type { Wipes } from '../core/device/wipes.ts';
import type { ObservedVg } from '../core/observed.ts';
import { knownGroups } from '../core/own-group.ts';
import type { Begun } from '../core/volume-group/begun.ts';
import type { Labels } from '../core/volume-group/labels.ts';
import type { NodeFiles } from './node-files.ts';

type LeavingGroup = Pick<ObservedVg, 'name' | 'uuid' | 'pvs'>;

/**
 * Which groups were ever here, by name and identity. One that is away is told by it from one that
 * was never made.
 */
export class GroupMemory {
  readonly #files: NodeFiles;
  #known: ReadonlyMap<string, string> = new Map();
  #forgotten: ReadonlyMap<string, string> = new Map();

  constructor(files: NodeFiles) {
    this.#files = files;
  }

  get known(): ReadonlyMap<string, string> {
    return this.#known;
  }

  /** Names that an administrator gave up, and that no group has borne since. */
  get givenUp(): ReadonlySet<string> {
    return knownGroups(this.#known, this.#forgotten).givenUp;
  }

  /** Which one it was that had a name which was given up; undefined while one has it. */
  lastOf(name: string): string | undefined {
    return this.givenUp.has(name) ? this.#forgotten.get(name) : undefined;
  }

  /** An administrator may have given a group up: beside us, and while we wrote of another. */
  async read(): Promise<ReadonlyMap<string, string>> {
    this.#forgotten = await this.#files.readForgotten();
    this.#known = knownGroups(await this.#files.readKnown(), this.#forgotten).made;
    return this.#known;
  }

  /** On disk before anybody hears of the group. Undefined: it is gone for good. */
  async learn(name: string, uuid: string | undefined): Promise<void> {
    const known = new Map(this.#known);
    if (known.get(name) === uuid && !this.#forgotten.has(name)) return;
    if (uuid === undefined) known.delete(name);
    else known.set(name, uuid);
    await this.#files.writeKnown(known);
    this.#known = known;
    if (!this.#forgotten.has(name)) return;
    const forgotten = [...(await this.#files.readForgotten())];
    this.#forgotten = new Map(forgotten.filter(([each]) => each !== name));
    await this.#files.writeForgotten(this.#forgotten);
  }

  /**
   * Groups that are to be seen, by name and identity: none of them was given up rightly, and of one
   * that is not known yet nothing else may tell once its disks are away.
   */
  async keep(here: ReadonlyMap<string, string>): Promise<void> {
    for (const [name, uuid] of here) {
      if (this.#forgotten.has(name) || !this.#known.has(name)) await this.learn(name, uuid);
    }
  }

  /** Groups that were begun, and of which nothing was learned. */
  begun(): Promise<Begun> {
    return this.#files.readBegun();
  }

  /** On disk before anything is done. */
  async noteBegun(begun: Begun): Promise<void> {
    const before = await this.begun();
    if (!isSameJson([...before], [...begun])) await this.#files.writeBegun(begun);
  }

  async forgetBegun(name: string): Promise<void> {
    await this.noteBegun(new Map([...(await this.begun())].filter(([each]) => each !== name)));
  }

  /** Labels that were put on disks, or are about to be. */
  labels(): Promise<Labels> {
    return this.#files.readLabels();
  }

  async noteLabels(labels: Labels): Promise<void> {
    const before = await this.labels();
    if (!isSameJson([...before], [...labels])) await this.#files.writeLabels(labels);
  }

  /** Disks that were wiped, or are about to be. */
  wipes(): Promise<Wipes> {
    return this.#files.readWipes();
  }

  async noteWipes(wipes: Wipes): Promise<void> {
    const before = await this.wipes();
    if (!isSameJson([...before], [...wipes])) await this.#files.writeWipes(wipes);
  }

  /** Groups whose removal is under way. */
  leaving(): Promise<ReadonlyMap<string, string>> {
    return this.#files.readLeaving();
  }

  /** PVs that were in it when it began to leave: their labels are ours to clear. */
  async leavingPvs(name: string): Promise<readonly string[]> {
    const keys = [...(await this.leaving()).keys()];
    return keys.filter((key) => isPvOf(name, key)).map((key) => key.slice(name.length + 1));
  }

  async noteLeaving({ name, uuid, pvs }: LeavingGroup): Promise<void> {
    const labels = pvs.map((pv) => [`${name}/${pv.uuid}`, uuid] as const);
    await this.#files.writeLeaving(new Map([...(await this.leaving()), [name, uuid], ...labels]));
  }

  async forgetLeaving(name: string): Promise<void> {
    const noted = await this.leaving();
    const kept = [...noted].filter(([key]) => key !== name && !isPvOf(name, key));
    if (kept.length < noted.size) await this.#files.writeLeaving(new Map(kept));
  }
}

/** No name of a group has a slash in it. */
function isPvOf(name: string, key: string): boolean {
  return key.startsWith(`${name}/`);
}
