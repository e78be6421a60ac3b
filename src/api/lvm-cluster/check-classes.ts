import { show, showList } from '../../base/show.ts';
import type { LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { Node } from '../objects/storage.ts';
import { isSameJson } from '../same.ts';
import { classField, type Findings } from './findings.ts';
import { isSelected, mayOverlap } from './nodes.ts';
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
  classes.forEach((one, index) => {
    checkRepeated(one, findings);
    for (const other of classes.slice(0, index)) checkContested(one, other, nodes, findings);
  });
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
function checkContested(
  one: LvmDeviceClass,
  other: LvmDeviceClass,
  nodes: readonly Node[],
  findings: Findings,
): void {
  const theirs = new Set(pathsOf(other).map(({ path }) => path));
  const contested = pathsOf(one).filter(({ path }) => theirs.has(path));
  const [first] = contested;
  if (first === undefined) return;
  const field = classField(one.name, first.field);
  if (isSameJson(one.nodeSelector, other.nodeSelector)) {
    const remedy = `name it in one class: ${other.name} has it on the same nodes`;
    findings.refuse(field, first.path, remedy);
    return;
  }
  const both = nodes.filter(
    (node) => isSelected(node, one.nodeSelector) && isSelected(node, other.nodeSelector),
  );
  if (both.length > 0) {
    const names = showList(both.map(({ metadata }) => metadata.name).toSorted());
    const where = `${other.name} has it on ${names} too`;
    const remedy = `name it in one class, or part their nodes: ${where}`;
    findings.refuseNew(field, first.path, remedy);
  } else if (mayOverlap(one.nodeSelector, other.nodeSelector)) {
    findings.warn(
      `${field} is ${show(first.path)}: ${other.name} names it too, and a node with the labels of \
both classes would give it to one of them only`,
    );
  }
}
