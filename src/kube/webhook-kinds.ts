import type { Secret, WebhookConfiguration } from '../api/objects/webhook.ts';
import { type Kind, metadataShape } from './kind.ts';

/** Ours alone is read, by its name. */
export const secretKind: Kind<Secret> = {
  ...{ group: '', version: 'v1', kind: 'Secret', plural: 'secrets', isNamespaced: true },
  shape: { metadata: metadataShape, type: true, data: true },
};

const registration = { group: 'admissionregistration.k8s.io', version: 'v1' } as const;

const shape: Kind<WebhookConfiguration>['shape'] = {
  metadata: metadataShape,
  webhooks: [
    {
      name: true,
      clientConfig: { caBundle: true, service: { name: true, namespace: true } },
    },
  ],
};

export const validatingWebhookKind: Kind<WebhookConfiguration> = {
  ...{ ...registration, kind: 'ValidatingWebhookConfiguration', isNamespaced: false },
  ...{ plural: 'validatingwebhookconfigurations', shape },
};

export const mutatingWebhookKind: Kind<WebhookConfiguration> = {
  ...{ ...registration, kind: 'MutatingWebhookConfiguration', isNamespaced: false },
  ...{ plural: 'mutatingwebhookconfigurations', shape },
};
