import { isDeepStrictEqual } from 'node:util';
import { OperationError } from '../base/failures.ts';
import { showList } from '../base/show.ts';
import type { VolumeRecord } from '../core/catalog.ts';
import type { ObservedLv } from '../core/observed.ts';
import { groupsIn, type SnapshotGroup } from '../core/snapshot-group/catalog.ts';
import { readTag, tagOf } from '../core/tags.ts';
import type { Engine } from '../engine/engine.ts';
import { asOperationError } from '../engine/execute.ts';
import { settled } from '../engine/job.ts';
import type { Signal } from '../engine/ports.ts';
import type { Publisher } from '../engine/publisher.ts';
import { sealTask } from '../engine/tasks.ts';
import { Turns } from '../engine/turns.ts';
import { orThrow } from './outcome.ts';
import type { Volumes } from './volumes.ts';

export type GroupsParts = {
  readonly engine: Engine;
  readonly publisher: Pick<Publisher, 'still'>;
  readonly volumes: Volumes;
  readonly newId: () => string;
  readonly nowMs: () => number;
};

/** The ids of a group whose record somebody else keeps: its own, and of a member by its source. */
export type GroupIds = { readonly id: string; readonly members: ReadonlyMap<string, string> };

/**
 * Snapshots of several volumes at one moment. A group without its seal was cut off: nobody was told
 * of it, and the same request removes what is there and takes all of it anew.
 */
export class Groups {
  readonly #parts: GroupsParts;
  readonly #turns = new Turns();

  constructor(parts: GroupsParts) {
    this.#parts = parts;
  }

  create(
    name: string,
    sourceIds: readonly string[],
    signal?: Signal,
    ids?: GroupIds,
  ): Promise<SnapshotGroup> {
    return this.#turns.run(`group ${name}`, () => this.#create(name, sourceIds, ids), signal);
  }

  /** With the snapshots that the caller believes to be in it; none means that it does not say. */
  async get(id: string, snapshotIds: readonly string[]): Promise<SnapshotGroup> {
    const group = await this.#lookFor(id);
    if (group === undefined) {
      await this.#checkGone(id);
      throw new OperationError('VolumeNotFound', `there is no group snapshot ${id}`);
    }
    await this.#checkMembers(group, snapshotIds);
    return group;
  }

  async remove(id: string, snapshotIds: readonly string[], signal?: Signal): Promise<void> {
    return this.#turns.run(id, () => this.#remove(id, snapshotIds), signal);
  }

  async #create(
    name: string,
    sourceIds: readonly string[],
    ids: GroupIds | undefined,
  ): Promise<SnapshotGroup> {
    const { newId, nowMs } = this.#parts;
    checkSources(sourceIds);
    const named = (await this.#groups()).filter((group) => group.name === name);
    for (const { isSealed, members } of named) if (!isSealed) await this.#removeMembers(members);
    // Somebody was told of one with a seal. Even if an administrator removed some of it, the
    // rest is kept, and said not to be ready.
    const existing = named.find(({ isSealed }) => isSealed);
    if (existing !== undefined) return this.#sealed(sameSources(existing, sourceIds));
    const sources = await this.#sources(sourceIds);
    const id = ids?.id ?? newId();
    const tags = [
      ...[tagOf('group', id), tagOf('group-name', name)],
      ...[tagOf('group-size', String(sourceIds.length)), tagOf('created', String(nowMs()))],
    ];
    try {
      await this.#take(name, sources, tags, ids);
    } catch (error) {
      // If this fails too, the same request finds what is left and removes it.
      await this.#giveUp(id).catch(asOperationError);
      throw error;
    }
    return this.get(id, []);
  }

  async #giveUp(id: string): Promise<void> {
    const left = (await this.#groups()).find((group) => group.id === id);
    await this.#removeMembers(left?.members ?? []);
  }

  async #take(
    name: string,
    sources: readonly VolumeRecord[],
    tags: readonly string[],
    ids: GroupIds | undefined,
  ): Promise<void> {
    const { publisher, volumes } = this.#parts;
    const members = sources.map(({ id, lv, vg }) => ({
      volume: { vg: vg.name, name: id, uuid: lv.uuid },
      lv,
    }));
    const subject = { noun: 'snapshot-group', volume: name };
    const take = ({ id }: VolumeRecord) => volumes.takeMember(id, tags, ids?.members.get(id));
    const work = () => allOrFirstFailure(sources.map(take));
    const outcome = await publisher.still(members, subject, async () => ({ taken: await work() }));
    await this.#seal(orThrow(outcome).taken);
  }

  async #sealed(group: SnapshotGroup): Promise<SnapshotGroup> {
    await this.#seal(group.members);
    return group;
  }

  async #seal(members: readonly VolumeRecord[]): Promise<void> {
    const { engine } = this.#parts;
    const ends = members.map(({ id, lv, vg }) =>
      engine.submit(sealTask({ vg: vg.name, name: id, uuid: lv.uuid })),
    );
    for (const end of await allOrFirstFailure(ends)) settled(end);
  }

  async #remove(id: string, snapshotIds: readonly string[]): Promise<void> {
    const group = (await this.#lookFor(id)) ?? { id, members: [], isComplete: false };
    // What is gone is gone; but a snapshot of something else is not to be believed gone with it.
    await this.#checkMembers(group, snapshotIds);
    await this.#removeMembers(group.members);
    if (!group.isComplete) await this.#checkGone(id);
  }

  /** A report that may be a minute old cannot say that it is gone. */
  async #lookFor(id: string): Promise<SnapshotGroup | undefined> {
    const isIt = (group: SnapshotGroup) => group.id === id;
    const known = (await this.#groups()).find(isIt);
    if (known !== undefined) return known;
    await this.#parts.engine.observe();
    return (await this.#groups()).find(isIt);
  }

  /** Some of it may be in a volume group that is away. */
  #checkGone(id: string): Promise<void> {
    const isMember = ({ tags }: ObservedLv) => readTag(tags, 'group') === id;
    return this.#parts.volumes.checkGone(`the group snapshot ${id}`, isMember);
  }

  async #removeMembers(members: readonly VolumeRecord[]): Promise<void> {
    for (const { id } of members) await this.#parts.volumes.removeMember(id);
  }

  async #checkMembers(
    group: Pick<SnapshotGroup, 'id' | 'members'>,
    snapshotIds: readonly string[],
  ): Promise<void> {
    if (snapshotIds.length === 0) return;
    const ours = new Set(group.members.map(({ id }) => id));
    const records = await this.#parts.volumes.records();
    const strange = snapshotIds.filter(
      (id) => !ours.has(id) && records.some((record) => record.id === id),
    );
    const unnamed = [...ours].filter((id) => !snapshotIds.includes(id));
    const problems = [
      ...(strange.length === 0 ? [] : [`${showList(strange)} is not in it`]),
      ...(unnamed.length === 0 ? [] : [`${showList(unnamed)} is in it and was not named`]),
    ];
    if (problems.length === 0) return;
    const message = `snapshot_ids do not agree with the group ${group.id}: ${problems.join('; ')}`;
    throw new OperationError('InvalidRequest', message);
  }

  async #sources(sourceIds: readonly string[]): Promise<readonly VolumeRecord[]> {
    const sources: VolumeRecord[] = [];
    for (const id of sourceIds) {
      sources.push(await this.#parts.volumes.get('volume', id, 'SourceNotFound'));
    }
    return sources;
  }

  async #groups(): Promise<readonly SnapshotGroup[]> {
    return groupsIn(await this.#parts.volumes.recordsMade());
  }
}

/** One that fails must not leave the others running behind the caller's back. */
async function allOrFirstFailure<T>(work: readonly Promise<T>[]): Promise<readonly T[]> {
  const ends = await Promise.allSettled(work);
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}

function checkSources(sourceIds: readonly string[]): void {
  if (sourceIds.length === 0) {
    throw new OperationError('InvalidRequest', 'source_volume_ids is missing');
  }
  const twice = sourceIds.find((id, index) => sourceIds.indexOf(id) !== index);
  if (twice === undefined) return;
  throw new OperationError('InvalidRequest', `source_volume_ids names ${twice} twice`);
}

function sameSources(group: SnapshotGroup, sourceIds: readonly string[]): SnapshotGroup {
  const has = group.members.map(({ sourceId = '' }) => sourceId);
  const isSame = group.isComplete
    ? isDeepStrictEqual(has.toSorted(), [...sourceIds].toSorted())
    : has.every((id) => sourceIds.includes(id));
  if (isSame) return group;
  const message = `the group snapshot ${group.name} exists and is of ${showList(has)}`;
  throw new OperationError('VolumeDiffers', message);
}
