import type { KubeObject } from './metadata.ts';

export type PersistentVolumeClaim = KubeObject & {
  readonly spec: ClaimSpec;
  readonly status?: ClaimStatus;
};

export type ClaimSpec = {
  readonly accessModes?: readonly string[];
  readonly resources?: { readonly requests?: StorageQuantity };
  readonly storageClassName?: string;
  readonly volumeMode?: string;
  readonly volumeName?: string;
  readonly volumeAttributesClassName?: string;
  readonly dataSource?: DataSource;
  readonly dataSourceRef?: DataSource & { readonly namespace?: string };
  readonly selector?: object;
};

export type StorageQuantity = { readonly storage?: string };

export type DataSource = {
  readonly apiGroup?: string;
  readonly kind: string;
  readonly name: string;
};

export type ClaimStatus = {
  readonly phase?: string;
  readonly capacity?: StorageQuantity;
  readonly conditions?: readonly Condition[];
  readonly allocatedResources?: StorageQuantity;
  readonly allocatedResourceStatuses?: StorageQuantity;
  readonly currentVolumeAttributesClassName?: string;
  readonly modifyVolumeStatus?: {
    readonly targetVolumeAttributesClassName?: string;
    readonly status: string;
  };
};

export type Condition = {
  readonly type: string;
  readonly status: string;
  readonly lastProbeTime?: string;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
};
