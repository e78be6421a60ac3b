import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { KubeObject, OwnerReference } from '../api/objects/metadata.ts';
import type { CsiStorageCapacity, Node, StorageClass } from '../api/objects/storage.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import type { RemovalNotes } from '../core/catalog.ts';
import { ownSelector } from '../core/cluster/capacity-objects.ts';
import { type ClusterNames, clusterNames } from '../core/cluster/names.ts';
import { type Build, skewOfAgent } from '../core/cluster/skew.ts';
import type { DeviceClass } from '../core/device-class.ts';
import type { LvmdSight } from '../core/lvm-cluster/external-report.ts';
import { type Inventory, inventoryText } from '../core/lvm-cluster/inventory.ts';
import { lvmdCapacities } from '../core/lvmd-capacity.ts';
import type { ObservedHost } from '../core/observed.ts';
import type { Groups } from '../csi/groups.ts';
import type { Volumes } from '../csi/volumes.ts';
import type { Engine } from '../engine/engine.ts';
import type { KubeClient } from '../kube/client.ts';
import { Informer } from '../kube/informer.ts';
import type { Kind } from '../kube/kind.ts';
import {
  csiStorageCapacityKind,
  logicalVolumeKind,
  nodeKind,
  storageClassKind,
} from '../kube/kinds.ts';
import { lvmNodeStatusKind, lvmVolumeGroupKind } from '../kube/lvms-kinds.ts';
import type { Chance, Clock } from '../kube/ports.ts';
import type { Scope } from '../kube/wire.ts';
import { CapacityReport } from './capacity-report.ts';
import type { Ledger } from './ledger.ts';
import type { Log } from './log.ts';
import { LogicalVolumes } from './logical-volumes.ts';
import type { NodeFiles } from './node-files.ts';
import { NodeReport } from './node-report.ts';
import { StrayWatch } from './stray-watch.ts';
import { VolumeGroups } from './volume-groups.ts';

export type ClusterWorkParts = {
  readonly client: KubeClient;
  readonly names: ClusterNames;
  readonly node: string;
  readonly build: Build;
  /** Where the objects about capacity are. */
  readonly namespace: string;
  readonly owner: () => Promise<OwnerReference | undefined>;
  /** Somebody schedules by the annotations of the Node. */
  readonly hasSchedulerExtender: boolean;
  readonly ledger: Ledger;
  readonly engine: Engine;
  readonly volumes: Volumes;
  readonly groups: Groups;
  readonly removals: RemovalNotes;
  readonly classes: () => readonly DeviceClass[];
  /** For who makes volume groups as LVMClusters ask for them; undefined where nobody does. */
  readonly making?: Making | undefined;
  /** Told how many LVs of ours no LogicalVolume names. */
  readonly strayed: (count: number) => void;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly log: Log;
};

type Making = { readonly files: NodeFiles; readonly lvmd: () => LvmdSight };

type Runs = { run(signal: AbortSignal): Promise<void> };

/** Everything that an agent does with objects: it watches what is its own, and has duties. */
export class ClusterWork {
  readonly #parts: ClusterWorkParts;
  readonly #volumes: Informer<LogicalVolume>;
  readonly #nodes: Informer<Node>;
  readonly #storageClasses: Informer<StorageClass>;
  readonly #capacities: Informer<CsiStorageCapacity>;
  #skew: string | undefined;
  readonly #work: LogicalVolumes;
  readonly #node: NodeReport;
  readonly #capacity: CapacityReport;
  readonly #strays: StrayWatch;
  #groups: VolumeGroups | undefined;
  #inventory: string | null | undefined;

  constructor(parts: ClusterWorkParts) {
    this.#parts = parts;
    const { client, names, node, namespace, clock, chance, log } = parts;
    const kind = logicalVolumeKind(names.domain);
    const label = { labelSelector: `${clusterNames(names).nodeLabel}=${node}` };
    this.#volumes = this.#informer(kind, [{ fieldSelector: `spec.nodeName=${node}` }, label]);
    this.#nodes = this.#informer(nodeKind, [{ fieldSelector: `metadata.name=${node}` }]);
    this.#storageClasses = this.#informer(storageClassKind, [{}]);
    const own = { namespace, labelSelector: ownSelector(node) };
    this.#capacities = this.#informer(csiStorageCapacityKind, [own]);
    parts.ledger.follow(this.#volumes);
    const doors = { client, names, node, clock, chance, log };
    const { engine, volumes, groups, removals, classes, build } = parts;
    const skew = () => this.#skewNow();
    this.#work = new LogicalVolumes({
      ...{ ...doors, kind, informer: this.#volumes, engine, volumes, groups, removals },
      ...{ classes, skew },
      changed: () => this.#roomChanged(),
    });
    this.#node = new NodeReport({
      ...{ ...doors, informer: this.#nodes, isEager: parts.hasSchedulerExtender, build },
      capacities: () => this.#told(),
      inventory: () => this.#inventory,
      strays: () => this.#strays.text,
    });
    this.#strays = new StrayWatch({
      ...{ objects: this.#volumes, model: engine.model, classes, log },
      told: (count) => {
        parts.strayed(count);
        this.#node.changed();
      },
    });
    this.#capacity = new CapacityReport({
      ...{ ...doors, namespace, owner: parts.owner },
      ...{ classes: this.#storageClasses, capacities: this.#capacities },
      // Whoever gets nothing new has no room for it: pods go to nodes that do.
      room: async (className, optionClass) =>
        skew() === undefined ? volumes.capacity(className, optionClass) : undefined,
    });
  }

  /** Were all objects of this node seen once? */
  get hasSynced(): boolean {
    return this.#volumes.hasSynced;
  }

  /** When the API server was last heard, by the clock that never jumps. */
  get heardAtMs(): number | undefined {
    return this.#volumes.heardAtMs;
  }

  /** Until the signal fires and what is under way has ended. Only a bug of ours rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const ends = [
      this.#parts.engine.model.onReport((host) => this.#looked(host)),
      this.#nodes.onChange(() => this.#lookForSkew()),
      this.#volumes.onChange(({ type, object }) => {
        if (type === 'deleted') this.#strays.gone(object);
      }),
    ];
    void this.#nodes.synced.then(() => this.#lookForSkew());
    const watches = [this.#volumes, this.#nodes, this.#storageClasses, this.#capacities];
    const duties = [this.#work, this.#node, this.#capacity, ...this.#making()];
    try {
      await Promise.all([...watches, ...duties].map((each) => each.run(signal)));
    } finally {
      for (const end of ends) end();
    }
  }

  /** Device classes came or went. */
  reconfigured(): void {
    this.#groups?.changed();
    this.#work.lookAgain();
    this.#roomChanged();
  }

  #looked(host: ObservedHost): void {
    this.#work.looked(host);
    this.#roomChanged();
    this.#strays.looked(host);
  }

  /** What a Node says of the operator is not known before it was read. */
  #skewNow(): Blocked | undefined {
    const { node: name, build } = this.#parts;
    if (this.#nodes.hasSynced) return skewOfAgent(this.#nodes.get({ name }), build);
    return blocked('ClusterUnavailable', `the Node ${name} has not been read yet`);
  }

  #lookForSkew(): void {
    if (!this.#nodes.hasSynced) return;
    const why = this.#skewNow()?.message ?? '';
    if (why === this.#skew) return;
    this.#skew = why;
    if (why !== '') this.#parts.log({ level: 'warn', message: why });
    this.#groups?.changed();
    this.#work.lookAgain();
    this.#capacity.changed();
  }

  #roomChanged(): void {
    this.#node.changed();
    this.#capacity.changed();
  }

  #tellDisks(inventory: Inventory): void {
    const text = inventoryText(inventory) ?? null;
    if (text === this.#inventory) return;
    this.#inventory = text;
    this.#node.changed();
  }

  #told() {
    const { engine, classes } = this.#parts;
    const { newest } = engine.model;
    return newest === undefined ? undefined : lvmdCapacities(classes(), newest.host);
  }

  /** Of all groups it must know, and of reports only its own. */
  #making(): readonly Runs[] {
    const { making, client, node, namespace, engine, clock, chance, log } = this.#parts;
    const { removals } = this.#parts;
    if (making === undefined) return [];
    const fieldSelector = `metadata.name=${node}`;
    const stores = {
      // What a server remembers may have gone long ago, and nobody would take away what is made.
      groups: this.#informer(lvmVolumeGroupKind, [{ namespace }], 'newest'),
      reports: this.#informer(lvmNodeStatusKind, [{ namespace, fieldSelector }], 'newest'),
    };
    const groups = new VolumeGroups({
      ...{ ...stores, ...making, nodes: this.#nodes, client, node, engine, removals },
      ...{ clock, chance, log },
      tellDisks: (inventory) => this.#tellDisks(inventory),
      skew: () => this.#skewNow(),
    });
    this.#groups = groups;
    return [...Object.values(stores), groups];
  }

  #informer<T extends KubeObject>(
    kind: Kind<T>,
    scopes: readonly [Scope, ...Scope[]],
    lists: 'newest' | 'cached' = 'cached',
  ) {
    const { client, clock, chance, log } = this.#parts;
    return new Informer<T>({
      ...{ client, kind, scopes, clock, chance, lists },
      trouble: ({ message }, waitMs) => log({ level: 'warn', message, waitMs }),
    });
  }
}
