import assert from 'node:assert/strict';
import test from 'node:test';
import { pageOf } from './pages.ts';

const all = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ id }));

test('pages together are the list, each as long as asked for', () => {
  const seen: string[] = [];
  let startingToken = '';
  do {
    const { items, nextToken } = pageOf(all, { maxEntries: 2, startingToken });
    assert.ok(items.length <= 2);
    seen.push(...items.map(({ id }) => id));
    startingToken = nextToken;
  } while (startingToken !== '');
  assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'e']);
});

test('a list that changes between two pages repeats nothing and loses nothing that stayed', () => {
  const { nextToken } = pageOf(all, { maxEntries: 2, startingToken: '' });
  const later = all.filter(({ id }) => id !== 'b' && id !== 'c');
  const { items } = pageOf(later, { maxEntries: 0, startingToken: nextToken });
  assert.deepEqual(
    items.map(({ id }) => id),
    ['d', 'e'],
  );
});

test('no bound means the whole list, and the last page has no token', () => {
  assert.equal(pageOf(all, { maxEntries: 0, startingToken: '' }).items.length, 5);
  assert.equal(pageOf(all, { maxEntries: 5, startingToken: '' }).nextToken, '');
  assert.equal(pageOf([], { maxEntries: 5, startingToken: '' }).nextToken, '');
});

test('a token that no list gave is refused, and so is a negative bound', () => {
  assert.throws(() => pageOf(all, { maxEntries: 0, startingToken: 'x' }), { status: 'ABORTED' });
  const negative = { maxEntries: -1, startingToken: '' };
  assert.throws(() => pageOf(all, negative), { status: 'INVALID_ARGUMENT' });
});
