/** JSON merge patch and JSON patch, as the standards have them. */
export type Json = { readonly [key: string]: unknown };

export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** What was applied last, by object and manager: what is left out of the next is taken away. */
export class Applied {
  readonly #last = new Map<string, Json>();

  patch({ url, isDryRun }: { readonly url: string; readonly isDryRun: boolean }, body: Json): Json {
    const patch = withoutLeftOut(this.#last.get(url), body);
    if (!isDryRun) this.#last.set(url, body);
    return patch;
  }
}

function withoutLeftOut(last: unknown, patch: Json): Json {
  if (!isObject(last)) return patch;
  const gone = Object.keys(last).filter((key) => !Object.hasOwn(patch, key));
  const inner = Object.entries(patch).map(([key, value]) => {
    const before = last[key];
    return [key, isObject(value) ? withoutLeftOut(before, value) : value];
  });
  return { ...Object.fromEntries(gone.map((key) => [key, null])), ...Object.fromEntries(inner) };
}

type Operation = { readonly op: string; readonly path: string; readonly value?: unknown };

/** The changed copy, or undefined when an operation cannot be carried out. */
export function jsonPatch(target: Json, operations: readonly Operation[]): Json | undefined {
  const root = { root: structuredClone(target) } as Record<string, unknown>;
  for (const { op, path, value } of operations) {
    const keys = ['root', ...path.split('/').slice(1).map(plainKey)];
    const last = keys.pop() ?? '';
    let parent: unknown = root;
    for (const key of keys) parent = (parent as Json | undefined)?.[key];
    if (typeof parent !== 'object' || parent === null) return undefined;
    if (!change(parent as Record<string, unknown>, last, { op, value })) return undefined;
  }
  return root['root'] as Json;
}

function change(
  parent: Record<string, unknown>,
  key: string,
  { op, value }: { readonly op: string; readonly value: unknown },
): boolean {
  const isThere = Object.hasOwn(parent, key);
  switch (op) {
    case 'test':
      return JSON.stringify(parent[key]) === JSON.stringify(value);
    case 'remove':
      if (!isThere) return false;
      if (Array.isArray(parent)) parent.splice(Number(key), 1);
      else delete parent[key];
      return true;
    case 'replace':
      if (!isThere) return false;
      parent[key] = value;
      return true;
    default:
      if (!Array.isArray(parent)) parent[key] = value;
      else parent.splice(key === '-' ? parent.length : Number(key), 0, value);
      return true;
  }
}

function plainKey(key: string): string {
  return key.replaceAll('~1', '/').replaceAll('~0', '~');
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
