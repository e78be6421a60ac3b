import { busyboxImage } from '../../lab/cluster/index.ts';

/**
 * What TopoLVM's programs, its chart and the stock sidecars leave in a cluster, by hand: no single
 * version leaves all of it.
 */
export const oldNamespace = 'topolvm-system';

export type OldVolume = {
  readonly name: string;
  readonly deviceClass: '' | 'thick' | 'thin' | 'mirror';
  readonly isBlock?: boolean;
  /** Mounted through `/dev/topolvm`, as versions before 0.33 did. */
  readonly isOldDevice?: boolean;
  /** Made by a version that did not write `currentSize` yet. */
  readonly hasNoSize?: boolean;
};

export const lvmdFile = `device-classes:
- {name: thick, volume-group: data, spare-gb: 0, default: true}
- name: thin
  volume-group: data
  type: thin
  thin-pool: {name: pool, overprovision-ratio: 5}
- {name: mirror, volume-group: mirrored, spare-gb: 0, lvcreate-options: [--type=raid1]}
`;

/** The group in which the volumes of a class lie. */
export function groupOf(deviceClass: string): string {
  return deviceClass === 'mirror' ? 'mirrored' : 'data';
}

const quantity = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  'x-kubernetes-int-or-string': true,
};

/** TopoLVM's definition: no columns, no fields to select by. */
export function oldDefinition(domain: string): object {
  const text = { type: 'string' };
  const spec = {
    ...{ name: text, nodeName: text, size: quantity, deviceClass: text },
    ...{ lvcreateOptionClass: text, source: text, accessType: text },
  };
  const status = {
    ...{ volumeID: text, message: text, currentSize: quantity },
    code: { type: 'integer', format: 'int32' },
  };
  return definition(domain, 'LogicalVolume', 'Cluster', {
    type: 'object',
    properties: {
      ...{ apiVersion: text, kind: text, metadata: { type: 'object' } },
      spec: { type: 'object', required: ['name', 'nodeName', 'size'], properties: spec },
      status: { type: 'object', properties: status },
    },
  });
}

/** The kinds of snapshots, without the checks that their own definitions have. */
export function snapshotDefinitions(): readonly object[] {
  const group = 'snapshot.storage.k8s.io';
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return [
    definition(group, 'VolumeSnapshot', 'Namespaced', anything),
    definition(group, 'VolumeSnapshotContent', 'Cluster', anything),
    definition(group, 'VolumeSnapshotClass', 'Cluster', anything, 'es'),
  ];
}

function definition(group: string, kind: string, scope: string, schema: object, plural = 's') {
  const singular = kind.toLowerCase();
  const names = { kind, listKind: `${kind}List`, plural: `${singular}${plural}`, singular };
  const annotations = { 'api-approved.kubernetes.io': 'unapproved, for a test' };
  const version = { name: 'v1', served: true, storage: true, subresources: { status: {} } };
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: `${names.plural}.${group}`, annotations },
    spec: { group, names, scope, versions: [{ ...version, schema: { openAPIV3Schema: schema } }] },
  };
}

/** Programs of the chart, asleep: what matters is what they are called and who selects them. */
export function oldPrograms(): readonly object[] {
  const workload = (kind: 'Deployment' | 'DaemonSet', component: string) => {
    const labels = {
      'app.kubernetes.io/name': 'topolvm',
      'app.kubernetes.io/instance': 'topolvm',
      'app.kubernetes.io/component': component,
    };
    const container = { name: `topolvm-${component}`, image: busyboxImage };
    return {
      ...{ apiVersion: 'apps/v1', kind },
      metadata: { name: `topolvm-${component}`, namespace: oldNamespace },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            terminationGracePeriodSeconds: 0,
            containers: [{ ...container, imagePullPolicy: 'Never', command: ['sleep', '1000000'] }],
          },
        },
      },
    };
  };
  return [workload('Deployment', 'controller'), workload('DaemonSet', 'node')];
}

export function oldDriver(domain: string): object {
  return {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: domain } },
    spec: {
      ...{ attachRequired: false, podInfoOnMount: true, storageCapacity: true },
      volumeLifecycleModes: ['Persistent'],
    },
  };
}

export function className(deviceClass: string): string {
  return deviceClass === '' ? 'topolvm-provisioner' : `topolvm-provisioner-${deviceClass}`;
}

export function oldClasses(domain: string): readonly object[] {
  const made = (name: string, deviceClass: string, volumeBindingMode: string) => ({
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name } },
    ...{ provisioner: domain, volumeBindingMode, allowVolumeExpansion: true },
    parameters: {
      'csi.storage.k8s.io/fstype': 'ext4',
      ...(deviceClass === '' ? {} : { [`${domain}/device-class`]: deviceClass }),
    },
  });
  return [
    ...['', 'thick', 'thin', 'mirror'].map((name) =>
      made(className(name), name, 'WaitForFirstConsumer'),
    ),
    made('topolvm-immediate', 'thick', 'Immediate'),
  ];
}

/** Leases of the controller and of four sidecars, as a holder leaves them that was killed. */
export function oldLeases(domain: string): readonly object[] {
  const dashed = domain.replaceAll('.', '-');
  const now = new Date().toISOString().replace('Z', '000Z');
  const names = [
    ...['topolvm', dashed, `external-resizer-${dashed}`],
    `external-snapshotter-leader-${dashed}`,
  ];
  return names.map((name) => ({
    ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
    metadata: { name, namespace: oldNamespace },
    spec: {
      ...{ holderIdentity: `topolvm-controller-${name}`, leaseDurationSeconds: 15 },
      ...{ acquireTime: now, renewTime: now, leaseTransitions: 3 },
    },
  }));
}

export type ObjectName = { readonly name: string; readonly uid: string };

/** As TopoLVM's controller makes it: no finalizer and no label, these come from the node. */
export function oldLogicalVolume(
  domain: string,
  name: string,
  spec: Readonly<Record<string, string>>,
): object {
  return {
    ...{ apiVersion: `${domain}/v1`, kind: 'LogicalVolume', metadata: { name } },
    spec: { name, nodeName: 'n1', ...spec },
  };
}

/** As the stock provisioner makes it. */
export function oldPersistentVolume(
  domain: string,
  volume: OldVolume,
  parts: { readonly claim: ObjectName; readonly id: string; readonly size: string },
): object {
  const { claim, id, size } = parts;
  return {
    ...{ apiVersion: 'v1', kind: 'PersistentVolume' },
    metadata: {
      name: `pvc-${claim.uid}`,
      annotations: {
        'pv.kubernetes.io/provisioned-by': domain,
        'volume.kubernetes.io/provisioner-deletion-secret-name': '',
        'volume.kubernetes.io/provisioner-deletion-secret-namespace': '',
      },
      finalizers: ['external-provisioner.volume.kubernetes.io/finalizer'],
    },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], capacity: { storage: size } },
      claimRef: {
        ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace: 'default' },
        ...{ name: claim.name, uid: claim.uid },
      },
      csi: {
        ...{ driver: domain, volumeHandle: id },
        ...(volume.isBlock === true ? {} : { fsType: 'ext4' }),
        volumeAttributes: {
          'storage.kubernetes.io/csiProvisionerIdentity': `1700000000000-1234-${domain}`,
        },
      },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: `topology.${domain}/node`, operator: 'In', values: ['n1'] },
              ],
            },
          ],
        },
      },
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: className(volume.deviceClass),
      volumeMode: volume.isBlock === true ? 'Block' : 'Filesystem',
    },
  };
}

/** A snapshot that was taken and bound: its content names the LogicalVolume by its UID. */
export function oldSnapshot(domain: string, parts: OldSnapshotParts) {
  const { name, claim, uid, id, sizeBytes } = parts;
  const content = `snapcontent-${uid}`;
  const api = { apiVersion: 'snapshot.storage.k8s.io/v1' };
  const status = { readyToUse: true, creationTime: 1_700_000_000_000_000_000 };
  return {
    snapshotStatus: {
      ...{ readyToUse: true, boundVolumeSnapshotContentName: content },
      ...{ restoreSize: String(sizeBytes), creationTime: '2023-11-14T22:13:20Z' },
    },
    contentStatus: { ...status, snapshotHandle: id, restoreSize: sizeBytes },
    content: {
      ...{ ...api, kind: 'VolumeSnapshotContent' },
      metadata: {
        name: content,
        finalizers: ['snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection'],
      },
      spec: {
        ...{ deletionPolicy: 'Delete', driver: domain, sourceVolumeMode: 'Filesystem' },
        source: { volumeHandle: claim },
        volumeSnapshotRef: {
          ...{ ...api, kind: 'VolumeSnapshot', name, namespace: 'default', uid },
        },
      },
    },
  };
}

export type OldSnapshotParts = {
  readonly name: string;
  /** The volume it was taken of. */
  readonly claim: string;
  /** Of the VolumeSnapshot. */
  readonly uid: string;
  /** Of its LogicalVolume. */
  readonly id: string;
  readonly sizeBytes: number;
};
