import { show } from '../../base/show.ts';
import type { LvmCluster } from '../objects/lvm-cluster.ts';
import type { LvmVolumeGroup, LvmVolumeGroupSpec } from '../objects/lvm-volume-group.ts';
import { isSameJson } from '../same.ts';
import { askedOf } from './asked.ts';
import { classesOf } from './check.ts';
import { type Finding, Findings } from './findings.ts';
import { volumeGroupOf } from './volume-group.ts';

/**
 * How a group differs from what its LVMCluster asks for. Whatever it was before, the way to that is
 * open: who altered it while nobody judged, or the operator, can set it right.
 */
export function whyUnasked(
  name: string,
  spec: LvmVolumeGroupSpec,
  old: LvmVolumeGroup | undefined,
  cluster: LvmCluster | undefined,
): readonly Finding[] {
  const findings = new Findings();
  const wanted = cluster === undefined ? [] : specsFor(name, old, cluster);
  const [first] = wanted;
  if (cluster === undefined || first === undefined) {
    // A class that is gone and holds volumes is not the default any more.
    if (old === undefined || !isSameJson(withoutDefault(old.spec), spec)) {
      refuseUnknown({ name, spec, old, cluster }, findings);
    }
  } else if (!wanted.some((one) => isSameJson(one, spec))) {
    refuseUnlike(name, spec, { wanted: first, cluster }, findings);
  }
  return findings.problems;
}

/** Nothing for a class that it does not have. An operator before ours wrote what the class says. */
function specsFor(
  name: string,
  old: LvmVolumeGroup | undefined,
  cluster: LvmCluster,
): readonly LvmVolumeGroupSpec[] {
  const one = classesOf(cluster).find((each) => each.name === name);
  const isGoing = cluster.metadata.deletionTimestamp !== undefined;
  if (one === undefined || (isGoing && old === undefined)) return [];
  if (old !== undefined) return [volumeGroupOf(cluster, one, askedOf(old))];
  return [volumeGroupOf(cluster, one, undefined), volumeGroupOf(cluster, one, {})];
}

function withoutDefault(spec: LvmVolumeGroupSpec = {}): LvmVolumeGroupSpec {
  const { default: _default, ...others } = spec;
  return others;
}

type Unknown = {
  readonly name: string;
  readonly spec: LvmVolumeGroupSpec;
  readonly old: LvmVolumeGroup | undefined;
  readonly cluster: LvmCluster | undefined;
};

function refuseUnknown({ name, spec, old, cluster }: Unknown, findings: Findings): void {
  const where = cluster === undefined ? 'an LVMCluster' : `the LVMCluster ${cluster.metadata.name}`;
  const isGoing = cluster?.metadata.deletionTimestamp !== undefined;
  const remedy = isGoing
    ? `wait until ${where} is deleted, and make one with this device class`
    : `name it as a device class in ${where} instead: no other group is made on nodes`;
  if (old === undefined) findings.refuse('LVMVolumeGroup metadata.name', name, remedy);
  else findings.refuse(`LVMVolumeGroup ${name} spec`, spec, `leave it as it is, or ${remedy}`);
}

function refuseUnlike(
  name: string,
  spec: LvmVolumeGroupSpec,
  { wanted, cluster }: { readonly wanted: LvmVolumeGroupSpec; readonly cluster: LvmCluster },
  findings: Findings,
): void {
  const keys = new Set([...Object.keys(wanted), ...Object.keys(spec)]) as Set<
    keyof LvmVolumeGroupSpec
  >;
  for (const key of [...keys].toSorted()) {
    if (isSameJson(wanted[key], spec[key])) continue;
    const to = wanted[key] === undefined ? 'leave it out' : `write ${show(wanted[key])}`;
    const where = `the device class ${name} of the LVMCluster ${cluster.metadata.name}`;
    const remedy = `${to}, as ${where} asks for it, or change it there`;
    findings.refuse(`LVMVolumeGroup ${name} spec.${key}`, spec[key], remedy);
  }
}
