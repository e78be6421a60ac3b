import { spawnSync } from 'node:child_process';
import { z } from 'zod';
import type { LogicalVolumeSpec, LogicalVolumeStatus } from '../src/api/objects/logical-volume.ts';

/**
 * What the API server checks of our kinds, and what `kubectl explain` says about them. It is made
 * here, when the project is built: zod takes more memory than an agent does.
 */

/** What Kubernetes takes for a quantity: the words of its own parser, as TopoLVM's schema has it. */
const quantityPattern =
  '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$';

function quantity(description: string) {
  const meta = { description, pattern: quantityPattern, 'x-kubernetes-int-or-string': true };
  return z.string().meta(meta);
}

export const logicalVolumeSpec = z
  .object({
    name: z
      .string()
      .describe('The name that was asked for: pvc-<uid of the claim> or snapshot-<uid>.'),
    nodeName: z
      .string()
      .describe('The node that holds the volume. It never changes: a volume does not move.'),
    size: quantity(
      'The size that is wanted, for example 10Gi. Raise it to grow the volume; it never shrinks.',
    ),
    deviceClass: z.exactOptional(
      z
        .string()
        .describe('The device class of lvmd.yaml to make it in. Empty: the default of the node.'),
    ),
    lvcreateOptionClass: z.exactOptional(
      z
        .string()
        .describe(
          'The lvcreate-option-class of lvmd.yaml whose options replace those of the device class.',
        ),
    ),
    source: z.exactOptional(
      z
        .string()
        .describe('The name of the LogicalVolume that this one begins as a copy of, if any.'),
    ),
    accessType: z.exactOptional(
      z.string().describe('Only with a source. ro: a snapshot. rw: a volume made from the source.'),
    ),
  })
  .readonly()
  .describe('What is wanted.');

export const logicalVolumeStatus = z
  .object({
    volumeID: z.exactOptional(
      z
        .string()
        .describe('Set when the LV is there: its name, and the volumeHandle of the volume.'),
    ),
    currentSize: z.exactOptional(
      quantity('The size that LVM really gave, in whole extents. Missing on very old objects.'),
    ),
    code: z.exactOptional(
      z
        .int32()
        .describe('How the last try ended, as a gRPC code: 0 is success, 8 is no room left.'),
    ),
    message: z.exactOptional(
      z.string().describe('Why the last try failed, and what to do about it.'),
    ),
  })
  .readonly()
  .describe('What is, written by the agent of the node after it is true.');

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** The compiler stops here when the schema and the type that the code reads differ in any field. */
export const schemasAreTypes: [
  Equal<z.infer<typeof logicalVolumeSpec>, LogicalVolumeSpec>,
  Equal<z.infer<typeof logicalVolumeStatus>, LogicalVolumeStatus>,
] = [true, true];

/** Text of `src/api/crds/logical-volume-schema.ts`. */
export function schemaSource(): string {
  const schema = {
    description: 'A volume or a snapshot on one node. Its UID is the name of the LV.',
    type: 'object',
    properties: {
      apiVersion: { type: 'string', description: 'Group and version of this kind.' },
      kind: { type: 'string', description: 'LogicalVolume.' },
      metadata: { type: 'object' },
      spec: structural(logicalVolumeSpec),
      status: structural(logicalVolumeStatus),
    },
  };
  const text = [
    '/** Made by `make generate` from tools/crds.ts; do not edit. */',
    `export const logicalVolumeSchema = ${JSON.stringify(schema)} as const;`,
  ].join('\n');
  return formatted(text);
}

export function structural(schema: z.ZodType): object {
  const made = z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input', reused: 'inline' });
  return inForm(made as JsonSchema);
}

type JsonSchema = {
  readonly [key: string]: unknown;
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
};

/** Keys that a structural schema must not have, or that say nothing to the API server. */
const dropped = new Set(['$schema', 'readOnly', 'minimum', 'maximum']);

function inForm({ properties, ...rest }: JsonSchema): JsonSchema {
  const kept = Object.fromEntries(Object.entries(rest).filter(([key]) => !dropped.has(key)));
  if (kept['x-kubernetes-int-or-string'] === true) {
    const { type: _, ...others } = kept;
    return { anyOf: [{ type: 'integer' }, { type: 'string' }], ...others };
  }
  if (kept['type'] === 'integer') return { ...kept, format: 'int32' };
  if (properties === undefined) return kept;
  const inner = Object.entries(properties).map(([name, one]) => [name, inForm(one)] as const);
  return { ...kept, properties: Object.fromEntries(inner) };
}

function formatted(text: string): string {
  const { status, stdout, stderr } = spawnSync(
    'biome',
    ['format', '--stdin-file-path=src/api/crds/logical-volume-schema.ts'],
    { input: text, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`biome format: ${stderr}`);
  return stdout;
}

/** Text of `docs/reference/crds.md`. */
export function crdsPage(): string {
  return [
    '# Kinds',
    '',
    'The kinds that Quarry brings to a cluster. Made by `make generate` from the code; do not edit.',
    '',
    '`quarry crds` prints their definitions, `quarry crds --legacy` those in the group that TopoLVM had',
    'before, `topolvm.cybozu.com`. An instance serves one of the two groups.',
    '',
    '## LogicalVolume',
    '',
    '`topolvm.io/v1`, not in a namespace. A volume or a snapshot on one node; its UID is the name of the LV.',
    "It is TopoLVM's kind, field for field.",
    '',
    '**Deleting one destroys the LV, also that of a retained volume.**',
    '',
    '| field | type | meaning |',
    '|---|---|---|',
    ...rowsOf('spec', logicalVolumeSpec),
    ...rowsOf('status', logicalVolumeStatus),
    '',
    'From Kubernetes 1.31 on `kubectl get logicalvolumes --field-selector spec.nodeName=NODE` shows those of one node.',
    '',
  ].join('\n');
}

function rowsOf(part: string, schema: z.ZodType): readonly string[] {
  const { properties = {}, required } = structural(schema) as JsonSchema;
  return Object.entries(properties).map(([name, field]) => {
    const [type = 'quantity', meaning] = [field.type, field.description];
    const isRequired = Array.isArray(required) && required.includes(name);
    return `| \`${part}.${name}\` | ${type}${isRequired ? ', required' : ''} | ${meaning} |`;
  });
}
