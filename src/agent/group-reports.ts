import type {
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../api/objects/lvm-volume-group.ts';
import { isSameJson } from '../api/same.ts';
import { clusterNoteAnnotation } from '../core/lvm-cluster/cluster-note.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Informer } from '../kube/informer.ts';
import { lvmNodeStatusKind } from '../kube/lvms-kinds.ts';
import { pointer } from '../kube/patch.ts';

type Parts = {
  readonly client: KubeClient;
  readonly reports: Informer<LvmVolumeGroupNodeStatus>;
  readonly node: string;
};

/** What this node tells of its groups. The operator makes the object; without one nothing is told. */
export class GroupReports {
  readonly #parts: Parts;
  #written: readonly LvmVolumeGroupStatus[] | undefined;
  /** What the operator had noted on it when it was last looked at. */
  #note: string | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get object(): LvmVolumeGroupNodeStatus | undefined {
    const { reports, node } = this.#parts;
    return [...reports.values()].find(({ metadata }) => metadata.name === node);
  }

  get told(): readonly LvmVolumeGroupStatus[] {
    return this.object?.spec?.nodeStatus ?? [];
  }

  /** As it is now. Who acts by it hears of what others change from then on. */
  look(): LvmVolumeGroupNodeStatus | undefined {
    const { object } = this;
    this.#note = noteOn(object);
    return object;
  }

  /** Is it as we wrote it last? Then nobody else changed it. */
  isOurs(object: LvmVolumeGroupNodeStatus): boolean {
    const told = object.spec?.nodeStatus ?? [];
    const isAsWritten = this.#written !== undefined && isSameJson(told, this.#written);
    return isAsWritten && noteOn(object) === this.#note;
  }

  /** Written only when it differs. */
  async tell(nodeStatus: readonly LvmVolumeGroupStatus[], signal: AbortSignal): Promise<void> {
    const { object } = this;
    if (object === undefined || isSameJson(this.told, nodeStatus)) return;
    const { client, reports } = this.#parts;
    const operations = [
      { op: 'test', path: pointer('metadata', 'uid'), value: object.metadata.uid },
      { op: 'add', path: pointer('spec'), value: { nodeStatus } },
    ] as const;
    const patch = { type: 'json', operations } as const;
    this.#written = nodeStatus;
    reports.putOwn(await client.patch(lvmNodeStatusKind, object.metadata, patch, { signal }));
  }
}

function noteOn(object: LvmVolumeGroupNodeStatus | undefined): string | undefined {
  return object?.metadata.annotations?.[clusterNoteAnnotation];
}
