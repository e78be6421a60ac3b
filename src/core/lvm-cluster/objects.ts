import { fileSystemOf } from '../../api/lvm-cluster/access.ts';
import { askedOf } from '../../api/lvm-cluster/asked.ts';
import { classesOf } from '../../api/lvm-cluster/check.ts';
import { volumeGroupOf } from '../../api/lvm-cluster/volume-group.ts';
import type { LvmCluster, LvmDeviceClass } from '../../api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../../api/objects/lvm-volume-group.ts';
import type { KubeObject } from '../../api/objects/metadata.ts';
import type { StorageClass } from '../../api/objects/storage.ts';

/** The objects that follow from an LVMCluster, with the names and marks that LVMS gives them. */

const apiVersion = 'lvm.topolvm.io/v1alpha1';
const kind = 'LVMCluster';

/** Objects of no namespace cannot be owned by one that is in a namespace: labels say it. */
export function ownedByLabels({ metadata }: LvmCluster): Readonly<Record<string, string>> {
  const [group = '', version = ''] = apiVersion.split('/');
  const of = { name: metadata.name, namespace: metadata.namespace ?? '', uid: metadata.uid };
  return Object.fromEntries(
    Object.entries({ ...of, group, version, kind }).map(([key, value]) => [
      `owned-by.topolvm.io/${key}`,
      value,
    ]),
  );
}

export function isOwnedBy(
  object: { readonly metadata: { readonly labels?: Readonly<Record<string, string>> } },
  cluster: LvmCluster,
): boolean {
  const labels = object.metadata.labels ?? {};
  return Object.entries(ownedByLabels(cluster)).every(([key, value]) => labels[key] === value);
}

export function ownerOf({ metadata }: LvmCluster) {
  const { name, uid } = metadata;
  // Without blockOwnerDeletion: OpenShift asks for another right where it stands.
  return { apiVersion, kind, name, uid, controller: true } as const;
}

/** Of what has a namespace. */
export function isOfLvmCluster({ metadata }: KubeObject): boolean {
  const [group] = apiVersion.split('/');
  return (metadata.ownerReferences ?? []).some(
    (owner) => owner.kind === kind && owner.apiVersion.split('/')[0] === group,
  );
}

/** Groups of this one, by their owner. */
export function ownGroups({
  groups,
  cluster,
}: {
  readonly groups: readonly LvmVolumeGroup[];
  readonly cluster: LvmCluster;
}): readonly LvmVolumeGroup[] {
  return groups.filter((group) => isOwn(group, cluster));
}

export function isOwn({ metadata }: KubeObject, cluster: LvmCluster): boolean {
  return (metadata.ownerReferences ?? []).some(({ uid }) => uid === cluster.metadata.uid);
}

/** The oldest first, and of two that are of an age always the same one. */
export function byAge(one: LvmCluster, other: LvmCluster): number {
  const age = ({ metadata }: LvmCluster) => `${metadata.creationTimestamp ?? ''} ${metadata.uid}`;
  return age(one) < age(other) ? -1 : 1;
}

export function storageClassName(deviceClass: string): string {
  return `lvms-${deviceClass}`;
}

export const defaultClassKey = 'storageclass.kubernetes.io/is-default-class';

/** `others` are all classes of the cluster: there is one default among them at most. */
export function storageClassesOf(
  cluster: LvmCluster,
  driver: string,
  others: readonly StorageClass[],
) {
  // Old versions of LVMS put no labels on what is ours.
  const own = new Set(classesOf(cluster).map(({ name }) => storageClassName(name)));
  const taken = others.filter(
    ({ metadata }) =>
      metadata.annotations?.[defaultClassKey] === 'true' &&
      !own.has(metadata.name) &&
      !isOwnedBy({ metadata }, cluster),
  );
  return classesOf(cluster).map((one) => {
    const isDefault = one.default === true && taken.length === 0;
    return storageClassOf(cluster, one, { driver, isDefault });
  });
}

function storageClassOf(
  cluster: LvmCluster,
  one: LvmDeviceClass,
  { driver, isDefault }: { readonly driver: string; readonly isDefault: boolean },
) {
  const options = one.storageClassOptions ?? {};
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: storageClassName(one.name),
      labels: { ...options.additionalLabels, ...ownedByLabels(cluster) },
      annotations: {
        description: 'Provides RWO and RWOP Filesystem & Block volumes',
        [defaultClassKey]: String(isDefault),
      },
    },
    provisioner: driver,
    parameters: {
      ...options.additionalParameters,
      [`${driver}/device-class`]: one.name,
      'csi.storage.k8s.io/fstype': fileSystemOf(one),
    },
    reclaimPolicy: options.reclaimPolicy ?? 'Delete',
    volumeBindingMode: options.volumeBindingMode ?? 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  } as const;
}

/** LVMS makes them for thin classes only. Thick ones have snapshots too: a class of one's own. */
export function snapshotClassesOf(cluster: LvmCluster, driver: string) {
  return classesOf(cluster)
    .filter(({ thinPoolConfig }) => thinPoolConfig !== undefined)
    .map(
      ({ name }) =>
        ({
          apiVersion: 'snapshot.storage.k8s.io/v1',
          kind: 'VolumeSnapshotClass',
          metadata: { name: storageClassName(name), labels: ownedByLabels(cluster) },
          driver,
          deletionPolicy: 'Delete',
        }) as const,
    );
}

export type VolumeGroupObject = { readonly name: string; readonly spec: LvmVolumeGroupSpec };

/** `groups` are those that are there. */
export function volumeGroupsOf(
  cluster: LvmCluster,
  groups: readonly LvmVolumeGroup[],
): readonly VolumeGroupObject[] {
  return classesOf(cluster).map((one) => {
    const group = groups.find(({ metadata }) => metadata.name === one.name);
    const known = group === undefined ? undefined : askedOf(group);
    return { name: one.name, spec: volumeGroupOf(cluster, one, known) };
  });
}
