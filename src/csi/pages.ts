import { StatusError } from './status.ts';

/** What CSI's lists have in common. */
export type PageRequest = { readonly maxEntries: number; readonly startingToken: string };

export type Page<T> = { readonly items: readonly T[]; readonly nextToken: string };

const prefix = 'after:';

/**
 * A part of a list that is ordered by id. The token names the last id that was told, so a list
 * that changes between two pages repeats nothing and leaves out nothing that stayed.
 */
export function pageOf<T extends { readonly id: string }>(
  all: readonly T[],
  { maxEntries, startingToken }: PageRequest,
): Page<T> {
  if (maxEntries < 0) throw new StatusError('INVALID_ARGUMENT', `max_entries is ${maxEntries}`);
  const after = lastId(startingToken);
  const left = all.filter(({ id }) => id > after);
  const items = maxEntries === 0 ? left : left.slice(0, maxEntries);
  const last = items.at(-1);
  const isMore = items.length < left.length && last !== undefined;
  return { items, nextToken: isMore ? `${prefix}${last.id}` : '' };
}

function lastId(token: string): string {
  if (token === '') return '';
  if (token.startsWith(prefix)) return token.slice(prefix.length);
  throw new StatusError('ABORTED', `starting_token is ${token}: no list of this driver gave it`);
}
