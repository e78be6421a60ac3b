import type { KubeObject } from './metadata.ts';

/** What runs in a cluster, as far as we look at it. */

export type ConfigMap = KubeObject & { readonly data?: Readonly<Record<string, string>> };

export type Labels = Readonly<Record<string, string>>;

export type PodTemplateSpec = {
  readonly metadata?: { readonly labels?: Labels; readonly annotations?: Labels };
  readonly spec?: PodSpec;
};

export type PodSpec = {
  readonly containers?: readonly ContainerSpec[];
  readonly volumes?: readonly { readonly name: string; readonly [field: string]: unknown }[];
  readonly [field: string]: unknown;
};

export type ContainerSpec = {
  readonly name: string;
  readonly args?: readonly string[];
  readonly [field: string]: unknown;
};

/** A pod that is described, and that nobody runs. */
export type PodTemplate = KubeObject & { readonly template?: PodTemplateSpec };

export type DaemonSet = KubeObject & {
  readonly spec: DaemonSetSpec;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly desiredNumberScheduled?: number;
    readonly updatedNumberScheduled?: number;
    readonly numberReady?: number;
  };
};

export type DaemonSetSpec = {
  readonly selector?: { readonly matchLabels?: Labels };
  readonly template: PodTemplateSpec;
  readonly [field: string]: unknown;
};

export type Deployment = KubeObject & { readonly status?: { readonly readyReplicas?: number } };

export type Pod = KubeObject & {
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly conditions?: readonly PodCondition[];
    readonly containerStatuses?: readonly ContainerStatus[];
  };
};

export type PodCondition = {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
};

export type ContainerStatus = {
  readonly name: string;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
};

export type ContainerState = {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: { readonly exitCode?: number; readonly message?: string };
};
