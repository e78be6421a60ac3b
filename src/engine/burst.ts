import { limits } from '../base/limits.ts';
import type { ObservedHost } from '../core/observed.ts';
import { needsLook } from '../core/stale.ts';
import { type ChangeTags, isPlainRetag, type Step, sameRetag } from '../core/step.ts';
import type { Job } from './job.ts';

/** Who a step is for. */
export type Part = { readonly job: Job; readonly step: Step };

/**
 * Which of those who wait come next. Whoever makes something comes before whoever only takes marks
 * off: many of those cost one command together, and more of them come meanwhile. None is passed
 * over for ever.
 */
export function chooseBurst(waiting: readonly Job[]): readonly Job[] {
  const first = waiting.filter(({ task }) => task.mayWait !== true);
  const left = limits.passedByMax - Math.max(...waiting.map(({ passedBy }) => passedBy));
  const burst = first.length === 0 || left <= 0 ? waiting : first;
  const most = burst === first ? Math.min(left, limits.burstLengthMax) : limits.burstLengthMax;
  const chosen = burst.slice(0, most);
  if (burst === first) {
    for (const job of waiting) if (job.task.mayWait === true) job.passedBy += chosen.length;
  }
  return chosen;
}

/** The same change of tags, wanted by several: one command does it to all of their volumes. */
export function together(
  first: Part,
  jobs: readonly Job[],
  host: ObservedHost,
): readonly [Part, ...Part[]] {
  const { job, step } = first;
  if (!isPlainRetag(step) || job.isAlone) return [first];
  const others = jobs
    .filter((other) => other !== job && !other.isDone && !other.isAway && !other.isAlone)
    .filter(({ failure }) => failure === undefined)
    .flatMap((other) => partOf(other, step, host));
  // Two may want it of one volume.
  const seen = new Set([step.lvUuid]);
  return [first, ...others.filter(({ step: { lvUuid } }) => seen.size < seen.add(lvUuid).size)];
}

function partOf(job: Job, wanted: ChangeTags, host: ObservedHost) {
  const decision = job.task.plan(host);
  if (decision.kind !== 'step' || needsLook(decision.step)) return [];
  const { step } = decision;
  return isPlainRetag(step) && sameRetag(step, wanted) ? [{ job, step }] : [];
}
