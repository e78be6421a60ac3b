import { type Kind, type KubeObject, metadataShape } from '../../src/kube/kind.ts';

/** A kind like ours, of which we read little. */
export type Sample = KubeObject & {
  readonly spec: { readonly nodeName: string; readonly text?: string };
  readonly status?: { readonly phase?: string };
};

export const sampleKind: Kind<Sample> = {
  ...{ group: 'quarry.test', version: 'v1', kind: 'Sample', plural: 'samples' },
  isNamespaced: true,
  shape: {
    metadata: metadataShape,
    spec: { nodeName: true, text: true },
    status: { phase: true },
  },
};

export const samples = '/apis/quarry.test/v1/samples';

export function sample(
  name: string,
  spec: object = {},
): {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: object;
} {
  return {
    metadata: { name, namespace: 'ns' },
    spec: { nodeName: 'n1', ...spec },
  };
}
