import type { LvmVolumeGroup } from '../api/objects/lvm-volume-group.ts';
import { OperationError } from '../base/failures.ts';
import type { RemovalNotes } from '../core/catalog.ts';
import { leavingNode } from '../core/lvm-cluster/node-wish.ts';
import { permitFor } from '../core/permit.ts';
import { isBlocked } from '../core/usable-vg.ts';
import type { DesiredVg } from '../core/volume-group/desired.ts';
import { leavingVg } from '../core/volume-group/leaving.ts';
import type { Engine } from '../engine/engine.ts';
import { settled } from '../engine/job.ts';
import { begunMoveTask, thinPoolTask, volumeGroupTask } from '../engine/tasks.ts';
import type { BegunGroups } from './begun-groups.ts';
import type { GroupMemory } from './group-memory.ts';

type Parts = {
  readonly engine: Engine;
  readonly memory: GroupMemory;
  readonly removals: Pick<RemovalNotes, 'groupRemoved'>;
  readonly begun: BegunGroups;
};

type Seen = Parameters<typeof leavingNode>[1];

/** Takes groups away that shall go from this node. */
export class GroupRemoval {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /**
   * Nobody is given anything from it any more. It goes when it is empty, and only then; a failure
   * says why it stays.
   */
  async take(group: LvmVolumeGroup, seen: Seen): Promise<void> {
    const { engine, memory, begun } = this.#parts;
    const { name } = group.metadata;
    const { volumeGroups, thinPools } = leavingNode(group, seen);
    try {
      this.#checkBegun(name, seen);
      for (const vg of volumeGroups) await this.#endMove(vg);
      for (const pool of thinPools) settled(await engine.submit(thinPoolTask(pool)));
      for (const vg of volumeGroups) {
        const all = { volumeGroups, thinPools, deviceClasses: [] };
        await this.#note(vg);
        const labels = [...(await memory.leavingPvs(name)), ...(await begun.labelled(name))];
        const release = [...vg.release, ...labels];
        settled(await engine.submitNode(volumeGroupTask({ ...vg, release }, all)));
      }
      await this.#tell(name);
      await memory.learn(name, undefined);
      await memory.forgetBegun(name);
      await memory.forgetLeaving(name);
    } catch (error) {
      if (error instanceof OperationError) await this.#forgetIfHere(name);
      throw error;
    }
  }

  /** It may have been made, on disks that are away. */
  #checkBegun(name: string, { known }: Seen): void {
    const identity = known.get(name);
    if (identity === undefined || this.#parts.memory.known.has(name)) return;
    throw new OperationError('VolumeGroupLost', `no device of ${name} (${identity}) is here`);
  }

  /** Only devices that we were told to empty: what else is moved is somebody else's. */
  async #endMove(vg: DesiredVg): Promise<void> {
    const { engine } = this.#parts;
    if (vg.release.length === 0) return;
    settled(await engine.submitNode(begunMoveTask(vg)));
    const move = engine.moves.in(vg.name);
    if (move === undefined) return;
    const message = `${move.device} of ${vg.name} is being emptied: what is moved is locked`;
    throw new OperationError('LvmLocked', message);
  }

  async #forgetIfHere(name: string): Promise<void> {
    const { memory } = this.#parts;
    try {
      const isHere = (await this.#seen(memory.known.get(name))) !== undefined;
      if (isHere) await memory.forgetLeaving(name);
    } catch (error) {
      // What went wrong before says more.
      if (!(error instanceof OperationError)) throw error;
    }
  }

  /**
   * One that is not to be seen was removed by us, or its disks are away: only a note that came
   * before its removal tells them apart. It is there only while the removal is under way, and has
   * the PVs too: nobody can tell later whose their labels were.
   */
  async #note({ name, ownerTag }: DesiredVg): Promise<void> {
    const { memory } = this.#parts;
    const uuid = memory.known.get(name);
    if (uuid !== undefined && (await memory.leaving()).get(name) === uuid) return;
    const { host } = await this.#parts.engine.observe();
    const vg = leavingVg({ name, uuid }, host);
    if (vg === undefined) return;
    if (isBlocked(vg)) throw new OperationError(vg.code, vg.message);
    const permit = permitFor({ deed: 'remove-vg', vg, tag: ownerTag });
    if (isBlocked(permit)) throw new OperationError(permit.code, permit.message);
    await memory.noteLeaving(vg);
  }

  /** Volumes that were in it may be remembered still: nobody could tell later that they are gone. */
  async #tell(name: string): Promise<void> {
    const uuid = (await this.#parts.memory.leaving()).get(name);
    if (uuid !== undefined) await this.#parts.removals.groupRemoved(uuid);
  }

  async #seen(uuid: string | undefined) {
    return (await this.#parts.engine.observe()).host.vgs.find((vg) => vg.uuid === uuid);
  }
}
