import type { Node } from '../api/objects/storage.ts';
import type { ClusterEvent, EndpointSlice, Pod, Workload } from '../api/objects/workload.ts';
import { type Kind, metadataShape } from './kind.ts';
import { nodeKind } from './kinds.ts';

/**
 * What runs us, for whoever looks after us. Nothing that may be secret is kept: of the variables of
 * a container a value stands here only to be read once, and goes with the next line.
 */

const apps = { group: 'apps', version: 'v1', isNamespaced: true } as const;
const core = { group: '', version: 'v1', isNamespaced: true } as const;
const template = {
  spec: {
    nodeName: true,
    containers: [{ name: true, image: true, args: true, env: [{ name: true, value: true }] }],
  },
} as const;
const shape: Kind<Workload>['shape'] = {
  metadata: metadataShape,
  spec: { replicas: true, template },
  status: { readyReplicas: true, desiredNumberScheduled: true, numberReady: true },
};

export const deploymentKind: Kind<Workload> = {
  ...{ ...apps, kind: 'Deployment', plural: 'deployments' },
  shape,
};

export const daemonSetKind: Kind<Workload> = {
  ...{ ...apps, kind: 'DaemonSet', plural: 'daemonsets' },
  shape,
};

const state = {
  waiting: { reason: true, message: true },
  terminated: { reason: true, message: true, exitCode: true, finishedAt: true },
} as const;

export const podKind: Kind<Pod> = {
  ...{ ...core, kind: 'Pod', plural: 'pods' },
  shape: {
    metadata: metadataShape,
    spec: { nodeName: true, containers: [{ name: true, image: true, args: true }] },
    status: {
      ...{ phase: true, reason: true, message: true, conditions: true },
      containerStatuses: [{ name: true, ready: true, restartCount: true, state, lastState: state }],
    },
  },
};

export const endpointSliceKind: Kind<EndpointSlice> = {
  ...{ group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice' },
  ...{ plural: 'endpointslices', isNamespaced: true },
  shape: {
    metadata: metadataShape,
    endpoints: [{ conditions: { ready: true }, targetRef: { kind: true, name: true } }],
  },
};

export const clusterEventKind: Kind<ClusterEvent> = {
  ...{ ...core, kind: 'Event', plural: 'events' },
  shape: {
    metadata: metadataShape,
    involvedObject: { kind: true, namespace: true, name: true, uid: true },
    ...{ type: true, reason: true, message: true, count: true },
    ...{ firstTimestamp: true, lastTimestamp: true, eventTime: true },
    source: { component: true },
    reportingComponent: true,
  },
};

/** A Node as people tell it apart from others. */
export type NodeWithInfo = Node & {
  readonly status?: {
    readonly nodeInfo?: {
      readonly architecture?: string;
      readonly kernelVersion?: string;
      readonly kubeletVersion?: string;
      readonly osImage?: string;
    };
  };
};

export const nodeWithInfoKind: Kind<NodeWithInfo> = {
  ...nodeKind,
  shape: {
    metadata: metadataShape,
    spec: { taints: [{ key: true, value: true, effect: true }] },
    status: {
      nodeInfo: { architecture: true, kernelVersion: true, kubeletVersion: true, osImage: true },
    },
  },
};
