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
