import { busyboxImage } from '../../lab/cluster/index.ts';
import type { KubeObject } from './api.ts';

export type ClassSpec = {
  /** '' is the default class of the node. */
  readonly deviceClass?: string;
  readonly fsType?: 'ext4' | 'xfs' | 'btrfs' | undefined;
  readonly isImmediate?: boolean;
  readonly reclaimPolicy?: 'Delete' | 'Retain';
  readonly mountOptions?: readonly string[];
  /** The only ones where a volume may be. */
  readonly nodes?: readonly string[];
  readonly parameters?: Readonly<Record<string, string>>;
};

export type ClaimSpec = {
  readonly className?: string;
  readonly size?: string;
  readonly volumeMode?: 'Filesystem' | 'Block';
  readonly accessMode?: string;
  readonly volumeName?: string;
  readonly selector?: object;
  readonly dataSource?: {
    readonly apiGroup?: string;
    readonly kind: string;
    readonly name: string;
  };
};

export type PodOptions = {
  readonly node?: string;
  readonly isReadOnly?: boolean;
  /** Claims that are seen as devices. */
  readonly devices?: readonly string[];
  /** Volumes that live as long as the pod, by name, with their claims. */
  readonly ephemeral?: Readonly<Record<string, ClaimSpec>>;
  readonly securityContext?: object;
};

export function classObject(name: string, spec: ClassSpec): KubeObject {
  const { deviceClass = '', fsType, mountOptions = [], nodes } = spec;
  return {
    ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name } },
    ...{ provisioner: 'topolvm.io', allowVolumeExpansion: true, mountOptions },
    volumeBindingMode: spec.isImmediate === true ? 'Immediate' : 'WaitForFirstConsumer',
    reclaimPolicy: spec.reclaimPolicy ?? 'Delete',
    ...(nodes === undefined ? {} : { allowedTopologies: [topologyOf(nodes)] }),
    parameters: {
      ...(fsType === undefined ? {} : { 'csi.storage.k8s.io/fstype': fsType }),
      ...(deviceClass === '' ? {} : { 'topolvm.io/device-class': deviceClass }),
      ...spec.parameters,
    },
  };
}

function topologyOf(nodes: readonly string[]): object {
  const matchLabelExpressions = [{ key: 'topology.topolvm.io/node', values: nodes }];
  return { matchLabelExpressions };
}

export function claimObject(name: string, spec: ClaimSpec): KubeObject {
  const kind = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
  return { ...kind, metadata: { name }, spec: claimSpec(spec) };
}

function claimSpec(spec: ClaimSpec): object {
  const { className = 'thin', size = '200Mi', volumeMode = 'Filesystem' } = spec;
  const { accessMode = 'ReadWriteOnce', dataSource, volumeName, selector } = spec;
  return {
    ...{ accessModes: [accessMode], volumeMode, storageClassName: className },
    resources: { requests: { storage: size } },
    ...(dataSource === undefined ? {} : { dataSource }),
    ...(volumeName === undefined ? {} : { volumeName }),
    ...(selector === undefined ? {} : { selector }),
  };
}

/** It keeps the claims mounted at /data/NAME, or as the device /dev/NAME. */
export function podObject(
  name: string,
  claims: readonly string[],
  options: PodOptions,
): KubeObject {
  const { node, devices = [], ephemeral = {}, isReadOnly = false, securityContext } = options;
  const mounted = [...claims, ...Object.keys(ephemeral)];
  return {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
    spec: {
      ...(node === undefined ? {} : { nodeSelector: { 'kubernetes.io/hostname': node } }),
      ...(securityContext === undefined ? {} : { securityContext }),
      ...{ terminationGracePeriodSeconds: 1, automountServiceAccountToken: false },
      containers: [
        {
          ...{ name: 'main', image: busyboxImage, imagePullPolicy: 'Never' },
          command: ['sh', '-c', 'exec sleep 1000000'],
          volumeMounts: mounted.map((claim) => ({ name: claim, mountPath: `/data/${claim}` })),
          volumeDevices: devices.map((claim) => ({ name: claim, devicePath: `/dev/${claim}` })),
        },
      ],
      volumes: [
        ...[...claims, ...devices].map((claim) => ({
          ...{ name: claim, persistentVolumeClaim: { claimName: claim, readOnly: isReadOnly } },
        })),
        ...Object.entries(ephemeral).map(([volume, spec]) => ({
          ...{ name: volume, ephemeral: { volumeClaimTemplate: { spec: claimSpec(spec) } } },
        })),
      ],
    },
  };
}
