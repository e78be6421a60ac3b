import assert from 'node:assert/strict';
import test from 'node:test';
import { Waiters } from './waiters.ts';

test('who waits is woken by each change, and done when he finds what he needs', async () => {
  const waiters = new Waiters();
  let value: number | undefined;
  let looks = 0;
  const found = waiters.until('a', () => {
    looks += 1;
    return value;
  });
  waiters.changed('b');
  waiters.changed('a');
  await Promise.resolve();
  value = 7;
  waiters.changed('a');
  assert.equal(await found, 7);
  assert.ok(looks >= 2);
});

test('who is there already does not wait', async () => {
  assert.equal(await new Waiters().until('a', () => 1), 1);
});

test('who leaves is told so, and nobody else', async () => {
  const waiters = new Waiters();
  const leave = new AbortController();
  let value: string | undefined;
  const left = waiters.until('a', () => value, leave.signal);
  const stayed = waiters.until('a', () => value);
  leave.abort();
  await assert.rejects(left, { name: 'AbortError' });
  value = 'there';
  waiters.changed('a');
  assert.equal(await stayed, 'there');
});
