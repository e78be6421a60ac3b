import type { ObservedNode } from '../core/observed.ts';
import { type Begun, lostBegun, noteOfBegun, stillBegun } from '../core/volume-group/begun.ts';
import type { Engine, NodeTask } from '../engine/engine.ts';
import type { GroupMemory } from './group-memory.ts';

type Parts = { readonly engine: Engine; readonly memory: GroupMemory };

/** Groups that may have been made, though nobody has seen them yet. */
export class BegunGroups {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** The task, with a note of what it begins. */
  noting<Status>(task: NodeTask<Status>): NodeTask<Status> {
    const { memory } = this.#parts;
    return {
      ...task,
      begin: async (step, node) => {
        const others = await memory.begun();
        await memory.noteBegun(new Map([...others, [step.vg, noteOfBegun(step, node)]]));
      },
    };
  }

  /**
   * By name, in the place of an identity: such a group is never made a second time, or there would
   * be two of the name when its disks come back.
   */
  async lost(): Promise<ReadonlyMap<string, string>> {
    const open = await this.#open();
    if (open.size === 0) return open;
    const node = await this.#parts.engine.observeNode([]);
    return lostBegun(await this.settle(node), node);
  }

  /** With a look at the disks: what was learned, or never made, is struck out. */
  async settle(node: ObservedNode): Promise<Begun> {
    const open = stillBegun(await this.#open(), node);
    await this.#parts.memory.noteBegun(open);
    return open;
  }

  async #open(): Promise<Begun> {
    const { memory } = this.#parts;
    return new Map([...(await memory.begun())].filter(([name]) => !memory.known.has(name)));
  }
}
