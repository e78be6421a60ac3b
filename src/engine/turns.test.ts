import assert from 'node:assert/strict';
import test from 'node:test';
import { Turns } from './turns.ts';

function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

test('work with one key runs one after another, with others side by side', async () => {
  const turns = new Turns();
  const log: string[] = [];
  const first = gate();
  const slow = turns.run('a', async () => {
    log.push('a1');
    await first.opened;
    log.push('a1 ends');
  });
  const next = turns.run('a', () => Promise.resolve(log.push('a2')));
  await turns.run('b', () => Promise.resolve(log.push('b1')));
  assert.deepEqual(log, ['a1', 'b1']);
  first.open();
  await Promise.all([slow, next]);
  assert.deepEqual(log, ['a1', 'b1', 'a1 ends', 'a2']);
});

test('work that fails does not keep the next from its turn', async () => {
  const turns = new Turns();
  const failed = turns.run('a', () => Promise.reject(new Error('no')));
  const next = turns.run('a', () => Promise.resolve(7));
  await assert.rejects(failed, /no/);
  assert.equal(await next, 7);
});

test('who stops waiting is told, and the next begins only when the work is done', async () => {
  const turns = new Turns();
  const held = gate();
  const abort = new AbortController();
  const log: string[] = [];
  const left = turns.run('a', () => held.opened.then(() => log.push('first')), abort.signal);
  const next = turns.run('a', () => Promise.resolve(log.push('second')));
  abort.abort();
  await assert.rejects(left, { code: 'Cancelled' });
  assert.deepEqual(log, []);
  held.open();
  await next;
  assert.deepEqual(log, ['first', 'second']);
});

test('who has left before it began is told, though the work is done', async () => {
  const turns = new Turns();
  let isDone = false;
  const work = () => Promise.resolve(() => (isDone = true)).then((finish) => finish());
  await assert.rejects(turns.run('a', work, AbortSignal.abort()), { code: 'Cancelled' });
  await turns.run('a', () => Promise.resolve());
  assert.ok(isDone);
});

test('nothing is remembered of work that is done', async () => {
  const turns = new Turns();
  await turns.run('a', () => Promise.resolve());
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(turns.size, 0);
});
