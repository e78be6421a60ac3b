import { type Finding, type FindingCode, findings, showObject } from './finding.ts';
import type { ClusterPicture } from './picture.ts';
import { clusterRules } from './rules-clusters.ts';
import { groupRules } from './rules-groups.ts';
import { volumeRules } from './rules-volumes.ts';
import { workloadRules } from './rules-workloads.ts';

const rules = [...workloadRules, ...clusterRules, ...groupRules, ...volumeRules];

/** What is wrong in a cluster, causes first. Of what was not seen nothing is said. */
export function diagnose(picture: ClusterPicture): readonly Finding[] {
  const unseen = new Set(picture.unseen.map(({ part }) => part));
  return rules
    .filter(({ needs }) => !needs.some((part) => unseen.has(part)))
    .flatMap(({ judge }) => judge(picture))
    .toSorted(inOrder);
}

const order = Object.keys(findings) as readonly FindingCode[];

function inOrder(one: Finding, other: Finding): number {
  const byCode = order.indexOf(one.code) - order.indexOf(other.code);
  if (byCode !== 0) return byCode;
  return keyOf(one) < keyOf(other) ? -1 : 1;
}

function keyOf({ object, node = '', what }: Finding): string {
  return `${showObject(object)} ${node} ${what}`;
}
