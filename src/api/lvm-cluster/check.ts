import { show, showList } from '../../base/show.ts';
import type { LvmCluster, LvmDeviceClass, LvmStorageClassOptions } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroupNodeStatus } from '../objects/lvm-volume-group.ts';
import type { Node } from '../objects/storage.ts';
import { isSameJson } from '../same.ts';
import { fileSystemOf } from './access.ts';
import { checkClassChange, checkNaming, unchanging } from './check-change.ts';
import { checkClass } from './check-class.ts';
import { checkClasses } from './check-classes.ts';
import { classField, type Finding, Findings } from './findings.ts';

/** What the cluster is like around the object. */
export type Surroundings = {
  /** Where the operator is, and where alone it looks. */
  readonly namespace: string;
  /** Other LVMClusters there. */
  readonly others: readonly string[];
  readonly nodes: readonly Node[];
  readonly reports: readonly LvmVolumeGroupNodeStatus[];
};

/** Is it right by itself? This is asked again before anything is written. */
export function checkCluster(cluster: Pick<LvmCluster, 'spec'>, nodes: readonly Node[]): Findings {
  const findings = new Findings();
  const classes = classesOf(cluster);
  const isExternal = cluster.spec?.configurationPolicy === 'ExternalConfiguration';
  if (isExternal && classes.length > 0) {
    const remedy =
      'leave the classes out: with configurationPolicy ExternalConfiguration lvmd.yaml on each \
node says what there is';
    findings.refuse('spec.storage.deviceClasses', namesOf(classes), remedy);
  }
  for (const one of classes) checkClass(one, findings);
  checkClasses(classes, nodes, findings);
  return findings;
}

export function checkCreation(cluster: LvmCluster, around: Surroundings): Findings {
  const findings = checkCluster(cluster, around.nodes);
  const { namespace = '' } = cluster.metadata;
  if (namespace !== around.namespace) {
    const remedy = `make it in ${around.namespace}, where the operator looks for it`;
    findings.refuse('metadata.namespace', namespace, remedy);
  } else if (around.others.length > 0) {
    const remedy = `change ${showList(around.others)} instead: there can be one LVMCluster only`;
    findings.refuse('metadata.name', cluster.metadata.name, remedy);
  }
  if (saysNothing(cluster)) refuseNothing(findings);
  else checkSomething(cluster, findings);
  return findings;
}

/** What is to be made must be named. One that says nothing at all is another thing. */
export function checkSomething(cluster: Pick<LvmCluster, 'spec'>, findings: Findings): void {
  const isManaged = cluster.spec?.configurationPolicy === 'Managed';
  if (isManaged && classesOf(cluster).length === 0) refuseNothing(findings);
}

function refuseNothing(findings: Findings): void {
  const remedy =
    'name at least one class, or write ExternalConfiguration for spec.configurationPolicy when \
lvmd.yaml on each node is yours';
  findings.refuse('spec.storage.deviceClasses', undefined, remedy);
}

/** `reports` are what the agents tell of their groups. */
export function checkUpdate(
  was: LvmCluster,
  is: LvmCluster,
  { nodes, reports }: Pick<Surroundings, 'nodes' | 'reports'>,
): Findings {
  const findings = new Findings();
  const found = checkCluster(is, nodes);
  const before = new Set(checkCluster(was, nodes).problems.map(keyOf));
  for (const problem of found.problems) {
    // What is there already may stay; it is told, and no update is refused for it.
    if (!problem.isStrict || !before.has(keyOf(problem))) findings.problems.push(problem);
    else findings.warn(`${problem.field} is ${show(problem.value)}: ${problem.remedy}`);
  }
  findings.warnings.push(...found.warnings);
  checkPolicyChange(was, is, findings);
  if (saysNothing(was)) checkSomething(is, findings);
  checkRemoval(classesOf(was), classesOf(is), findings);
  for (const one of classesOf(is)) {
    const old = classesOf(was).find(({ name }) => name === one.name);
    if (old === undefined) continue;
    checkClassChange(old, one, findings);
    checkClassOptions(old, one, findings);
    checkNaming(old, one, reports, findings);
  }
  return findings;
}

/** A path may stand in another place of its list by now. */
export function keyOf({ field, value }: Finding): string {
  return `${field.replaceAll(/\[\d+\]/g, '')} ${show(value)}`;
}

export function classesOf({ spec }: Pick<LvmCluster, 'spec'>): readonly LvmDeviceClass[] {
  return spec?.storage?.deviceClasses ?? [];
}

/** Nothing is to be made: lvmd.yaml on each node says what there is. */
export function isUnmanaged(cluster: Pick<LvmCluster, 'spec'>): boolean {
  return classesOf(cluster).length === 0 && cluster.spec?.configurationPolicy !== 'Managed';
}

/** Neither who writes lvmd.yaml, nor what stands in it. */
export function saysNothing(cluster: Pick<LvmCluster, 'spec'>): boolean {
  return classesOf(cluster).length === 0 && cluster.spec?.configurationPolicy === undefined;
}

function namesOf(classes: readonly LvmDeviceClass[]): readonly string[] {
  return classes.map(({ name }) => name);
}

function checkPolicyChange(was: LvmCluster, is: LvmCluster, findings: Findings): void {
  const before = was.spec?.configurationPolicy ?? 'Managed';
  const after = is.spec?.configurationPolicy ?? 'Managed';
  // One that said nothing, as LVMS has it on MicroShift, left lvmd.yaml to its administrator.
  if (before === after || (saysNothing(was) && after === 'ExternalConfiguration')) return;
  const remedy = `keep it at ${before}: delete the LVMCluster and make it anew to change it`;
  findings.refuse('spec.configurationPolicy', after, remedy);
}

function checkRemoval(
  was: readonly LvmDeviceClass[],
  is: readonly LvmDeviceClass[],
  findings: Findings,
): void {
  const gone = was.filter(({ name }) => !namesOf(is).includes(name));
  if (was.length > 0 && is.length === 0) {
    const remedy = 'leave at least one class, or delete the LVMCluster';
    findings.refuse('spec.storage.deviceClasses', undefined, remedy);
    return;
  }
  const isNamed = is.some((one) => one.default === true);
  // One that is alone is the default without saying so.
  const isOnly = was.length === 1 && !isNamed;
  for (const { name, default: isDefault } of gone) {
    if (isDefault === true || isOnly) refuseDefaultGone(name, findings);
  }
}

export function refuseDefaultGone(name: string, findings: Findings): void {
  const remedy = 'leave it, or let another class be the default first';
  findings.refuse(classField(name), undefined, remedy);
}

/** The schema keeps these from changing, but not from being filled in later. */
function checkClassOptions(was: LvmDeviceClass, is: LvmDeviceClass, findings: Findings): void {
  const before = optionsOf(was.storageClassOptions);
  const after = optionsOf(is.storageClassOptions);
  for (const key of Object.keys(before) as (keyof typeof before)[]) {
    if (isSameJson(before[key], after[key])) continue;
    const field = classField(is.name, `storageClassOptions.${key}`);
    findings.refuse(field, after[key], unchanging(before[key]));
  }
  const [had, has] = [fileSystemOf(was), fileSystemOf(is)];
  if (had !== has) findings.refuse(classField(is.name, 'fstype'), has, unchanging(had));
}

function optionsOf(options: LvmStorageClassOptions = {}) {
  return {
    reclaimPolicy: options.reclaimPolicy ?? 'Delete',
    volumeBindingMode: options.volumeBindingMode ?? 'WaitForFirstConsumer',
    additionalParameters: options.additionalParameters ?? {},
  };
}
