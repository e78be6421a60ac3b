/**
 * What a definition takes, refuses and fills in, path by path, so that two definitions of one kind
 * can be compared. Descriptions are no part of it.
 */
export type Facts = Readonly<Record<string, unknown>>;

export type FactsByPath = Readonly<Record<string, Facts>>;

export type Definition = {
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: object;
    readonly versions: readonly Version[];
  };
};

type Version = {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly subresources?: object;
  readonly additionalPrinterColumns?: readonly Column[];
  readonly schema: { readonly openAPIV3Schema: object };
};

type Column = { readonly name: string; readonly jsonPath: string };

type Schema = {
  readonly [key: string]: unknown;
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
};

type Rule = { readonly rule: string; readonly message: string };

/** The definition itself has the path ''. */
export function factsOf({ spec }: Definition): FactsByPath {
  const { group, scope, names, versions } = spec;
  const [version, ...more] = versions;
  if (version === undefined || more.length > 0) throw new Error('one version is compared');
  const { name, served, storage, subresources, schema } = version;
  const columns = (version.additionalPrinterColumns ?? []).map(
    (column) => [`column ${column.name}`, column.jsonPath] as const,
  );
  return {
    '': {
      ...{ group, scope, names, version: name, served, storage, subresources },
      ...Object.fromEntries(columns),
    },
    ...Object.fromEntries(pathsIn('', schema.openAPIV3Schema as Schema, {})),
  };
}

/** Keys that say nothing about what is taken, or lead further down. */
const others = new Set([
  ...['description', 'properties', 'items', 'additionalProperties', 'required', 'anyOf'],
  'x-kubernetes-validations',
]);

function pathsIn(path: string, schema: Schema, more: Facts): (readonly [string, Facts])[] {
  const { properties = {}, items, additionalProperties, required = [] } = schema;
  const rules = rulesOf(schema);
  const own = Object.entries(schema).filter(([key]) => !others.has(key));
  const words = rules.filter(({ rule }) => rule !== 'oldSelf == self').map(rule);
  const facts = {
    ...Object.fromEntries(own.map(([key, value]) => [key, sorted(key, value)])),
    ...Object.fromEntries(words),
    ...(rules.length > words.length ? { isFixed: true } : {}),
    ...more,
  };
  const inner = Object.entries(properties).flatMap(([name, field]) => {
    const isRequired = required.includes(name) ? { isRequired: true } : {};
    const isFixed =
      path !== '' && rules.some(({ rule }) => new RegExp(`oldSelf\\.${name}(?![\\w.])`).test(rule));
    return pathsIn(path === '' ? name : `${path}.${name}`, field, {
      ...isRequired,
      ...(isFixed ? { isFixed } : {}),
    });
  });
  return [
    ...(path === '' ? [] : [[path, facts] as const]),
    ...(path === '' && words.length > 0 ? [['(whole)', Object.fromEntries(words)] as const] : []),
    ...inner,
    ...(items === undefined ? [] : pathsIn(`${path}[]`, items, {})),
    ...(typeof additionalProperties === 'object'
      ? pathsIn(`${path}{}`, additionalProperties, {})
      : []),
  ];
}

function rulesOf(schema: Schema): readonly Rule[] {
  return (schema['x-kubernetes-validations'] ?? []) as readonly Rule[];
}

function rule({ message }: Rule): readonly [string, unknown] {
  return [`rule "${message}"`, true];
}

function sorted(key: string, value: unknown): unknown {
  return key === 'enum' ? (value as readonly string[]).toSorted() : value;
}

export type Difference = {
  /** `spec.a[].b: maximum 100 is none here`. */
  readonly text: string;
  /** Something that they take is refused, or lost, by us. */
  readonly isNarrower: boolean;
};

/** Everything in which ours is unlike theirs. */
export function differences(theirs: FactsByPath, ours: FactsByPath): readonly Difference[] {
  const lost = Object.keys(theirs).filter((path) => ours[path] === undefined);
  const added = Object.keys(ours).filter((path) => theirs[path] === undefined);
  return [
    ...outermost(lost).map((path) => ({ text: `${path}: theirs alone`, isNarrower: true })),
    ...outermost(added).map((path) => ({
      text: `${path}: ours alone`,
      isNarrower: path === '(whole)' || ours[path]?.['isRequired'] === true,
    })),
    ...Object.entries(theirs).flatMap(([path, facts]) => {
      const own = ours[path];
      return own === undefined ? [] : differencesAt(path, facts, own);
    }),
  ];
}

/** Of an object that is there on one side only, not each of its fields. */
function outermost(paths: readonly string[]): readonly string[] {
  const isInside = (path: string) =>
    paths.some((one) => one !== '' && path !== one && /^[.[{]/.test(rest(path, one)));
  return paths.filter((path) => !isInside(path));
}

function rest(path: string, start: string): string {
  return path.startsWith(start) ? path.slice(start.length) : '';
}

function differencesAt(path: string, theirs: Facts, ours: Facts): readonly Difference[] {
  const keys = [...new Set([...Object.keys(theirs), ...Object.keys(ours)])];
  return keys
    .filter((key) => JSON.stringify(theirs[key]) !== JSON.stringify(ours[key]))
    .map((key) => ({
      text: `${path === '' ? '(definition)' : path}: ${key} ${word(theirs[key])} is ${word(ours[key])} here`,
      isNarrower: isNarrower(key, theirs[key], ours[key]),
    }));
}

function word(value: unknown): string {
  return value === undefined ? 'none' : JSON.stringify(value);
}

/** Columns and defaults refuse nothing; everything unknown is taken for the worst. */
function isNarrower(key: string, theirs: unknown, ours: unknown): boolean {
  if (key.startsWith('column ') || key === 'default') return false;
  if (ours === undefined) return key === 'type';
  if (key.startsWith('min')) return Number(ours) > Number(theirs ?? Number.NEGATIVE_INFINITY);
  if (key.startsWith('max')) return Number(ours) < Number(theirs ?? Number.POSITIVE_INFINITY);
  if (key === 'enum' && Array.isArray(theirs) && Array.isArray(ours)) {
    return theirs.some((value) => !ours.includes(value));
  }
  return true;
}
