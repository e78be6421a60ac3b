import assert from 'node:assert/strict';
import test from 'node:test';
import { loadAll } from 'js-yaml';
import { groups, logicalVolumeCrd } from '../../src/api/crds/logical-volume.ts';
import { runCli } from '../../src/cli/cli.ts';
import { surroundings } from '../samples/surroundings.ts';

type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly anyOf?: readonly Schema[];
  readonly pattern?: string;
  readonly 'x-kubernetes-int-or-string'?: true;
};

type Crd = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly versions: readonly {
      readonly name: string;
      readonly selectableFields?: readonly { readonly jsonPath: string }[];
      readonly additionalPrinterColumns: readonly { readonly jsonPath: string }[];
      readonly subresources: object;
      readonly schema: { readonly openAPIV3Schema: Schema };
    }[];
  };
};

/** What TopoLVM's own definition has, field by field. */
const topolvm: Readonly<Record<string, string>> = {
  'spec.name': 'string',
  'spec.nodeName': 'string',
  'spec.size': 'quantity',
  'spec.deviceClass': 'string',
  'spec.lvcreateOptionClass': 'string',
  'spec.source': 'string',
  'spec.accessType': 'string',
  'status.volumeID': 'string',
  'status.currentSize': 'quantity',
  'status.code': 'int32',
  'status.message': 'string',
};

const schema = versionOf(asCrd(groups.current)).schema.openAPIV3Schema;

test('every field of TopoLVM is there, of its type, and nothing more is required', () => {
  const fields = ['spec', 'status'].flatMap((part) =>
    Object.entries(schema.properties?.[part]?.properties ?? {}).map(
      ([name, field]) => [`${part}.${name}`, typeOf(field)] as const,
    ),
  );
  assert.deepEqual(Object.fromEntries(fields), topolvm);
  assert.deepEqual(schema.properties?.['spec']?.required, ['name', 'nodeName', 'size']);
  assert.equal(schema.properties?.['status']?.required, undefined);
  assert.equal(schema.required, undefined);
});

test('trap 27: a size is whatever Kubernetes takes for a quantity, as a text or as a number', () => {
  const size = schema.properties?.['spec']?.properties?.['size'];
  assert.deepEqual(size?.anyOf, [{ type: 'integer' }, { type: 'string' }]);
  const pattern = new RegExp(size?.pattern ?? '');
  for (const text of [
    '1Gi',
    '1.5Gi',
    '1e9',
    '1E9',
    '100M',
    '1500m',
    '9223372036854775807',
    '.5Gi',
  ]) {
    assert.match(text, pattern);
  }
  for (const text of ['', '1 Gi', '1GiB', 'Gi', '1,5Gi', '0x10'])
    assert.doesNotMatch(text, pattern);
});

test('every field says in kubectl explain what it is for', () => {
  const silent = allOf(schema, '').filter(
    ([path, { description }]) => path !== '.metadata' && (description ?? '').length < 10,
  );
  assert.deepEqual(silent, []);
});

test('the schema is structural: each part has a type, and none inside alternatives but quantities', () => {
  for (const [path, part] of allOf(schema, '')) {
    const isQuantity = part['x-kubernetes-int-or-string'] === true;
    assert.equal(part.type === undefined, isQuantity, path);
    assert.equal(part.anyOf !== undefined, isQuantity, path);
    assert.equal('additionalProperties' in part, false, path);
    assert.equal('$schema' in part, false, path);
  }
});

test('a column shows a field that exists', () => {
  const known = new Set(allOf(schema, '').map(([path]) => path));
  const { additionalPrinterColumns } = versionOf(asCrd(groups.current));
  const shown = additionalPrinterColumns.map(({ jsonPath }) => jsonPath);
  assert.deepEqual(
    shown.filter((path) => !known.has(path)),
    ['.metadata.creationTimestamp'],
  );
});

test('quarry crds prints a definition in either group, with a status of its own', async () => {
  const current = await printed(['crds']);
  const legacy = await printed(['crds', '--legacy']);
  assert.equal(current.metadata.name, 'logicalvolumes.topolvm.io');
  assert.equal(legacy.metadata.name, 'logicalvolumes.topolvm.cybozu.com');
  assert.equal(legacy.spec.group, 'topolvm.cybozu.com');
  assert.deepEqual(versionOf(legacy), versionOf(current));
  assert.deepEqual(versionOf(current).subresources, { status: {} });
  const names = async (...words: readonly string[]) =>
    (await allPrinted(['crds', ...words])).map(({ metadata }) => metadata.name);
  assert.deepEqual(await names('--legacy'), ['logicalvolumes.topolvm.cybozu.com']);
  const lvms = ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses'];
  const expected = ['logicalvolumes.topolvm.io', ...lvms.map((one) => `${one}.lvm.topolvm.io`)];
  assert.deepEqual(await names(), expected);
});

test('servers before 1.30 are not sent a field that kubectl would refuse', async () => {
  const fieldsFor = async (words: readonly string[]) =>
    versionOf(await printed(['crds', ...words])).selectableFields;
  assert.deepEqual(await fieldsFor([]), [{ jsonPath: '.spec.nodeName' }]);
  assert.equal(await fieldsFor(['--kubernetes', '1.29']), undefined);
  assert.equal(await fieldsFor(['--kubernetes', 'v1.29.14']), undefined);
  assert.deepEqual(await fieldsFor(['--kubernetes', '1.30']), [{ jsonPath: '.spec.nodeName' }]);
  assert.equal((await run(['crds', '--kubernetes', 'new'])).code, 2);
});

function asCrd(group: string): Crd {
  return logicalVolumeCrd({ group, hasSelectableFields: true });
}

function versionOf({ spec }: Crd) {
  const [version, ...more] = spec.versions;
  assert.ok(version !== undefined && more.length === 0);
  return version;
}

function typeOf(field: Schema): string {
  if (field['x-kubernetes-int-or-string'] === true) return 'quantity';
  return field.format ?? field.type ?? 'none';
}

function allOf(part: Schema, path: string): readonly (readonly [string, Schema])[] {
  const inner = Object.entries(part.properties ?? {});
  return [[path, part], ...inner.flatMap(([name, one]) => allOf(one, `${path}.${name}`))];
}

/** The first that is printed. */
async function printed(words: readonly string[]): Promise<Crd> {
  const [first] = await allPrinted(words);
  assert.ok(first !== undefined);
  return first;
}

async function allPrinted(words: readonly string[]): Promise<readonly Crd[]> {
  const { code, text } = await run(words);
  assert.equal(code, 0);
  return loadAll(text) as readonly Crd[];
}

async function run(words: readonly string[]) {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const code = await runCli(words, {
    ...surroundings,
    path: '',
    version: '1',
    print,
    warn: () => {},
  });
  return { code, text: lines.join('\n') };
}
