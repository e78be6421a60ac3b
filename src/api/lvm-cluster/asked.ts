import { limits } from '../../base/limits.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { isSameJson } from '../same.ts';

/**
 * What the operator asked of a group last, beside its spec: where the two differ somebody altered
 * the group, and not the LVMCluster.
 */
export const askedAnnotation = 'quarry.io/asked';

/** Of a group that says nothing, such as one of LVMS, the spec counts as it stands. */
export function askedOf(group: LvmVolumeGroup): LvmVolumeGroupSpec {
  return noted(group) ?? group.spec ?? {};
}

export function isAltered(group: LvmVolumeGroup): boolean {
  return !isSameJson(askedOf(group), group.spec ?? {});
}

/** Has it been written down what was asked of it? */
export function isNoted(group: LvmVolumeGroup): boolean {
  return noted(group) !== undefined;
}

type Note = readonly [key: string, text: string | undefined];

/** Of a new group. One that is too long is not written down. */
export function askedAnnotations(spec: LvmVolumeGroupSpec): Readonly<Record<string, string>> {
  const text = JSON.stringify(spec);
  return text.length > limits.askedCharactersMax ? {} : { [askedAnnotation]: text };
}

/** The annotation of a group with this spec, where it is another one by then. */
export function askedNote(group: LvmVolumeGroup, spec: LvmVolumeGroupSpec): readonly Note[] {
  const known = noted(group);
  if (known !== undefined && isSameJson(known, spec)) return [];
  const text = askedAnnotations(spec)[askedAnnotation];
  return text === group.metadata.annotations?.[askedAnnotation] ? [] : [[askedAnnotation, text]];
}

function noted({ metadata }: LvmVolumeGroup): LvmVolumeGroupSpec | undefined {
  try {
    const spec: unknown = JSON.parse(metadata.annotations?.[askedAnnotation] ?? 'null');
    const isSpec = typeof spec === 'object' && spec !== null && !Array.isArray(spec);
    return isSpec ? spec : undefined;
  } catch {
    return undefined;
  }
}
