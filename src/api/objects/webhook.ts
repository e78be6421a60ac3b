import type { KubeObject } from './metadata.ts';

export type Secret = KubeObject & {
  readonly type?: string;
  /** In base64. */
  readonly data?: Readonly<Record<string, string>>;
};

/** Of one that validates and of one that fills in, we read whom the API server believes. */
export type WebhookConfiguration = KubeObject & {
  readonly webhooks?: readonly {
    readonly name: string;
    readonly clientConfig?: {
      /** PEM, in base64. */
      readonly caBundle?: string;
      readonly service?: { readonly name: string; readonly namespace: string };
    };
  }[];
};
