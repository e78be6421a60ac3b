import assert from 'node:assert/strict';
import test from 'node:test';
import { BugError, assert as ensure, unreachable } from './assert.ts';
import { blocked, failures, OperationError } from './failures.ts';

for (const [code, row] of Object.entries(failures)) {
  test(`${code} says what to do, in a sentence`, () => {
    assert.match(row.hint, /^[A-Z`].{8,}\.$/s);
    assert.match(code, /^[A-Z][A-Za-z]+$/);
  });
}

/** The sidecars read one gRPC status in three ways, so lack of room has three codes. */
const roomCodes = [
  ['InsufficientCapacity', 'RESOURCE_EXHAUSTED'],
  ['InsufficientCapacityToExpand', 'OUT_OF_RANGE'],
  ['InsufficientCapacityForSnapshot', 'OUT_OF_RANGE'],
] as const;

for (const [code, grpc] of roomCodes) {
  test(`${code} is told as ${grpc}`, () => assert.equal(failures[code].grpc, grpc));
}

test('what the system did is worth another try, unless the answer can only be the same', () => {
  const hopeless = Object.entries(failures)
    .filter(([, row]) => row.fault === 'system' && row.retry !== 'backoff')
    .map(([code]) => code);
  assert.deepEqual(hopeless, ['OutputTooLarge']);
});

test('a request nobody can grant is never retried by itself', () => {
  const wrong = Object.entries(failures)
    .filter(([, row]) => row.grpc === 'INVALID_ARGUMENT' && row.retry === 'backoff')
    .map(([code]) => code);
  assert.deepEqual(wrong, []);
});

test('a refusal carries its code and message', () => {
  assert.deepEqual(blocked('NotOurs', 'vg1/v1 is left alone'), {
    kind: 'blocked',
    code: 'NotOurs',
    message: 'vg1/v1 is left alone',
  });
});

test('an operation error keeps its code and its cause', () => {
  const cause = new Error('EIO');
  const error = new OperationError('DeviceFailed', 'sdb', { cause });
  assert.equal(error.code, 'DeviceFailed');
  assert.equal(error.cause, cause);
});

test('a bug is told apart from what the world answers', () => {
  assert.throws(() => ensure(false, 'a plan must come to rest'), BugError);
  assert.throws(() => unreachable('x' as never), BugError);
  ensure(true, 'nothing happens');
});
