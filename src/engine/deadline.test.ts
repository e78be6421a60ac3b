import assert from 'node:assert/strict';
import test from 'node:test';
import { settle, TinyClock } from '../../test/samples/tiny-clock.ts';
import { within } from './deadline.ts';

const limit = { ms: 100, failure: () => new Error('too late') };

test('an answer in time is passed on, and no timer stays behind', async () => {
  const clock = new TinyClock();
  assert.equal(await within(clock, Promise.resolve(7), limit), 7);
  await settle();
  assert.equal(clock.sleeping, 0);
});

test('a failure in time is passed on', async () => {
  const work = Promise.reject(new Error('no'));
  await assert.rejects(within(new TinyClock(), work, limit), /no/);
});

test('what takes too long has failed, and its end is nobody’s concern', async () => {
  const clock = new TinyClock();
  let fail: (error: Error) => void = () => undefined;
  const work = new Promise((_resolve, reject) => {
    fail = reject;
  });
  const waiting = assert.rejects(within(clock, work, limit), /too late/);
  await clock.advance(200);
  await waiting;
  fail(new Error('much later'));
  await settle();
});
