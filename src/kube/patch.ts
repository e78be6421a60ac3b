/** A change of an object that names only what it changes. */
export type Patch =
  /** Fields that are null are removed, lists are replaced as a whole. */
  | { readonly type: 'merge'; readonly body: object }
  /** Carried out as a whole or, when a `test` does not hold, not at all. */
  | { readonly type: 'json'; readonly operations: readonly JsonOperation[] }
  /** The fields we own from now on; what we owned before and leave out is removed. */
  | {
      readonly type: 'apply';
      readonly body: object;
      readonly fieldManager: string;
      /** Takes fields over from others instead of failing with Conflict. */
      readonly force: boolean;
    };

export type JsonOperation =
  | { readonly op: 'test' | 'add' | 'replace'; readonly path: string; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: string };

/** A path of a JSON patch. Keys such as `quarry.io/node` need their slashes escaped. */
export function pointer(...keys: readonly (string | number)[]): string {
  return keys.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

export function encodePatch(patch: Patch): { readonly body: string; readonly contentType: string } {
  switch (patch.type) {
    case 'merge':
      return { body: JSON.stringify(patch.body), contentType: 'application/merge-patch+json' };
    case 'json':
      return { body: JSON.stringify(patch.operations), contentType: 'application/json-patch+json' };
    case 'apply':
      // JSON is YAML, and the server takes nothing else under this type.
      return { body: JSON.stringify(patch.body), contentType: 'application/apply-patch+yaml' };
  }
}
