import type { StoredConfiguration } from '../../src/agent/last-good.ts';
import type { ConfigurationFiles } from '../../src/agent/lvmd-config.ts';
import type { NodeFiles } from '../../src/agent/node-files.ts';
import { OperationError } from '../../src/base/failures.ts';
import type { RemovalNotes, SeenIn } from '../../src/core/catalog.ts';
import type { Wipes } from '../../src/core/device/wipes.ts';
import type { Chance } from '../world/chance.ts';
import type { Life } from './life.ts';

type Groups = ReadonlyMap<string, string>;

/** The few files of a node that outlive its agent. Each is written as a whole, or not at all. */
export class NodeDisk {
  readonly #chance: Chance;
  #lvmd: string | undefined;
  #stored: StoredConfiguration | undefined;
  known: Groups = new Map();
  wipes: Wipes = new Map();
  #leaving: Groups = new Map();
  #begun: Groups = new Map();
  #labels: Groups = new Map();
  #forgotten: Groups = new Map();
  #removals: ReadonlyMap<string, SeenIn> = new Map();
  /** How often a file cannot be read or written. */
  failures = 0;
  /** Told when the agent writes lvmd.yaml. */
  readonly writes = new Set<(before: string | undefined, after: string) => void>();
  readonly #edits = new Set<() => void>();

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  get lvmd(): string | undefined {
    return this.#lvmd;
  }

  /** An administrator with an editor. */
  set lvmd(text: string | undefined) {
    this.#lvmd = text;
    for (const tell of this.#edits) tell();
  }

  /** Somebody else's edits of lvmd.yaml. */
  onEdit(life: Life, tell: () => void): void {
    const enter = () => life.enter(tell);
    this.#edits.add(enter);
    life.onDeath(() => this.#edits.delete(enter));
  }

  configuration(life: Life): ConfigurationFiles {
    return {
      readText: () =>
        this.#do(life, () => {
          if (this.#lvmd !== undefined) return this.#lvmd;
          throw Object.assign(new Error('ENOENT: lvmd.yaml'), { code: 'ENOENT' });
        }),
      // Where this cannot be read the file alone counts: classes that it has no longer are lost.
      readStored: async () => this.#stored,
      writeStored: (stored) =>
        this.#do(life, () => {
          this.#stored = stored;
        }),
    };
  }

  files(life: Life, reread: () => Promise<void>): NodeFiles {
    const keep = (put: (groups: Groups) => void) => (groups: Groups) =>
      this.#do(life, () => put(new Map(groups)));
    return {
      readLvmd: () => this.#do(life, () => this.#lvmd),
      checkLvmd: () => this.#do(life, () => undefined),
      writeLvmd: async (text, before) => {
        await this.#do(life, () => this.#write(text, before));
        await reread();
      },
      readKnown: () => this.#do(life, () => this.known),
      writeKnown: keep((groups) => {
        this.known = groups;
      }),
      readWipes: () => this.#do(life, () => this.wipes),
      writeWipes: (wipes) =>
        this.#do(life, () => {
          this.wipes = new Map(wipes);
        }),
      readLeaving: () => this.#do(life, () => this.#leaving),
      writeLeaving: keep((groups) => {
        this.#leaving = groups;
      }),
      readBegun: () => this.#do(life, () => this.#begun),
      writeBegun: keep((groups) => {
        this.#begun = groups;
      }),
      readLabels: () => this.#do(life, () => this.#labels),
      writeLabels: keep((groups) => {
        this.#labels = groups;
      }),
      readForgotten: () => this.#do(life, () => this.#forgotten),
      writeForgotten: keep((groups) => {
        this.#forgotten = groups;
      }),
    };
  }

  /** Where they cannot be written they are known until the process ends. */
  removals(life: Life): RemovalNotes {
    const notes = new Map(this.#removals);
    const keep = async () => {
      try {
        await this.#do(life, () => {
          this.#removals = new Map(notes);
        });
      } catch (error) {
        if (!(error instanceof OperationError)) throw error;
      }
    };
    return {
      get: (id) => notes.get(id),
      note: async (id, vgUuid) => {
        if (notes.get(id)?.vgUuid === vgUuid) return;
        notes.set(id, { vgUuid, isRemoved: false });
        await keep();
      },
      groupRemoved: async (vgUuid) => {
        const stale = [...notes].filter(([, one]) => one.vgUuid === vgUuid && !one.isRemoved);
        for (const [id] of stale) notes.set(id, { vgUuid, isRemoved: true });
        if (stale.length > 0) await keep();
      },
    };
  }

  #write(text: string, before: string | undefined): void {
    if (before !== this.#lvmd) {
      throw new OperationError('FileFailed', 'lvmd.yaml: somebody else has just written it');
    }
    this.#lvmd = text;
    for (const tell of this.writes) tell(before, text);
  }

  /** A process may die before it, and after it without knowing. */
  async #do<T>(life: Life, work: () => T): Promise<T> {
    await life.clock.sleep(this.#chance.between(1, 4));
    if (this.#chance.happens(this.failures)) throw new OperationError('FileFailed', 'EIO');
    const done = work();
    await life.clock.sleep(this.#chance.between(1, 4));
    return done;
  }
}
