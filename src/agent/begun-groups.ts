import type { ObservedNode } from '../core/observed.ts';
import { type Begun, lostBegun, noteOfBegun, stillBegun } from '../core/volume-group/begun.ts';
import {
  type Labels,
  labelledFor,
  labelsAfterLook,
  withLabelling,
} from '../core/volume-group/labels.ts';
import type { Engine, NodeTask } from '../engine/engine.ts';
import type { GroupMemory } from './group-memory.ts';

type Parts = { readonly engine: Engine; readonly memory: GroupMemory };

/** Groups that may have been made, and disks labelled, though nobody has seen that yet. */
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
        await memory.noteLabels(withLabelling(await memory.labels(), step, node));
        if (step.kind !== 'create-vg') return;
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

  /** PVs that were labelled for a group and are not in it: with it their labels go. */
  async labelled(vg: string): Promise<readonly string[]> {
    const { engine, memory } = this.#parts;
    const noted = await memory.labels();
    if (noted.size === 0) return [];
    return labelledFor(vg, await this.settleLabels(await engine.observeNode([])));
  }

  /** With a look at the disks: labels that are gone, or in a group, are struck out. */
  async settleLabels(node: ObservedNode): Promise<Labels> {
    const { memory } = this.#parts;
    const noted = labelsAfterLook(await memory.labels(), node);
    await memory.noteLabels(noted);
    return noted;
  }

  async #open(): Promise<Begun> {
    const { memory } = this.#parts;
    return new Map([...(await memory.begun())].filter(([name]) => !memory.known.has(name)));
  }
}
