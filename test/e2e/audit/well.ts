import type { Claim, Logical, Lv, NodeSeen, Pod, Seen, Volume } from './look.ts';

/** One of each, as all is well. Tests change some of it. */

export const MiB = 1024n * 1024n;

export const logical: Logical = {
  metadata: { name: 'pvc-1', uid: 'lv-1', finalizers: ['topolvm.io/logicalvolume'] },
  spec: { nodeName: 'n1', size: '100Mi' },
  status: { volumeID: 'lv-1', currentSize: '100Mi' },
};
export const volume: Volume = {
  metadata: { name: 'pvc-1', uid: 'pv-1', finalizers: ['kubernetes.io/pv-protection'] },
  spec: {
    csi: { driver: 'topolvm.io', volumeHandle: 'lv-1' },
    capacity: { storage: '100Mi' },
    ...{ claimRef: { uid: 'claim-1' }, storageClassName: 'thick' },
  },
  status: { phase: 'Bound' },
};
export const claim: Claim = {
  metadata: { name: 'data', namespace: 'default', uid: 'claim-1' },
  spec: {
    ...{ volumeName: 'pvc-1', storageClassName: 'thick' },
    resources: { requests: { storage: '100Mi' } },
  },
  status: { phase: 'Bound', capacity: { storage: '100Mi' } },
};
export const pod: Pod = {
  metadata: { name: 'pod', namespace: 'default', uid: 'pod-1' },
  spec: {
    nodeName: 'n1',
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
  },
  status: { phase: 'Running' },
};
export const lv: Lv = {
  ...{ group: 'data', name: 'lv-1', sizeBytes: 100n * MiB, pool: '' },
  ...{ attributes: '-wi-ao----', device: '254:1' },
};
export const target = '/var/lib/kubelet/pods/pod-1/volumes/kubernetes.io~csi/pvc-1/mount';
export const node: NodeSeen = {
  ...{ name: 'n1', lvs: [lv], extentBytes: 4n * MiB, strayDevices: [] },
  pvs: [{ group: 'data', freeBytes: 900n * MiB }],
  mounts: [
    { target: '/', device: '0:1' },
    { target, device: '254:1' },
  ],
};
export const rest: Seen = {
  ...{ volumes: [volume], claims: [claim], logical: [logical], pods: [pod], nodes: [node] },
  ...{ driver: 'topolvm.io', snapshots: [], contents: [], managed: [] },
  classes: [{ metadata: { name: 'thick', uid: 'class-1' }, provisioner: 'topolvm.io' }],
  capacities: [
    {
      metadata: { name: 'capacity-1', uid: 'capacity-1' },
      storageClassName: 'thick',
      nodeTopology: { matchLabels: { 'topology.topolvm.io/node': 'n1' } },
      maximumVolumeSize: '900Mi',
    },
  ],
};

export const on = (change: Partial<NodeSeen>): Partial<Seen> => ({
  nodes: [{ ...node, ...change }],
});
