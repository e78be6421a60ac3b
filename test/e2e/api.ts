import type { Cluster } from '../../lab/cluster/index.ts';

/** Of the kinds that stories use most: kubectl takes seconds of a busy machine for each call. */
const collections: Readonly<Record<string, string>> = {
  Pod: '/api/v1/namespaces/default/pods',
  PersistentVolumeClaim: '/api/v1/namespaces/default/persistentvolumeclaims',
  PersistentVolume: '/api/v1/persistentvolumes',
  StorageClass: '/apis/storage.k8s.io/v1/storageclasses',
};

/** As kubectl spells them. */
const kinds: Readonly<Record<string, string>> = {
  pod: 'Pod',
  pvc: 'PersistentVolumeClaim',
  pv: 'PersistentVolume',
  storageclass: 'StorageClass',
};

export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
};

/** Server-side apply, object by object. */
export async function applyObjects(
  { api }: Pick<Cluster, 'api'>,
  objects: readonly KubeObject[],
): Promise<void> {
  for (const body of objects) {
    const path = `${collections[body.kind]}/${body.metadata.name}?fieldManager=e2e&force=true`;
    const { status, text } = await api.request(path, {
      ...{ method: 'PATCH', contentType: 'application/apply-patch+yaml', body, timeoutMs: 60_000 },
    });
    if (status >= 300) throw new Error(`PATCH ${path}: ${status} ${text.slice(0, 2000)}`);
  }
}

/** The path of a kind, if it is one of those above. */
export function collectionOf(kind: string): string | undefined {
  return collections[kinds[kind] ?? ''];
}

/** What is gone already is as good. */
export async function deleteObject({ api }: Pick<Cluster, 'api'>, path: string): Promise<void> {
  const { status, text } = await api.request(path, { method: 'DELETE', timeoutMs: 60_000 });
  if (status >= 300 && status !== 404) throw new Error(`DELETE ${path}: ${status} ${text}`);
}
