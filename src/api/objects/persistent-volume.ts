import type { StorageQuantity } from './claim.ts';
import type { KubeObject } from './metadata.ts';

export type PersistentVolume = KubeObject & {
  readonly spec: PersistentVolumeSpec;
  readonly status?: { readonly phase?: string };
};

export type PersistentVolumeSpec = {
  readonly accessModes?: readonly string[];
  readonly capacity?: StorageQuantity;
  readonly claimRef?: ClaimReference;
  readonly persistentVolumeReclaimPolicy?: string;
  readonly storageClassName?: string;
  readonly volumeMode?: string;
  readonly volumeAttributesClassName?: string;
  readonly nodeAffinity?: { readonly required?: NodeSelector };
  readonly csi?: CsiSource;
};

export type ClaimReference = {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
};

export type CsiSource = {
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType?: string;
  readonly volumeAttributes?: Readonly<Record<string, string>>;
};

export type NodeSelector = { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };

export type NodeSelectorTerm = {
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
};
