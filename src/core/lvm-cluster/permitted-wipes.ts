import { planWipes, type Wipes } from '../device/wipes.ts';
import type { DesiredNode } from '../node.ts';
import type { ObservedNode } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';

export type PermittedWipes = {
  /** With the disks that may be wiped now. */
  readonly desired: DesiredNode;
  /** What has to be written down before. */
  readonly wipes: Wipes;
  /** Why others are not wiped, by the name of the group. */
  readonly kept: ReadonlyMap<string, readonly string[]>;
};

/** A disk is wiped by itself once, whatever becomes of its class and of its node. */
export function permittedWipes(
  desired: DesiredNode,
  node: ObservedNode,
  before: Wipes,
): PermittedWipes {
  let wipes = before;
  const kept = new Map<string, readonly string[]>();
  const volumeGroups = desired.volumeGroups.map((vg): DesiredVg => {
    if (vg.selector.kind === 'any' || !vg.selector.forceWipe) return vg;
    const others = desired.volumeGroups.filter((other) => other !== vg);
    const plan = planWipes(vg, { node, others }, wipes);
    wipes = plan.wipes;
    kept.set(vg.name, plan.kept.map(keptText));
    return { ...vg, selector: { ...vg.selector, onlyWipe: plan.allowed } };
  });
  return { desired: { ...desired, volumeGroups }, wipes, kept };
}

/** What is on a disk that was wiped once came after that. */
function keptText(path: string): string {
  const remedy = `look what is on it, and clear it yourself with wipefs --all ${path}`;
  return `${path} was wiped once and is not wiped again: ${remedy}`;
}
