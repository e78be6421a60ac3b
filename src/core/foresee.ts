import type { FailureCode } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { DesiredNode } from './node.ts';
import type { ObservedHost, ObservedNode } from './observed.ts';
import { predict } from './predict.ts';
import type { Decision, Step } from './step.ts';
import { planThinPool } from './thin-pool/plan.ts';
import { planVolumeGroup } from './volume-group/plan.ts';

/** All the steps a plan would take, as far as their effects can be foreseen. Nothing is run. */
export function foreseeSteps<H extends ObservedHost>(
  host: H,
  plan: (host: H) => Decision,
): { readonly steps: readonly Step[]; readonly end: Decision; readonly host: H } {
  const steps: Step[] = [];
  let view = host;
  for (;;) {
    const decision = plan(view);
    const isEndless = steps.length >= passesMaxOn(view);
    if (decision.kind !== 'step' || isEndless) return { steps, end: decision, host: view };
    steps.push(decision.step);
    view = predict(view, decision.step);
  }
}

/** A plan that takes more steps is a bug: a disk and each of its partitions may be cleared. */
export function passesMaxOn(host: ObservedHost): number {
  const { devices = [] } = host as Partial<ObservedNode>;
  return limits.passesMax + devices.length;
}

export type Foreseen = {
  readonly steps: readonly Step[];
  /** What could not be, and why. */
  readonly blocks: readonly Block[];
  readonly node: ObservedNode;
};

export type Block = { readonly what: string; readonly code: FailureCode; readonly message: string };

/** What would be done to bring a node to what is wanted: groups first, and then their pools. */
export function foreseeNode(desired: Wanted, observed: ObservedNode): Foreseen {
  const steps: Step[] = [];
  const blocks: Block[] = [];
  let node = observed;
  const foresee = (what: string, planOne: (host: ObservedNode) => Decision) => {
    const { steps: more, end, host } = foreseeSteps(node, planOne);
    steps.push(...more);
    node = host;
    if (end.kind === 'blocked') blocks.push({ what, code: end.code, message: end.message });
  };
  for (const vg of desired.volumeGroups) {
    const others = desired.volumeGroups.filter((other) => other !== vg);
    foresee(`volume group ${vg.name}`, (host) => planVolumeGroup(vg, host, others));
  }
  for (const pool of desired.thinPools) {
    foresee(`thin pool ${pool.vg}/${pool.name}`, (host) => planThinPool(pool, host));
  }
  return { steps, blocks, node };
}

type Wanted = Pick<DesiredNode, 'volumeGroups' | 'thinPools'>;
