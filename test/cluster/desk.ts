import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import type { KubeObject } from '../../src/api/objects/metadata.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../../src/api/objects/snapshot.ts';
import type {
  CsiNode,
  CsiStorageCapacity,
  Node,
  StorageClass,
} from '../../src/api/objects/storage.ts';
import type { FakeApi } from '../kube/fake-api.ts';
import { collections } from '../kube/fake-api-rules.ts';

export type Named = { readonly name: string; readonly namespace?: string | undefined };

type NewObject = { readonly metadata: object; readonly [field: string]: unknown };

/** The server's no, in words of HTTP. */
export class Refused extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(`${status} ${reason}: ${message}`);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * How everybody but us uses the API server: at once and without trouble. Others' conflicts and
 * caches are not what is tested here.
 */
export class Desk {
  readonly #api: FakeApi;
  readonly #who: string;

  constructor(api: FakeApi, who: string) {
    this.#api = api;
    this.#who = who;
  }

  get claims(): readonly PersistentVolumeClaim[] {
    return this.#all(collections.claims);
  }

  get volumes(): readonly PersistentVolume[] {
    return this.#all(collections.volumes);
  }

  get logicalVolumes(): readonly LogicalVolume[] {
    return this.#all(collections.logicalVolumes);
  }

  get classes(): readonly StorageClass[] {
    return this.#all(collections.classes);
  }

  get nodes(): readonly Node[] {
    return this.#all(collections.nodes);
  }

  get csiNodes(): readonly CsiNode[] {
    return this.#all(collections.csiNodes);
  }

  get capacities(): readonly CsiStorageCapacity[] {
    return this.#all(collections.capacities);
  }

  get snapshots(): readonly VolumeSnapshot[] {
    return this.#all(collections.snapshots);
  }

  get contents(): readonly VolumeSnapshotContent[] {
    return this.#all(collections.contents);
  }

  get snapshotClasses(): readonly VolumeSnapshotClass[] {
    return this.#all(collections.snapshotClasses);
  }

  claim(name: string, namespace = 'ns'): PersistentVolumeClaim | undefined {
    return this.#one(collections.claims, { name, namespace });
  }

  volume(name: string): PersistentVolume | undefined {
    return this.#one(collections.volumes, { name });
  }

  storageClass(name: string | undefined): StorageClass | undefined {
    return this.#one(collections.classes, { name: name ?? '' });
  }

  node(name: string): Node | undefined {
    return this.#one(collections.nodes, { name });
  }

  csiNode(name: string): CsiNode | undefined {
    return this.#one(collections.csiNodes, { name });
  }

  snapshot(name: string, namespace = 'ns'): VolumeSnapshot | undefined {
    return this.#one(collections.snapshots, { name, namespace });
  }

  content(name: string): VolumeSnapshotContent | undefined {
    return this.#one(collections.contents, { name });
  }

  create(collection: string, object: NewObject): KubeObject {
    const { namespace } = object.metadata as { readonly namespace?: string };
    return this.#ask('POST', urlOf(collection, { namespace }), object);
  }

  /** Instead of what is there. */
  put(collection: string, object: KubeObject): KubeObject {
    return this.#ask('PUT', urlOf(collection, object.metadata), object);
  }

  patch(collection: string, { name, namespace }: Named, body: object): KubeObject {
    return this.#ask('PATCH', urlOf(collection, { name, namespace }), body);
  }

  status(collection: string, { name, namespace }: Named, body: object): KubeObject {
    return this.#ask('PATCH', `${urlOf(collection, { name, namespace })}/status`, body);
  }

  delete(collection: string, { name, namespace }: Named): void {
    this.#ask('DELETE', urlOf(collection, { name, namespace }), {});
  }

  /** Adds or takes away, and leaves those of others alone. */
  finalizers(
    collection: string,
    { metadata }: KubeObject,
    change: { readonly add?: string; readonly drop?: string },
  ): boolean {
    const before = metadata.finalizers ?? [];
    const kept = before.filter((one) => one !== change.drop);
    const isNew = change.add !== undefined && !before.includes(change.add);
    const finalizers = isNew && change.add !== undefined ? [...kept, change.add] : kept;
    if (finalizers.length === before.length && !isNew) return false;
    this.patch(collection, metadata, { metadata: { finalizers } });
    return true;
  }

  #all<T>(collection: string): readonly T[] {
    return this.#api.all(collection) as unknown as readonly T[];
  }

  #one<T>(collection: string, { name, namespace }: Named): T | undefined {
    return this.#api.one(collection, name, namespace) as unknown as T | undefined;
  }

  #ask(method: string, url: string, body: object): KubeObject {
    let status = 0;
    let text = '';
    const contentType = 'application/merge-patch+json';
    this.#api.handle(
      { method, url, contentType, body: JSON.stringify(body), who: this.#who },
      {
        head: (code) => {
          status = code;
        },
        write: (piece) => {
          text += piece;
        },
        end: () => undefined,
      },
    );
    if (status < 300) return JSON.parse(text) as KubeObject;
    const { reason, message } = JSON.parse(text) as { reason: string; message: string };
    throw new Refused(status, reason, message);
  }
}

function urlOf(collection: string, place: Partial<Named>): string {
  const { namespace, name } = place;
  const cut = collection.lastIndexOf('/');
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const end = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${collection.slice(0, cut)}${scope}${collection.slice(cut)}${end}`;
}
