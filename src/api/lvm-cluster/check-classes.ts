import { limits } from '../../base/limits.ts';
import { show, showFew } from '../../base/show.ts';
import type { LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { Node } from '../objects/storage.ts';
import { isSameJson } from '../same.ts';
import { Effort } from './effort.ts';
import { classField, type Findings } from './findings.ts';
import { isSelected, requirementsOf } from './nodes.ts';
import { mayOverlap } from './overlap.ts';
import { pathsOf } from './paths.ts';

/** What can be said of device classes together. */
export function checkClasses(
  classes: readonly LvmDeviceClass[],
  nodes: readonly Node[],
  findings: Findings,
): void {
  checkDefault(classes, findings);
  checkGreedy(classes, findings);
  checkPaths(classes, nodes, findings);
}

function checkDefault(classes: readonly LvmDeviceClass[], findings: Findings): void {
  const defaults = classes.filter((one) => one.default === true).map(({ name }) => name);
  if (defaults.length > 1) {
    const remedy = 'let one class be the default';
    findings.refuse('spec.storage.deviceClasses', defaults, remedy);
  }
  if (classes.length > 0 && defaults.length === 0) {
    findings.warn(
      'no device class is the default: claims that name no StorageClass get no volume of ours',
    );
  }
}

function checkGreedy(classes: readonly LvmDeviceClass[], findings: Findings): void {
  const greedy = classes.filter((one) => one.deviceSelector === undefined);
  const [first] = greedy;
  if (first === undefined) return;
  if (classes.length === 1) {
    findings.warn(
      `${classField(first.name, 'deviceSelector')} is missing: every disk that nobody uses is taken`,
    );
    return;
  }
  for (const { name } of greedy) {
    const remedy = 'name devices: a class without them takes every disk, also from the others';
    findings.refuse(classField(name, 'deviceSelector'), undefined, remedy);
  }
}

function checkPaths(
  classes: readonly LvmDeviceClass[],
  nodes: readonly Node[],
  findings: Findings,
): void {
  const effort = new Effort(limits.comparisonsMax);
  const known = classes.map((one) => ({ one, named: pathsOf(one), nodes: nodesOnce(one, nodes) }));
  known.forEach((mine, index) => {
    checkRepeated(mine.one, findings);
    const own = new Set(mine.named.map(({ path }) => path));
    for (const theirs of known.slice(0, effort.isSpent ? 0 : index)) {
      effort.spend(1 + theirs.named.length);
      if (effort.isSpent) break;
      if (theirs.named.some(({ path }) => own.has(path))) {
        checkContested(mine, theirs, effort, findings);
      }
    }
  });
  if (!effort.isSpent) return;
  const remedy =
    'write fewer classes and shorter node selectors: these are too many to be compared';
  findings.refuseNew('spec.storage.deviceClasses', classes.length, remedy);
}

type Known = {
  readonly one: LvmDeviceClass;
  readonly named: ReturnType<typeof pathsOf>;
  /** Names of the nodes that are meant. */
  readonly nodes: (effort: Effort) => ReadonlySet<string>;
};

/** Looked for once for each class, and only where somebody asks. */
function nodesOnce({ nodeSelector }: LvmDeviceClass, nodes: readonly Node[]): Known['nodes'] {
  let found: ReadonlySet<string> | undefined;
  return (effort) => {
    if (found !== undefined) return found;
    const terms = nodeSelector?.nodeSelectorTerms ?? [];
    const size = terms
      .flatMap(requirementsOf)
      .reduce((sum, { values = [] }) => sum + 1 + values.length, 1);
    effort.spend(size * nodes.length);
    const meant = effort.isSpent ? [] : nodes.filter((node) => isSelected(node, nodeSelector));
    found = new Set(meant.map(({ metadata }) => metadata.name));
    return found;
  };
}

function checkRepeated(one: LvmDeviceClass, findings: Findings): void {
  const seen = new Set<string>();
  for (const { field, path } of pathsOf(one)) {
    if (seen.has(path)) {
      findings.refuse(classField(one.name, field), path, 'name each device once');
    }
    seen.add(path);
  }
}

/** A disk can be in one volume group only. */
function checkContested(mine: Known, theirs: Known, effort: Effort, findings: Findings): void {
  const [{ one }, { one: other }] = [mine, theirs];
  const named = new Set(theirs.named.map(({ path }) => path));
  const first = mine.named.find(({ path }) => named.has(path));
  if (first === undefined) return;
  const field = classField(one.name, first.field);
  if (isSameJson(one.nodeSelector, other.nodeSelector)) {
    const remedy = `name it in one class: ${other.name} has it on the same nodes`;
    findings.refuse(field, first.path, remedy);
    return;
  }
  const [own, rival] = [mine.nodes(effort), theirs.nodes(effort)];
  // Each is looked for, and those that are found are put in order.
  effort.spend(own.size * 10);
  if (effort.isSpent) return;
  const both = [...own].filter((name) => rival.has(name));
  if (both.length > 0) {
    const where = `${other.name} has it on ${showFew(both.toSorted())} too`;
    const remedy = `name it in one class, or part their nodes: ${where}`;
    findings.refuseNew(field, first.path, remedy);
  } else if (mayOverlap(one.nodeSelector, other.nodeSelector, effort) && !effort.isSpent) {
    findings.warn(
      `${field} is ${show(first.path)}: ${other.name} names it too, and a node with the labels of \
both classes would give it to one of them only`,
    );
  }
}
