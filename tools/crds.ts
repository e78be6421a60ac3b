import { spawnSync } from 'node:child_process';
import { z } from 'zod';
import type { LogicalVolumeSpec, LogicalVolumeStatus } from '../src/api/objects/logical-volume.ts';
import { quantity } from './crds-kubernetes.ts';
import {
  lvmClusterRules,
  lvmClusterSpec,
  lvmClusterStatus,
  lvmVolumeGroupNodeStatusSpec,
  lvmVolumeGroupSpec,
} from './crds-lvms.ts';

/**
 * What the API server checks of our kinds, and what `kubectl explain` says about them. It is made
 * here, when the project is built: zod takes more memory than an agent does.
 */

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
      z.int32().meta({
        description: 'How the last try ended, as a gRPC code: 0 is success, 8 is no room left.',
        format: 'int32',
      }),
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

type Described = {
  readonly kind: string;
  readonly description: string;
  readonly parts: Readonly<Record<string, z.ZodType>>;
  readonly rules?: readonly object[];
};

const emptyStatus = z.object({}).describe('Nothing.');

/** Names in the code, and what they are of. */
const described: Readonly<Record<string, Described>> = {
  logicalVolume: {
    kind: 'LogicalVolume',
    description: 'A volume or a snapshot on one node. Its UID is the name of the LV.',
    parts: { spec: logicalVolumeSpec, status: logicalVolumeStatus },
  },
  lvmCluster: {
    kind: 'LVMCluster',
    description: 'Which disks of which nodes make which classes of storage.',
    parts: { spec: lvmClusterSpec, status: lvmClusterStatus },
    rules: lvmClusterRules,
  },
  lvmVolumeGroup: {
    kind: 'LVMVolumeGroup',
    description: 'A device class of the LVMCluster, for the agents. Edit the LVMCluster.',
    parts: { spec: lvmVolumeGroupSpec, status: emptyStatus },
  },
  lvmVolumeGroupNodeStatus: {
    kind: 'LVMVolumeGroupNodeStatus',
    description: 'The volume groups of the node whose name it has.',
    parts: { spec: lvmVolumeGroupNodeStatusSpec, status: emptyStatus },
  },
};

/** The schemas as source, by path. */
export function schemaSources(): Readonly<Record<string, () => string>> {
  return Object.fromEntries(
    Object.entries(described).map(([name, one]) => {
      const path = `src/api/crds/generated/${dashed(name)}-schema.ts`;
      return [path, () => schemaSource(path, name, one)] as const;
    }),
  );
}

function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function schemaSource(path: string, name: string, of: Described): string {
  const { kind, description, parts, rules } = of;
  const made = Object.entries(parts).map(([part, schema]) => [part, structural(schema)] as const);
  const schema = {
    description,
    type: 'object',
    properties: {
      apiVersion: { type: 'string', description: 'Group and version of this kind.' },
      kind: { type: 'string', description: `${kind}.` },
      metadata: { type: 'object' },
      ...Object.fromEntries(made),
    },
    ...(rules === undefined ? {} : { 'x-kubernetes-validations': rules }),
  };
  const text = [
    '/** Made by `make generate` from tools/crds.ts; do not edit. */',
    `export const ${name}Schema = ${JSON.stringify(schema)} as const;`,
  ].join('\n');
  return formatted(path, text);
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
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
};

/** Keys that a structural schema must not have. */
const dropped = new Set(['$schema', 'readOnly', 'propertyNames']);

/** Every whole number has these: they say nothing. */
const bounds: readonly unknown[] = [
  ...[Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  ...[-(2 ** 31), 2 ** 31 - 1],
];

function inForm({ properties, items, additionalProperties, ...rest }: JsonSchema): JsonSchema {
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([key, value]) => !dropped.has(key) && !bounds.includes(value)),
  );
  if (kept['x-kubernetes-int-or-string'] === true) {
    const { type: _, ...others } = kept;
    return { anyOf: [{ type: 'integer' }, { type: 'string' }], ...others };
  }
  if (items !== undefined) return { ...kept, items: inForm(items) };
  if (typeof additionalProperties === 'object') {
    return { ...kept, additionalProperties: inForm(additionalProperties) };
  }
  if (properties === undefined) return kept;
  const inner = Object.entries(properties).map(([name, one]) => [name, inForm(one)] as const);
  return { ...kept, properties: Object.fromEntries(inner) };
}

function formatted(path: string, text: string): string {
  const { status, stdout, stderr } = spawnSync('biome', ['format', `--stdin-file-path=${path}`], {
    input: text,
    encoding: 'utf8',
  });
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
    ...fieldsOf('logicalVolume'),
    '',
    'From Kubernetes 1.31 on `kubectl get logicalvolumes --field-selector spec.nodeName=NODE` shows those of one node.',
    '',
    "The three kinds below are LVMS', in `lvm.topolvm.io/v1alpha1` and in the namespace of the operator: see",
    '[volume groups from bare disks](../guides/lvm-cluster.md).',
    '',
    ...['lvmCluster', 'lvmVolumeGroup', 'lvmVolumeGroupNodeStatus'].flatMap(sectionOf),
  ].join('\n');
}

function sectionOf(name: string): readonly string[] {
  const { kind = '', description = '' } = described[name] ?? {};
  const head = ['| field | type | meaning |', '|---|---|---|'];
  return [`## ${kind}`, '', description, '', ...head, ...fieldsOf(name), ''];
}

function fieldsOf(name: string): readonly string[] {
  const parts = Object.entries(described[name]?.parts ?? {});
  return parts.flatMap(([part, schema]) => rowsOf(part, structural(schema) as JsonSchema));
}

/** Every field, with those inside of it. */
function rowsOf(path: string, schema: JsonSchema): readonly string[] {
  const { properties = {}, required } = schema;
  return Object.entries(properties).flatMap(([name, field]) => {
    const isRequired = Array.isArray(required) && required.includes(name);
    const isList = field.type === 'array';
    const at = `${path}.${name}${isList ? '[]' : ''}`;
    const meaning = field.description ?? '';
    const row = `| \`${at}\` | ${typeOf(field)}${isRequired ? ', required' : ''} | ${meaning} |`;
    return [row, ...rowsOf(at, isList ? (field.items ?? {}) : field)];
  });
}

function typeOf(field: JsonSchema): string {
  const { type = 'quantity' } = field;
  const { enum: words, default: value } = field;
  const isPlain = typeof value === 'string' || typeof value === 'number';
  return [
    Array.isArray(words) ? words.map((word) => (word === '' ? 'empty' : word)).join(', ') : type,
    ...(isPlain ? [`default ${value}`] : []),
  ].join('; ');
}
