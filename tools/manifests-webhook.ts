import { lvmsGroup } from '../src/api/crds/lvms.ts';
import { registrationName, webhookService } from '../src/core/cluster/installed.ts';
import { judgePaths } from '../src/operator/judges.ts';
import {
  type Manifest,
  type Role,
  type Settings,
  selectorOf,
  webhookPort,
} from './manifests-settings.ts';

/** API servers ask about LVMClusters before they take one. `role` is who answers. */
export function webhookOf(settings: Settings, role: Role): readonly Manifest[] {
  return [serviceOf(settings, role), ...registrations(settings)];
}

function serviceOf({ namespace }: Settings, role: Role): Manifest {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: webhookService, namespace },
    spec: {
      selector: selectorOf(role),
      ports: [{ name: 'webhook', port: 443, targetPort: webhookPort, protocol: 'TCP' }],
    },
  };
}

/** Whom to believe is written in by the operator, and changes with its certificates. */
function registrations({ namespace }: Settings): readonly Manifest[] {
  const registration = (kind: string, webhooks: readonly object[]): Manifest => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name: registrationName },
    webhooks,
  });
  const changes = ['CREATE', 'UPDATE', 'DELETE'];
  const { fillIn, cluster, group } = judgePaths;
  const hook = (name: string, path: string, operations: readonly string[], plural: string) => ({
    name,
    admissionReviewVersions: ['v1'],
    clientConfig: { service: { name: webhookService, namespace, path, port: 443 } },
    // Nothing unsafe passes while nobody answers.
    ...{ failurePolicy: 'Fail', sideEffects: 'None', timeoutSeconds: 10 },
    rules: [
      {
        ...{ apiGroups: [lvmsGroup], apiVersions: ['v1alpha1'], operations },
        ...{ resources: [plural], scope: 'Namespaced' },
      },
    ],
    matchConditions: [{ name: 'wish', expression: isOtherWish }],
  });
  return [
    registration('MutatingWebhookConfiguration', [
      hook('mlvmcluster.kb.io', fillIn, ['CREATE', 'UPDATE'], 'lvmclusters'),
    ]),
    registration('ValidatingWebhookConfiguration', [
      hook('vlvmcluster.kb.io', cluster, changes, 'lvmclusters'),
      hook('vlvmvolumegroup.kb.io', group, changes, 'lvmvolumegroups'),
    ]),
  ];
}

/** Marks that agents and the operator set are no wishes: for them nobody is asked. */
const isOtherWish = [
  'oldObject == null',
  'object == null',
  'has(object.spec) != has(oldObject.spec)',
  '(has(object.spec) && object.spec != oldObject.spec)',
].join(' || ');
