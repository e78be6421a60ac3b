import type { KubeObject } from './metadata.ts';
import type { Taint } from './node-selector.ts';

export type StorageClass = KubeObject & {
  readonly provisioner: string;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly reclaimPolicy?: string;
  readonly mountOptions?: readonly string[];
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: readonly TopologyTerm[];
};

export type TopologyTerm = {
  readonly matchLabelExpressions?: readonly {
    readonly key: string;
    readonly values: readonly string[];
  }[];
};

export type VolumeAttributesClass = KubeObject & {
  readonly driverName: string;
  readonly parameters?: Readonly<Record<string, string>>;
};

export type CsiNode = KubeObject & {
  readonly spec: {
    readonly drivers?: readonly {
      readonly name: string;
      readonly nodeID: string;
      readonly topologyKeys?: readonly string[];
    }[];
  };
};

export type CsiDriver = KubeObject;

/** How much a class can give on the nodes that the labels match. */
export type CsiStorageCapacity = KubeObject & {
  readonly storageClassName: string;
  readonly nodeTopology?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly capacity?: string;
  readonly maximumVolumeSize?: string;
};

/** Of a Node we read its labels, our annotations and finalizers, and whether it is going or away. */
export type Node = KubeObject & {
  readonly spec?: {
    readonly taints?: readonly Taint[];
  };
};
