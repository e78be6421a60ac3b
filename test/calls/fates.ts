import assert from 'node:assert/strict';
import type { Answer, Death, StepRun } from './protocol.ts';
import type { Scenario } from './scenarios.ts';
import { type Books, type RpcStage, steady } from './stage.ts';

/** A call that nobody disturbed: what it answered, which programs it took, and how long. */
export type Reference = {
  readonly answer: unknown;
  readonly books: Books;
  readonly runs: readonly StepRun[];
  readonly ms: number;
};

export async function learn(stage: RpcStage, scenario: Scenario): Promise<Reference> {
  const why = `${scenario.name}, undisturbed`;
  await stage.before(scenario);
  await stage.remote.arm({ when: 'never' });
  const startedMs = performance.now();
  const response = await stage.must(scenario.ask, why);
  const ms = performance.now() - startedMs;
  const { runs } = await stage.remote.steps();
  const answer = stage.plain(response);
  const books = await stage.check(scenario, why);
  await stage.cleanUp(scenario, why);
  return { answer, books, runs, ms };
}

/**
 * The same call once more must succeed with the answer that it would have given undisturbed, and
 * again with exactly that one; then everything is as if nothing had happened.
 */
export async function repeat(
  stage: RpcStage,
  scenario: Scenario,
  expected: Pick<Reference, 'answer' | 'books'>,
  why: string,
  more: { readonly told?: Answer | undefined; readonly beforeCheck?: () => Promise<void> } = {},
): Promise<void> {
  const response = await stage.must(scenario.ask, why);
  assert.deepEqual(stage.plain(response), expected.answer, why);
  if (more.told?.code === 'OK') {
    assert.deepEqual(steady(response), steady(more.told.response), `${why}: what was told holds`);
  }
  const again = await stage.must(scenario.ask, `${why}, once more`);
  assert.deepEqual(steady(again), steady(response), `${why}: the answer is the same`);
  await more.beforeCheck?.();
  const books = await stage.check(scenario, why);
  assert.deepEqual(books.mibByLv, expected.books.mibByLv, `${why}: sizes`);
  await stage.cleanUp(scenario, why);
}

/** Kills at one point of a call. Did it tear a program? */
export async function survive(
  stage: RpcStage,
  scenario: Scenario,
  death: Death,
  reference: Reference,
): Promise<boolean> {
  const why = `${scenario.name}, ${show(death, reference)}`;
  await stage.before(scenario);
  await stage.remote.arm(death);
  const answer = await stage.ask(scenario.ask);
  const { wasTorn } = await stage.remote.steps();
  // A driver that lives may have found out by itself that nothing is missing.
  if (death.when !== 'program') {
    assert.equal(answer.code, 'UNAVAILABLE', `${why}: it must die: ${answer.message}`);
    await stage.remote.mourn();
    await stage.remote.arm({ when: 'never' });
    await stage.remote.serve();
  }
  await stage.remote.arm({ when: 'never' });
  await repeat(stage, scenario, reference, why, { told: answer });
  return wasTorn;
}

function show({ when, nth }: Death, { runs }: Reference): string {
  return `${when} ${nth} of ${runs.length} (${runs[nth - 1]?.argv.split(' --')[0]})`;
}
