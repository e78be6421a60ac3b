import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { show } from '../../base/show.ts';
import { groupAnnotation } from './names.ts';

/** The group snapshot that an object is to be a part of. */
export type AgentGroup = { readonly id: string; readonly size: number; readonly name: string };

export function groupOf({ metadata }: LogicalVolume): AgentGroup | Blocked | undefined {
  const text = metadata.annotations?.[groupAnnotation];
  if (text === undefined) return undefined;
  const group = parse(text);
  if (group !== undefined) return group;
  const message = `the annotation ${groupAnnotation} of ${metadata.name} is ${show(text)}`;
  return blocked('InvalidRequest', `${message}: it needs id, size and name`);
}

function parse(text: string): AgentGroup | undefined {
  try {
    const { id, size, name } = JSON.parse(text) as Partial<AgentGroup>;
    const isRight =
      typeof id === 'string' && typeof name === 'string' && Number.isSafeInteger(size);
    return isRight && Number(size) > 0 ? { id, name, size: Number(size) } : undefined;
  } catch {
    return undefined;
  }
}
