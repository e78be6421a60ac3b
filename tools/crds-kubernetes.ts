import { z } from 'zod';

/** Schemas of what Kubernetes itself has and our kinds take over. */

/** What Kubernetes takes for a quantity: the words of its own parser, as TopoLVM's schema has it. */
const quantityPattern =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

export function quantity(description: string) {
  const meta = { description, pattern: quantityPattern, 'x-kubernetes-int-or-string': true };
  return z.string().meta(meta);
}

export function text(description: string) {
  return z.string().describe(description);
}

export function optionalText(description: string) {
  return z.exactOptional(text(description));
}

/** A list that is replaced as a whole. */
const atomic = { 'x-kubernetes-list-type': 'atomic' } as const;

const nodeRequirement = z
  .object({
    key: text('The label, or metadata.name under matchFields.'),
    operator: text('In, NotIn, Exists, DoesNotExist, Gt or Lt.'),
    values: z.exactOptional(
      z
        .array(z.string())
        .readonly()
        .meta({
          description:
            'For In and NotIn one or more, for Exists and DoesNotExist none, for Gt and Lt one whole number.',
          ...atomic,
        }),
    ),
  })
  .readonly();

function requirements(description: string) {
  const list = z.array(nodeRequirement).readonly();
  return z.exactOptional(list.meta({ description, ...atomic }));
}

const nodeSelectorTerm = z
  .object({
    matchExpressions: requirements('Labels of the node.'),
    matchFields: requirements('Fields of the node: metadata.name only.'),
  })
  .readonly()
  .meta({ 'x-kubernetes-map-type': 'atomic' });

export function nodeSelector(description: string) {
  return z
    .object({
      nodeSelectorTerms: z
        .array(nodeSelectorTerm)
        .readonly()
        .meta({
          description: 'A node is meant when one of these holds, all of it.',
          ...atomic,
        }),
    })
    .readonly()
    .meta({ description, 'x-kubernetes-map-type': 'atomic' });
}

export const toleration = z
  .object({
    key: optionalText('The key of the taint. Left out, with operator Exists: every taint.'),
    operator: optionalText('Exists, or Equal, which it is when it is left out.'),
    value: optionalText('The value of the taint, for Equal.'),
    effect: optionalText('NoSchedule, PreferNoSchedule or NoExecute. Left out: all of them.'),
    tolerationSeconds: z.exactOptional(
      z.int().meta({ description: 'For how long NoExecute is tolerated.', format: 'int64' }),
    ),
  })
  .readonly();

export const condition = z
  .object({
    type: z.string().meta({
      description: 'What it is about.',
      maxLength: 316,
      pattern:
        '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    }),
    status: z.enum(['True', 'False', 'Unknown']).describe('Does it hold?'),
    reason: z.string().meta({
      description: 'Why, as one word for programs.',
      minLength: 1,
      maxLength: 1024,
      pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    }),
    message: z
      .string()
      .meta({ description: 'Why, and what to do about it, for people.', maxLength: 32768 }),
    lastTransitionTime: z
      .string()
      .meta({ description: 'Since when the status is what it is.', format: 'date-time' }),
    observedGeneration: z.exactOptional(
      z.int().meta({
        ...{ description: 'The generation of the object that this was found for.' },
        ...{ format: 'int64', minimum: 0 },
      }),
    ),
  })
  .readonly();
