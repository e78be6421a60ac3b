import type { Condition } from './claim.ts';
import type { KubeObject } from './metadata.ts';

/** A Deployment or a DaemonSet: what it starts, and how far it is with it. */
export type Workload = KubeObject & {
  readonly spec?: {
    /** Of a Deployment, as is `readyReplicas`. */
    readonly replicas?: number;
    readonly template?: { readonly spec?: PodSpec };
  };
  readonly status?: {
    readonly readyReplicas?: number;
    /** Of a DaemonSet. */
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
  };
};

export type PodSpec = {
  readonly nodeName?: string;
  readonly containers?: readonly Container[];
};

export type Container = {
  readonly name: string;
  readonly image?: string;
  readonly args?: readonly string[];
  readonly env?: readonly Variable[];
};

export type Variable = { readonly name: string; readonly value?: string };

export type Pod = KubeObject & {
  readonly spec?: Pick<PodSpec, 'nodeName'> & {
    readonly containers?: readonly Pick<Container, 'name' | 'image' | 'args'>[];
  };
  readonly status?: PodStatus;
};

export type PodStatus = {
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly conditions?: readonly Condition[];
  readonly containerStatuses?: readonly ContainerStatus[];
};

export type ContainerStatus = {
  readonly name: string;
  readonly ready?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
};

export type ContainerState = {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: {
    readonly reason?: string;
    readonly message?: string;
    readonly exitCode?: number;
    readonly finishedAt?: string;
  };
};

/** Who answers for a Service, which its label names. */
export type EndpointSlice = KubeObject & {
  readonly endpoints?: readonly {
    readonly conditions?: { readonly ready?: boolean };
    readonly targetRef?: { readonly kind?: string; readonly name?: string };
  }[];
};

/** What somebody told of an object. Events of the newer kind have `eventTime` alone. */
export type ClusterEvent = KubeObject & {
  readonly involvedObject: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly firstTimestamp?: string;
  readonly lastTimestamp?: string;
  readonly eventTime?: string;
  readonly source?: { readonly component?: string };
  readonly reportingComponent?: string;
};
