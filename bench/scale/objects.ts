import type { NewObject } from '../../src/kube/client.ts';
import { type Kind, type KubeObject, metadataShape } from '../../src/kube/kind.ts';

/** The cluster that the scale test pretends to have. */
export const driver = 'topolvm.io';
export const className = 'scale';
export const systemNamespace = 'quarry-system';
export const appNamespace = 'apps';
export const sizeMib = 64;

const size = `${sizeMib}Mi`;
const topologyKey = `topology.${driver}/node`;

export const namespaceKind: Kind<KubeObject> = {
  ...{ group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', isNamespaced: false },
  shape: { metadata: metadataShape },
};

export function nodeName(index: number): string {
  return `node-${String(index).padStart(4, '0')}`;
}

export function nodeObject(name: string): NewObject {
  const labels = { [topologyKey]: name, 'kubernetes.io/hostname': name };
  return { metadata: { name, labels, finalizers: [`${driver}/node`] } as NewObject['metadata'] };
}

export function csiNodeObject(name: string): NewObject {
  const drivers = [{ name: driver, nodeID: name, topologyKeys: [topologyKey] }];
  return { metadata: { name }, spec: { drivers } };
}

export const storageClassObject = {
  metadata: { name: className },
  ...{ provisioner: driver, volumeBindingMode: 'WaitForFirstConsumer' },
  parameters: { [`${driver}/device-class`]: 'thick' },
};

/** As the provisioner makes it; the agent of its node does the rest. */
export function volumeObject(name: string, node: string): NewObject {
  const metadata = {
    ...{ name, finalizers: [`${driver}/logicalvolume`] },
    labels: { 'app.kubernetes.io/created-by': 'topolvm-controller', [`${driver}/node`]: node },
    annotations: { 'quarry.io/claim': `${appNamespace}/${name}` },
  };
  return { metadata, spec: { name, nodeName: node, size, deviceClass: 'thick' } };
}

const access = { accessModes: ['ReadWriteOnce'], storageClassName: className } as const;

export function boundClaimObject(name: string, node: string): NewObject {
  const annotations = {
    'pv.kubernetes.io/bind-completed': 'yes',
    'pv.kubernetes.io/bound-by-controller': 'yes',
    'volume.kubernetes.io/storage-provisioner': driver,
    'volume.kubernetes.io/selected-node': node,
  };
  const metadata = { name, namespace: appNamespace, annotations };
  const spec = { ...access, resources: { requests: { storage: size } }, volumeName: name };
  return { metadata, spec };
}

/** What the scheduler and the controller manager leave of a claim that a pod waits for. */
export function pendingClaimObject(name: string, node: string): NewObject {
  const annotations = {
    'volume.kubernetes.io/storage-provisioner': driver,
    'volume.kubernetes.io/selected-node': node,
  };
  const metadata = { name, namespace: appNamespace, annotations };
  return { metadata, spec: { ...access, resources: { requests: { storage: size } } } };
}

export function persistentVolumeObject(
  name: string,
  node: string,
  uids: { readonly claim: string; readonly volume: string },
): NewObject {
  const expression = { key: topologyKey, operator: 'In', values: [node] };
  return {
    metadata: {
      name,
      annotations: { 'pv.kubernetes.io/provisioned-by': driver },
    } as NewObject['metadata'],
    spec: {
      ...{ ...access, capacity: { storage: size }, persistentVolumeReclaimPolicy: 'Delete' },
      claimRef: {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: appNamespace },
        ...{ name, uid: uids.claim },
      },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
      csi: { driver, volumeHandle: uids.volume, fsType: 'ext4' },
    },
  };
}
