import assert from 'node:assert/strict';
import test from 'node:test';
import { failures } from '../../base/failures.ts';
import { type ContentOrigin, type ContentView, contentStep, isFinal } from './snapshot-content.ts';

const origins: readonly ContentOrigin[] = [
  { kind: 'made', name: 'snapshot-u1', sourceIds: ['vol-1'] },
  { kind: 'given', handle: 'lv-1', memberIds: [] },
  { kind: 'none' },
];

const flags = [
  ...(['isGoing', 'isHeld', 'isBeingCreated', 'isBeingDeleted', 'isBound'] as const),
  ...(['isKept', 'isReady'] as const),
];

/** Every content there can be. */
function* everyView(): Generator<ContentView> {
  for (let bits = 0; bits < 2 ** flags.length; bits += 1) {
    const set = Object.fromEntries(flags.map((flag, index) => [flag, ((bits >> index) & 1) === 1]));
    for (const origin of origins) {
      for (const handle of [undefined, 'lv-1']) {
        for (const problem of [undefined, 'no class']) {
          for (const sharers of [[], ['other']]) {
            yield { ...set, origin, handle, problem, sharers } as unknown as ContentView;
          }
        }
      }
    }
  }
}

test('nothing is made that was not announced, nor what has a handle already', () => {
  for (const view of everyView()) {
    const step = contentStep(view);
    if (step.kind !== 'make') continue;
    assert.ok(view.isBeingCreated && view.handle === undefined && !view.isReady, show(view));
  }
});

test('nothing is announced for what goes, was given up, or has a problem', () => {
  for (const view of everyView()) {
    if (contentStep(view).kind !== 'announce') continue;
    assert.ok(!view.isGoing && !view.isBeingDeleted && view.problem === undefined, show(view));
    assert.equal(view.origin.kind, 'made');
  }
});

test('trap 19: nothing is removed without the word of who bound it, nor what others live by', () => {
  for (const view of everyView()) {
    const step = contentStep(view);
    if (step.kind !== 'remove') continue;
    const isUnbound = view.origin.kind === 'given' && !view.isBound;
    assert.ok(view.isGoing && view.isHeld && !view.isKept, show(view));
    assert.ok(isUnbound || (view.isBeingDeleted && !view.isBeingCreated), show(view));
    assert.ok(step.handle === undefined || view.sharers.length === 0, show(view));
  }
});

test('trap 6: what may still come about is not let go', () => {
  for (const view of everyView()) {
    const { kind } = contentStep(view);
    if (kind !== 'release' && kind !== 'remove') continue;
    assert.ok(view.origin.kind === 'given' || !view.isBeingCreated, show(view));
  }
});

test('only what is kept, or was never seen by anybody, is let go with its snapshot in place', () => {
  for (const view of everyView()) {
    if (contentStep(view).kind !== 'release') continue;
    const isUnseen = view.origin.kind === 'given' && !view.isBound && view.handle === undefined;
    assert.ok(view.isKept || view.origin.kind === 'none' || isUnseen, show(view));
  }
});

test('a failure that leaves it open whether something exists is never final', () => {
  for (const [code, { grpc }] of Object.entries(failures)) {
    const isOpen = ['CANCELLED', 'UNAVAILABLE', 'ABORTED'].includes(grpc);
    const known = code as keyof typeof failures;
    assert.equal(isFinal(known, true), !isOpen, code);
    assert.equal(isFinal(known, false), !isOpen && grpc !== 'RESOURCE_EXHAUSTED', code);
  }
});

function show(view: ContentView): string {
  return JSON.stringify({ ...view, step: contentStep(view) });
}
