import { isEqual, type Peek, ruleOf } from './fake-api-rules.ts';
import { invalid, type Refusal, type Stored, type Target } from './fake-api-wire.ts';

/** `status` is written by itself and nowhere else; who an object is never changes. */
export function changed(
  { collection, subresource }: Target,
  before: Stored,
  draft: Stored,
): Stored {
  const { status: _status, ...rest } = subresource === 'status' ? before : draft;
  const { status } = subresource === 'status' ? draft : before;
  const takesMetadata = subresource !== 'status' || ruleOf(collection)?.isCustom === false;
  const metadata = takesMetadata ? draft.metadata : before.metadata;
  const { deletionTimestamp: _mine, ...wanted } = metadata;
  const { uid, resourceVersion, generation, deletionTimestamp } = before.metadata;
  return {
    ...rest,
    ...(status === undefined ? {} : { status }),
    metadata: {
      ...wanted,
      ...{ uid, resourceVersion, generation },
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
      creationTimestamp: before.metadata['creationTimestamp'],
      managedFields: before.metadata['managedFields'],
    },
  } as Stored;
}

export function objection(
  { collection }: Target,
  before: Stored,
  { draft, after }: { readonly draft: Stored; readonly after: Stored },
  api: Peek,
): Refusal | undefined {
  if ((draft.metadata.uid ?? before.metadata.uid) !== before.metadata.uid) {
    return { code: 409, reason: 'Conflict', message: 'Precondition failed: UID' };
  }
  const had = new Set(before.metadata.finalizers);
  const added = (after.metadata.finalizers ?? []).filter((finalizer) => !had.has(finalizer));
  if (before.metadata.deletionTimestamp !== undefined && added.length > 0) {
    return invalid('metadata.finalizers: no new finalizers while it is being deleted');
  }
  return ruleOf(collection)?.objection?.(before, after, api);
}

export function isLeaving({ metadata }: Stored): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0;
}

/** Counts what is wanted, not what is told of it. */
export function generationOf(before: Stored | undefined, draft: Stored): number {
  if (before === undefined) return 1;
  const wish = (object: Stored) => ({ ...object, metadata: undefined, status: undefined });
  const count = before.metadata.generation ?? 1;
  return isEqual(wish(before), wish(draft)) ? count : count + 1;
}
