import type {
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../api/objects/lvm-volume-group.ts';
import { isSameJson } from '../api/same.ts';
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

  /** Is it as we wrote it last? Then nobody else changed it. */
  isOurs({ spec }: LvmVolumeGroupNodeStatus): boolean {
    return this.#written !== undefined && isSameJson(spec?.nodeStatus ?? [], this.#written);
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
