import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { show } from '../../base/show.ts';
import { groupNameAnnotation, groupSizeAnnotation } from './logical-volume-group.ts';
import { groupAnnotation } from './names.ts';

/** The group snapshot that an object is to be a part of. */
export type AgentGroup = { readonly id: string; readonly size: number; readonly name: string };

export function groupIn({ metadata }: LogicalVolume): AgentGroup | Blocked | undefined {
  const { annotations = {}, name: object } = metadata;
  const text = annotations[groupAnnotation] ?? '';
  if (text === '') return undefined;
  const size = Number(annotations[groupSizeAnnotation] ?? Number.NaN);
  const name = annotations[groupNameAnnotation] ?? '';
  const notes = text.startsWith('{') ? parse(text) : { id: text, size, name };
  if (isGroup(notes)) return notes;
  const message = `the annotations of ${object} about its group snapshot are not whole`;
  return blocked('InvalidRequest', `${message}: ${show({ text, size: String(size), name })}`);
}

/** All three in one text, as JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isGroup(value: unknown): value is AgentGroup {
  const { id, size, name } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const isNamed = typeof id === 'string' && id !== '' && typeof name === 'string' && name !== '';
  return isNamed && Number.isSafeInteger(size) && Number(size) > 0;
}
