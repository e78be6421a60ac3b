import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import type { StorageClass } from '../../api/objects/storage.ts';
import { showQuantity } from '../../api/quantity.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { storageClassName } from '../lvm-cluster/objects.ts';
import { type ClusterNames, clusterNames } from './names.ts';
import type { ClassParameters } from './parameters.ts';
import { type MadeVolume, volumeNameOf } from './provisioning.ts';
import { modeOf } from './sources.ts';

/** Keeps a PersistentVolume until its volume is gone. The name is that of the stock provisioner. */
export const volumeGuard = 'external-provisioner.volume.kubernetes.io/finalizer';
export const provisionedByAnnotation = 'pv.kubernetes.io/provisioned-by';
export const migratedToAnnotation = 'pv.kubernetes.io/migrated-to';

export type Publication = {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly parameters: ClassParameters;
  readonly made: MadeVolume;
  readonly names: ClusterNames;
  /** Of this process: `<ms>-<number>-<driver>`. */
  readonly identity: string;
};

/** LVMS puts the node on the volumes of its classes, for whoever selects by labels. */
export const hostLabel = 'kubernetes.io/hostname';

/** The PersistentVolume, field for field as the stock provisioner writes it. */
export function persistentVolumeOf(publication: Publication) {
  const { claim, storageClass, made, names } = publication;
  const { spec } = claim;
  const { mountOptions = [] } = storageClass;
  const { topologyKey } = clusterNames(names);
  const expression = { key: topologyKey, operator: 'In', values: [made.node] };
  const isOfLvmCluster = storageClass.metadata.name.startsWith(storageClassName(''));
  return {
    metadata: {
      name: volumeNameOf(claim),
      finalizers: [volumeGuard],
      ...(isOfLvmCluster ? { labels: { [hostLabel]: made.node } } : {}),
      annotations: {
        [provisionedByAnnotation]: names.driver,
        'volume.kubernetes.io/provisioner-deletion-secret-name': '',
        'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
      },
    },
    spec: {
      accessModes: spec.accessModes ?? [],
      ...(mountOptions.length === 0 ? {} : { mountOptions }),
      capacity: { storage: showQuantity(made.sizeBytes) },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      ...given('volumeMode', spec.volumeMode),
      ...given('volumeAttributesClassName', spec.volumeAttributesClassName),
      claimRef: claimReference(claim),
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
      csi: csiSource(publication),
    },
  };
}

/**
 * The node whose label is missing: those that LVMS made while its own operator was away, or that
 * TopoLVM made, have none. Undefined where there is nothing to do.
 */
export function missingHost(
  { metadata, spec }: PersistentVolume,
  names: ClusterNames,
): string | undefined {
  if (spec.csi?.driver !== names.driver || metadata.deletionTimestamp !== undefined)
    return undefined;
  if (spec.storageClassName?.startsWith(storageClassName('')) !== true) return undefined;
  if (metadata.labels?.[hostLabel] !== undefined) return undefined;
  const { topologyKey } = clusterNames(names);
  const [term, ...others] = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const found = term?.matchExpressions?.find(({ key }) => key === topologyKey);
  const [node, ...more] = found?.operator === 'In' ? (found.values ?? []) : [];
  return others.length > 0 || more.length > 0 ? undefined : node;
}

/** Whose it was, where its claim was taken off it since: its data is still in it. */
export function freedFrom(
  before: PersistentVolume,
  { metadata, spec }: PersistentVolume,
  { driver }: ClusterNames,
): string | undefined {
  const { claimRef } = before.spec;
  if (spec.csi?.driver !== driver || metadata.deletionTimestamp !== undefined) return undefined;
  if (claimRef === undefined || spec.claimRef !== undefined) return undefined;
  return `${claimRef.namespace}/${claimRef.name}`;
}

function claimReference({ metadata }: PersistentVolumeClaim) {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid, resourceVersion };
}

function csiSource({ claim, parameters, made, names, identity }: Publication) {
  const { fsType } = parameters;
  const hasFileSystem = modeOf(claim) !== 'Block' && fsType !== '';
  return {
    driver: names.driver,
    volumeHandle: made.id,
    ...(hasFileSystem ? { fsType } : {}),
    volumeAttributes: {
      'storage.kubernetes.io/csiProvisionerIdentity': identity,
      // The same as the CSI controller says of it.
      [`${names.domain}/name`]: volumeNameOf(claim),
      [`${names.domain}/device-class`]: made.className ?? '',
    },
  };
}

function given(field: string, value: string | undefined): object {
  return value === undefined || value === '' ? {} : { [field]: value };
}

/** Somebody made it before: is it this claim's, with this volume? */
export function checkPublished(
  found: PersistentVolume,
  { claim, made, names }: Pick<Publication, 'claim' | 'made' | 'names'>,
): Blocked | undefined {
  const { metadata, spec } = found;
  const it = `PersistentVolume ${metadata.name}`;
  if (metadata.deletionTimestamp !== undefined) {
    return blocked('StaleView', `${it} is there from before and being deleted`);
  }
  const handle = spec.csi?.volumeHandle;
  if (spec.csi?.driver !== names.driver || handle !== made.id) {
    return blocked('VolumeDiffers', `${it} is of the volume ${handle}, not of ${made.id}`);
  }
  if (spec.claimRef?.uid === claim.metadata.uid) return undefined;
  const other = `${spec.claimRef?.namespace}/${spec.claimRef?.name}`;
  return blocked('VolumeDiffers', `${it} is for the claim ${other} (${spec.claimRef?.uid})`);
}
