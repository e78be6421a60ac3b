import type { LvmVolumeGroup } from '../api/objects/lvm-volume-group.ts';
import { groupFinalizer, wipedAnnotation } from '../core/lvm-cluster/marks.ts';
import { noteText, type ReleaseNote, releaseAnnotation } from '../core/lvm-cluster/release.ts';
import type { KubeClient } from '../kube/client.ts';
import { KubeError } from '../kube/errors.ts';
import { guardOff, guardOn } from '../kube/finalizers.ts';
import type { Informer } from '../kube/informer.ts';
import { lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import { type JsonOperation, type Patch, pointer } from '../kube/patch.ts';

type Parts = {
  readonly client: KubeClient;
  readonly groups: Informer<LvmVolumeGroup>;
  readonly node: string;
};

/** What this node writes on an LVMVolumeGroup: its own marks, and nothing else. */
export class GroupMarks {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Before anything is made: whoever deletes the object then waits until it is gone here. */
  async mark(group: LvmVolumeGroup, signal: AbortSignal): Promise<void> {
    await this.#patch(group, guardOn(group, groupFinalizer(this.#parts.node)), signal);
  }

  async unmark(group: LvmVolumeGroup, signal: AbortSignal): Promise<void> {
    const patch = guardOff(group, groupFinalizer(this.#parts.node));
    if (patch === undefined) return;
    try {
      await this.#patch(group, patch, signal);
    } catch (error) {
      if (!(error instanceof KubeError) || error.code !== 'NotFound') throw error;
    }
  }

  isWiped({ metadata }: LvmVolumeGroup): boolean {
    return metadata.annotations?.[wipedAnnotation(this.#parts.node)] !== undefined;
  }

  async noteWipe(group: LvmVolumeGroup, signal: AbortSignal): Promise<void> {
    const annotations = { [wipedAnnotation(this.#parts.node)]: '' };
    await this.#patch(group, { type: 'merge', body: { metadata: { annotations } } }, signal);
  }

  /** If it is still the one that was read. */
  async noteRelease(group: LvmVolumeGroup, note: ReleaseNote, signal: AbortSignal): Promise<void> {
    const key = releaseAnnotation(this.#parts.node);
    const path = pointer('metadata', 'annotations', key);
    const text = noteText(note);
    const put: JsonOperation =
      text === undefined ? { op: 'remove', path } : { op: 'replace', path, value: text };
    const same = { op: 'test', path, value: group.metadata.annotations?.[key] } as const;
    await this.#patch(group, { type: 'json', operations: [same, put] }, signal);
  }

  async #patch({ metadata }: LvmVolumeGroup, patch: Patch, signal: AbortSignal): Promise<void> {
    const { client, groups } = this.#parts;
    groups.putOwn(await client.patch(lvmVolumeGroupKind, metadata, patch, { signal }));
  }
}
