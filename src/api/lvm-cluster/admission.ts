import { showFew } from '../../base/show.ts';
import { showProblem } from '../decode.ts';
import type { LvmCluster } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../objects/lvm-volume-group.ts';
import { isSameJson } from '../same.ts';
import { checkCreation, checkUpdate, classesOf, type Surroundings } from './check.ts';
import { checkClass } from './check-class.ts';
import { type AddOperation, discoveryDefaults, policyDefault } from './defaults.ts';
import { Findings } from './findings.ts';
import { whyUnasked } from './unasked.ts';

/** What an API server asks before it takes an object. */
export type AdmissionRequest<T> = {
  readonly operation: string;
  /** Missing when it is deleted. */
  readonly object?: T | null;
  /** Missing when it is made. */
  readonly oldObject?: T | null;
};

export type Verdict = {
  readonly isAllowed: boolean;
  readonly message: string;
  readonly warnings: readonly string[];
  readonly patch: readonly AddOperation[];
};

export type AdmissionView = Surroundings & {
  readonly isMicroShift: boolean;
  /** What keeps these classes from going, in words: claims and retained volumes. */
  readonly inTheWay: (classes: readonly string[]) => readonly string[];
};

const allowed: Verdict = { isAllowed: true, message: '', warnings: [], patch: [] };

export function fillInCluster(
  { operation, object }: AdmissionRequest<LvmCluster>,
  { isMicroShift }: Pick<AdmissionView, 'isMicroShift'>,
): Verdict {
  if (object === undefined || object === null) return allowed;
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  const discovery = operation === 'CREATE' ? discoveryDefaults(object) : [];
  const policy = isMicroShift && !isGoing ? policyDefault(object) : [];
  return { ...allowed, patch: [...discovery, ...policy] };
}

export function judgeCluster(
  { operation, object, oldObject }: AdmissionRequest<LvmCluster>,
  view: AdmissionView,
): Verdict {
  if (operation === 'DELETE') return judgeDeletion(oldObject ?? undefined, view);
  if (object === undefined || object === null) return allowed;
  if (oldObject === undefined || oldObject === null) return verdictOf(checkCreation(object, view));
  // Marks and the end of what is going already are no changes of what is wanted.
  const isGoing = object.metadata.deletionTimestamp !== undefined;
  if (isGoing || isSameJson(oldObject.spec ?? {}, object.spec ?? {})) return allowed;
  const findings = checkUpdate(oldObject, object, view);
  const kept = new Set(classesOf(object).map(({ name }) => name));
  const gone = classesOf(oldObject)
    .map(({ name }) => name)
    .filter((name) => !kept.has(name));
  for (const name of gone) {
    const volumes = view.inTheWay([name]);
    if (volumes.length === 0) continue;
    const remedy = `keep it until they are deleted: it holds ${showFew(volumes)}`;
    findings.refuse(`spec.storage.deviceClasses[${name}]`, undefined, remedy);
  }
  return verdictOf(findings);
}

function judgeDeletion(cluster: LvmCluster | undefined, view: AdmissionView): Verdict {
  if (cluster === undefined) return allowed;
  const volumes = view.inTheWay(classesOf(cluster).map(({ name }) => name));
  if (volumes.length === 0) return allowed;
  const message = `LVMCluster ${cluster.metadata.name} cannot be deleted: it holds \
${showFew(volumes)}; delete these first`;
  return { ...allowed, isAllowed: false, message };
}

/**
 * Agents act by it, so it has to be what its LVMCluster asks for, and is looked at as closely.
 * `cluster` is the one that is acted upon, if there is one.
 */
export function judgeVolumeGroup(
  { operation, object, oldObject }: AdmissionRequest<LvmVolumeGroup>,
  cluster: LvmCluster | undefined,
): Verdict {
  if (operation === 'DELETE') return judgeGroupDeletion(oldObject?.metadata.name ?? '', cluster);
  if (object === undefined || object === null) return allowed;
  const { name } = object.metadata;
  const old = oldObject ?? undefined;
  // Marks, and the end of what is going, are no changes of what is wanted.
  if (old !== undefined && isSameJson(old.spec ?? {}, object.spec ?? {})) return allowed;
  if (object.spec === undefined || object.spec === null) {
    const message = `LVMVolumeGroup ${name} has no spec: name the class in the LVMCluster instead`;
    return { ...allowed, isAllowed: false, message };
  }
  const unasked = whyUnasked(name, object.spec, old, cluster);
  const known = old?.spec === undefined ? [] : problemsOf({ name, ...old.spec });
  const findings = new Findings();
  checkClass({ name, ...object.spec }, findings);
  const unfit = findings.problems.filter(
    (problem) => !problem.isStrict || !known.includes(showProblem(problem)),
  );
  return verdictOf({ problems: [...unasked, ...unfit], warnings: [] });
}

/** The group of a class goes with it, and not by itself. */
function judgeGroupDeletion(name: string, cluster: LvmCluster | undefined): Verdict {
  const isGoing = cluster?.metadata.deletionTimestamp !== undefined;
  const isWanted = !isGoing && isNamed(name, cluster);
  if (!isWanted) return allowed;
  const remedy = `take the device class ${name} out of the LVMCluster instead`;
  const message = `LVMVolumeGroup ${name} cannot be deleted: ${remedy}`;
  return { ...allowed, isAllowed: false, message };
}

function isNamed(deviceClass: string, cluster: LvmCluster | undefined): boolean {
  return cluster !== undefined && classesOf(cluster).some(({ name }) => name === deviceClass);
}

function problemsOf(group: Parameters<typeof checkClass>[0]): readonly string[] {
  const findings = new Findings();
  checkClass(group, findings);
  return findings.problems.map(showProblem);
}

function verdictOf({ problems, warnings }: Pick<Findings, 'problems' | 'warnings'>): Verdict {
  if (problems.length === 0) return { ...allowed, warnings: shortened(warnings) };
  const message = shortened(problems.map(showProblem)).join('; ');
  return { ...allowed, isAllowed: false, message, warnings: shortened(warnings) };
}

const textsMax = 20;
const textMax = 1_000;

/** Nobody reads more, and the answer has to go through a door as well. */
function shortened(texts: readonly string[]): readonly string[] {
  const shown = texts.slice(0, textsMax).map((text) => text.slice(0, textMax));
  const more = texts.length - shown.length;
  return more === 0 ? shown : [...shown, `and ${more} more`];
}
