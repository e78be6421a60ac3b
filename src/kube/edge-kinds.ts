import type {
  ConfigMap,
  DaemonSet,
  Deployment,
  Pod,
  PodTemplate,
} from '../api/objects/edge-workload.ts';
import { type Kind, metadataShape } from './kind.ts';

/** What is looked at and written for the only node of a cluster. There is one of each. */

const core = { group: '', version: 'v1', isNamespaced: true } as const;
const apps = { group: 'apps', version: 'v1', isNamespaced: true } as const;

export const lvmdConfigMapKind: Kind<ConfigMap> = {
  ...{ ...core, kind: 'ConfigMap', plural: 'configmaps' },
  shape: { metadata: metadataShape, data: true },
};

export const podTemplateKind: Kind<PodTemplate> = {
  ...{ ...core, kind: 'PodTemplate', plural: 'podtemplates' },
  shape: { metadata: metadataShape, template: true },
};

export const podKind: Kind<Pod> = {
  ...{ ...core, kind: 'Pod', plural: 'pods' },
  shape: { metadata: metadataShape, status: true },
};

export const daemonSetKind: Kind<DaemonSet> = {
  ...{ ...apps, kind: 'DaemonSet', plural: 'daemonsets' },
  shape: { metadata: metadataShape, spec: true, status: true },
};

export const deploymentKind: Kind<Deployment> = {
  ...{ ...apps, kind: 'Deployment', plural: 'deployments' },
  shape: { metadata: metadataShape, status: { readyReplicas: true } },
};
