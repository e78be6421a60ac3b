import assert from 'node:assert/strict';
import type { FailureCode } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';
import { show } from '../../src/base/show.ts';
import type { ObservedHost } from '../../src/core/observed.ts';
import { predict } from '../../src/core/predict.ts';
import type { Decision, Step, StepKind } from '../../src/core/step.ts';
import { isBlocked } from '../../src/core/usable-vg.ts';

/** The step a plan wants, of the kind a test expects; anything else fails the test. */
export function stepOf<K extends StepKind>(
  decision: Decision,
  kind: K,
): Extract<Step, { kind: K }> {
  assert.equal(decision.kind, 'step', `expected ${kind}, got ${text(decision)}`);
  assert.ok(decision.kind === 'step');
  assert.equal(decision.step.kind, kind);
  return decision.step as Extract<Step, { kind: K }>;
}

/** A decision, a permit or anything else that may be refused: this one is, and says of what. */
export function assertBlocked(answer: object, code: FailureCode, names = /./): void {
  assert.ok(isBlocked(answer), `expected ${code}, got ${show(answer)}`);
  assert.equal(answer.code, code, answer.message);
  assert.match(answer.message, names);
}

export function assertRest(decision: Decision): void {
  assert.equal(decision.kind, 'rest', `expected rest, got ${text(decision)}`);
}

/** In one word: `rest`, the code of a refusal, or the kind of the next step. */
export function text(decision: Decision): string {
  switch (decision.kind) {
    case 'rest':
      return 'rest';
    case 'blocked':
      return decision.code;
    case 'step':
      return decision.step.kind;
  }
}

/** Lets every planned step have its foreseen effect until the plan wants nothing more. */
export function follow<H extends ObservedHost>(host: H, plan: (host: H) => Decision): Followed<H> {
  const steps: Step[] = [];
  let view = host;
  for (;;) {
    const end = plan(view);
    if (end.kind !== 'step') return { steps, end, host: view };
    assert.ok(steps.length < limits.passesMax, `no rest after ${steps.length} steps: ${text(end)}`);
    steps.push(end.step);
    view = predict(view, end.step);
  }
}

export type Followed<H> = {
  readonly steps: readonly Step[];
  readonly end: Decision;
  readonly host: H;
};
