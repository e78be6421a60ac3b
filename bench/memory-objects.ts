import type { FakeApi } from '../test/kube/fake-api.ts';
import { collections } from '../test/kube/fake-api-rules.ts';

const driver = 'topolvm.io';
export const node = 'n1';

/** A cluster at rest: every claim is bound, and nobody has anything to do. Gives the volumes' ids. */
export function fillCluster(api: FakeApi, volumes: number): readonly string[] {
  api.selectable.add('spec.nodeName');
  const labels = { [`topology.${driver}/node`]: node, 'kubernetes.io/hostname': node };
  api.put(collections.nodes, {
    metadata: { name: node, labels, finalizers: [`${driver}/node`] },
    status: { unread: 'x'.repeat(5_000) },
  });
  const drivers = [{ name: driver, nodeID: node, topologyKeys: [`topology.${driver}/node`] }];
  api.put(collections.csiNodes, { metadata: { name: node }, spec: { drivers } });
  api.put(collections.classes, {
    metadata: { name: 'thin' },
    ...{ provisioner: driver, volumeBindingMode: 'WaitForFirstConsumer', reclaimPolicy: 'Delete' },
    ...{ allowVolumeExpansion: true, parameters: { [`${driver}/device-class`]: 'thin' } },
  });
  return Array.from({ length: volumes }, (_, index) => putVolume(api, index));
}

/** A claim, its LogicalVolume and its PersistentVolume, as large as they are in real clusters. */
function putVolume(api: FakeApi, index: number): string {
  const claimName = `data-app-${index}`;
  const claim = putClaim(api, claimName);
  const name = `pvc-${claim}`;
  const id = putRecord(api, { name, claim: claimName });
  putClaim(api, claimName, name);
  putPersistentVolume(api, { name, claimName, claim, id });
  return id;
}

const size = '1Gi';
const access = { accessModes: ['ReadWriteOnce'], storageClassName: 'thin' } as const;
const common = { ...access, volumeMode: 'Filesystem' } as const;
const capacity = { storage: size } as const;

function putClaim(api: FakeApi, name: string, volumeName?: string): string {
  const { metadata } = api.put(collections.claims, {
    metadata: {
      ...{ name, namespace: 'apps', creationTimestamp: '2026-01-01T00:00:00Z' },
      annotations: {
        'pv.kubernetes.io/bind-completed': 'yes',
        'pv.kubernetes.io/bound-by-controller': 'yes',
        'volume.beta.kubernetes.io/storage-provisioner': driver,
        'volume.kubernetes.io/storage-provisioner': driver,
        'volume.kubernetes.io/selected-node': node,
        'kubectl.kubernetes.io/last-applied-configuration': applied(name),
      },
      labels: { 'app.kubernetes.io/name': 'app', 'app.kubernetes.io/instance': name },
      finalizers: ['kubernetes.io/pvc-protection'],
      managedFields,
    },
    spec: { ...common, resources: { requests: capacity }, ...(volumeName && { volumeName }) },
    status: { phase: volumeName === undefined ? 'Pending' : 'Bound', capacity, ...access },
  });
  return metadata.uid;
}

function putRecord(
  api: FakeApi,
  { name, claim }: { readonly name: string; readonly claim: string },
): string {
  const draft = {
    metadata: {
      ...{ name, creationTimestamp: '2026-01-01T00:00:00Z', managedFields },
      annotations: { 'quarry.io/claim': `apps/${claim}` },
      labels: {
        'app.kubernetes.io/created-by': 'topolvm-controller',
        [`${driver}/node`]: node,
      },
      finalizers: [`${driver}/logicalvolume`],
    },
    spec: { name, nodeName: node, size, deviceClass: 'thin' },
  };
  const { uid } = api.put(collections.logicalVolumes, draft).metadata;
  api.put(collections.logicalVolumes, { ...draft, status: { volumeID: uid, currentSize: size } });
  return uid;
}

function putPersistentVolume(
  api: FakeApi,
  volume: {
    readonly name: string;
    readonly claimName: string;
    readonly claim: string;
    readonly id: string;
  },
): void {
  const expression = { key: `topology.${driver}/node`, operator: 'In', values: [node] };
  api.put(collections.volumes, {
    metadata: {
      ...{ name: volume.name, creationTimestamp: '2026-01-01T00:00:00Z', managedFields },
      annotations: {
        'pv.kubernetes.io/provisioned-by': driver,
        'volume.kubernetes.io/provisioner-deletion-secret-name': '',
        'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
      },
      finalizers: [
        'external-provisioner.volume.kubernetes.io/finalizer',
        'kubernetes.io/pv-protection',
      ],
    },
    spec: {
      ...{ ...common, capacity, persistentVolumeReclaimPolicy: 'Delete' },
      claimRef: {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'apps' },
        ...{ name: volume.claimName, uid: volume.claim, resourceVersion: '1000' },
      },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
      csi: {
        ...{ driver, volumeHandle: volume.id, fsType: 'ext4' },
        volumeAttributes: {
          'storage.kubernetes.io/csiProvisionerIdentity': `1767225600000-1234-${driver}`,
          [`${driver}/name`]: volume.name,
          [`${driver}/device-class`]: 'thin',
        },
      },
    },
    status: { phase: 'Bound', lastPhaseTransitionTime: '2026-01-01T00:00:00Z' },
  });
}

/** What kubectl leaves on every claim that was applied. */
function applied(name: string): string {
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
    metadata: { annotations: {}, name, namespace: 'apps' },
    spec: { ...access, resources: { requests: capacity } },
  });
}

const managedFields = [
  {
    ...{ manager: 'someone', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' },
    fieldsV1: { 'f:metadata': { 'f:annotations': { note: 'x'.repeat(600) } } },
  },
];
