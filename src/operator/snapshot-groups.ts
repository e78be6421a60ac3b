import { createHash } from 'node:crypto';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { OperationError } from '../base/failures.ts';
import {
  groupById,
  groupByName,
  groupDiffers,
  groupNotes,
  groupSourcesRefusal,
  membersRefusal,
  type VolumeGroup,
} from '../core/cluster/logical-volume-group.ts';
import type { GroupBook, GroupView } from '../csi/book.ts';
import type { Signal } from '../engine/ports.ts';
import { type LogicalVolumeBook, thrown } from './logical-volumes.ts';
import { asAbortSignal } from './logical-volumes-objects.ts';

export type GroupBookParts = {
  readonly book: LogicalVolumeBook;
  /** A name that no group ever had. */
  readonly newId: () => string;
  readonly mayChange: () => void;
};

/** Group snapshots in a cluster. They share objects, turns and waits with the book of volumes. */
export class LogicalVolumeGroups implements GroupBook {
  readonly #parts: GroupBookParts;

  constructor(parts: GroupBookParts) {
    this.#parts = parts;
  }

  async create(name: string, sourceIds: readonly string[], signal?: Signal): Promise<GroupView> {
    const { book, mayChange } = this.#parts;
    mayChange();
    const leave = asAbortSignal(signal);
    return book.turns.run(`group ${name}`, () => this.#create(name, sourceIds, leave), signal);
  }

  async get(id: string, snapshotIds: readonly string[]): Promise<GroupView> {
    const { objects } = this.#parts.book;
    const group = groupById(objects.all, id) ?? groupById(await objects.listed(id), id);
    if (group === undefined) {
      throw new OperationError('VolumeNotFound', `there is no group snapshot ${id}`);
    }
    const refusal = membersRefusal(id, group.members, snapshotIds, objects.all);
    if (refusal !== undefined) throw thrown(refusal);
    return this.#view(group);
  }

  async remove(id: string, snapshotIds: readonly string[], signal?: Signal): Promise<void> {
    const { book, mayChange } = this.#parts;
    mayChange();
    const leave = asAbortSignal(signal);
    return book.turns.run(`group of ${id}`, () => this.#remove(id, snapshotIds, leave), signal);
  }

  async #create(
    name: string,
    sourceIds: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<GroupView> {
    const { book } = this.#parts;
    checkSources(sourceIds);
    const { objects } = book;
    // A second group of the name would leave the first one to nobody, so only the server is asked.
    const begun = groupByName(await objects.listed(name), name);
    const refusal =
      begun === undefined
        ? undefined
        : groupDiffers(begun, sourceIds, (source) => objects.named(source));
    if (refusal !== undefined) throw thrown(refusal);
    // Somebody was told of one that was whole: what is left of it is kept as it is.
    if (begun?.isReady === true) return this.#view(begun);
    const id = begun?.id ?? this.#parts.newId();
    const members = await this.#begin({ id, name, sourceIds }, signal);
    await this.#finish(members, signal);
    return this.get(id, []);
  }

  /** All members are there before any of them is waited for: the agent takes them together. */
  async #begin(
    group: { readonly id: string; readonly name: string; readonly sourceIds: readonly string[] },
    signal: AbortSignal | undefined,
  ): Promise<readonly LogicalVolume[]> {
    const { book } = this.#parts;
    const sources: LogicalVolume[] = [];
    for (const id of group.sourceIds) {
      sources.push(await book.made('volume', id, 'SourceNotFound'));
    }
    const refusal = groupSourcesRefusal(sources);
    if (refusal !== undefined) throw thrown(refusal);
    const notes = groupNotes({ ...group, size: sources.length });
    const members: LogicalVolume[] = [];
    for (const [index, source] of sources.entries()) {
      const sourceId = group.sourceIds[index] ?? '';
      const name = memberName(group.id, sourceId);
      const draft = async () => book.snapshotDraft(name, source, sourceId, notes);
      members.push((await book.stood(name, draft, signal)).volume);
    }
    return members;
  }

  /** One that was refused takes the others with it: half a group is none. */
  async #finish(members: readonly LogicalVolume[], signal: AbortSignal | undefined): Promise<void> {
    const { book } = this.#parts;
    const over = new AbortController();
    const stop = () => over.abort();
    signal?.addEventListener('abort', stop);
    if (signal?.aborted === true) stop();
    let first: unknown;
    const finish = (member: LogicalVolume) =>
      book.finish(member, 'snapshot', over.signal).catch((error: unknown) => {
        first ??= error;
        stop();
      });
    await Promise.all(members.map(finish));
    signal?.removeEventListener('abort', stop);
    if (first === undefined) return;
    if (isOver(first)) await this.#removeAll(members, signal);
    throw first;
  }

  async #remove(
    id: string,
    snapshotIds: readonly string[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { objects } = this.#parts.book;
    const all = await objects.listed(id);
    const members = groupById(all, id)?.members ?? [];
    const refusal = membersRefusal(id, members, snapshotIds, all);
    if (refusal !== undefined) throw thrown(refusal);
    await this.#removeAll(members, signal);
  }

  async #removeAll(
    members: readonly LogicalVolume[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { objects } = this.#parts.book;
    await Promise.all(members.map((member) => objects.remove(member, signal)));
  }

  #view({ id, members, isReady }: VolumeGroup): GroupView {
    const views = members.map((member) => this.#parts.book.view(member));
    return { id, createdMs: views[0]?.createdMs ?? 0, members: views, isReady };
  }
}

/** Whatever is not over is asked for again, and goes on with what is there. */
function isOver(error: unknown): boolean {
  if (!(error instanceof OperationError)) return false;
  return !['Cancelled', 'ClusterUnavailable', 'NotLeading', 'VersionSkew'].includes(error.code);
}

function memberName(groupId: string, sourceId: string): string {
  const hash = createHash('sha256').update(`${groupId}/${sourceId}`).digest('hex');
  return `snapshot-${hash.slice(0, 40)}`;
}

function checkSources(sourceIds: readonly string[]): void {
  if (sourceIds.length === 0) {
    throw new OperationError('InvalidRequest', 'source_volume_ids is missing');
  }
  const twice = sourceIds.find((id, index) => sourceIds.indexOf(id) !== index);
  if (twice === undefined) return;
  throw new OperationError('InvalidRequest', `source_volume_ids names ${twice} twice`);
}
