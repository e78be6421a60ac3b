import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { LvmVolumeGroup } from '../../src/api/objects/lvm-volume-group.ts';
import type { StorageClass } from '../../src/api/objects/storage.ts';
import type { Machine } from '../cluster/machine.ts';
import type { ClusterStage } from '../cluster/stage.ts';
import { isEqual } from '../kube/fake-api-rules.ts';
import type { Device } from '../world/model.ts';
import { strangeProvisioner } from './lvms-admin.ts';
import { standingFindings } from './lvms-proofs.ts';
import type { LvmsRules } from './lvms-rules.ts';
import {
  classesIn,
  clustersOf,
  groupsOf,
  isMeant,
  type Naming,
  namedBy,
  reportsOf,
  vgOn,
  volumesIn,
} from './lvms-truth.ts';

/** At rest an LVMCluster is as it is wanted, or says why not, and that is so. */
export function restFindings(stage: ClusterStage, rules: LvmsRules): readonly string[] {
  const [cluster, ...others] = clustersOf(stage);
  const second = others.flatMap((other) => {
    const said = conditionOf(other, 'ResourcesAvailable')?.message ?? '';
    return said.includes('there can be one LVMCluster only')
      ? []
      : [`the LVMCluster ${other.metadata.name} is one too many, and nobody says so`];
  });
  if (cluster === undefined) return leftovers(stage);
  const isGoing = cluster.metadata.deletionTimestamp !== undefined;
  return [
    ...(isGoing ? goingFindings(stage, cluster) : livingFindings(stage, cluster, rules)),
    ...second,
  ];
}

/** Where there is no LVMCluster nothing of one is left. */
function leftovers(stage: ClusterStage): readonly string[] {
  const { admin } = stage;
  return [
    ...groupsOf(stage).map(({ metadata }) => `the LVMVolumeGroup ${metadata.name} is left`),
    ...reportsOf(stage).map(({ metadata }) => `the report of ${metadata.name} is left`),
    ...[...admin.classes.filter((one) => !isStrange(one)), ...admin.snapshotClasses]
      .filter(({ metadata }) => metadata.name.startsWith('lvms-'))
      .map(({ metadata }) => `the class ${metadata.name} is left`),
  ];
}

function isStrange(one: StorageClass | undefined): boolean {
  return one?.provisioner === strangeProvisioner;
}

/** It was made for a class that was otherwise, and stays while volumes are in it. */
function isOther(found: StorageClass | undefined, cluster: LvmCluster, name: string): boolean {
  const one = classesIn(cluster).find((each) => each.name === name);
  const { reclaimPolicy = 'Delete', volumeBindingMode = 'WaitForFirstConsumer' } =
    one?.storageClassOptions ?? {};
  return (
    isStrange(found) ||
    found?.reclaimPolicy !== reclaimPolicy ||
    found.volumeBindingMode !== volumeBindingMode ||
    found.parameters?.['csi.storage.k8s.io/fstype'] !== (one?.fstype ?? 'xfs')
  );
}

function conditionOf({ status }: LvmCluster, type: string) {
  return status?.conditions?.find((one) => one.type === type);
}

function livingFindings(
  stage: ClusterStage,
  cluster: LvmCluster,
  rules: LvmsRules,
): readonly string[] {
  const { status } = cluster;
  const resources = conditionOf(cluster, 'ResourcesAvailable');
  if (resources === undefined || status === undefined) return ['the LVMCluster has no status'];
  const lines = resources.status === 'True' ? [] : resources.message.split('\n');
  const unproven = lines
    .filter((line) => !isProven({ stage, cluster, rules }, line))
    .map((line) => `the LVMCluster says what is not so: ${line}`);
  const standing = classesIn(cluster).flatMap((one) =>
    classFindings({ stage, cluster, rules }, one, lines),
  );
  const { isWell, isAll } = standOf(stage, cluster);
  const isReady = isAll && isWell && lines.length === 0;
  const isSaid = status.state === 'Ready' && status.ready === true;
  // Without classes lvmd.yaml of each node says what there is, and may be missing.
  const isTold = isReady === isSaid || classesIn(cluster).length === 0;
  return [
    ...unproven,
    ...standing,
    ...(isTold ? [] : [`the LVMCluster is ${status.state}: ${told(cluster)}`]),
    ...goneFindings({ stage, cluster, rules }, lines),
  ];
}

function told({ status }: LvmCluster): string {
  return (status?.conditions ?? []).map(({ message }) => message).join('; ');
}

function standOf(stage: ClusterStage, cluster: LvmCluster) {
  const all = classesIn(cluster).map((one) => {
    const nodes = stage.admin.nodes.filter((node) => isMeant(one, cluster, node));
    const states = nodes.map(({ metadata }) => reportOn(stage, metadata.name, one.name)?.status);
    return { count: nodes.length, isWell: states.every((state) => state === 'Ready') };
  });
  return { isAll: all.every(({ count }) => count > 0), isWell: all.every(({ isWell }) => isWell) };
}

function reportOn(stage: ClusterStage, node: string, name: string) {
  const report = reportsOf(stage).find(({ metadata }) => metadata.name === node);
  return report?.spec?.nodeStatus?.find((one) => one.name === name);
}

type Scene = {
  readonly stage: ClusterStage;
  readonly cluster: LvmCluster;
  readonly rules: LvmsRules;
};

function classFindings(
  { stage, cluster, rules }: Scene,
  one: LvmDeviceClass,
  lines: readonly string[],
): readonly string[] {
  const group = groupsOf(stage).find(({ metadata }) => metadata.name === one.name);
  // What is refused for its own sake is not made, and stays as it was.
  const isRefused = lines.some((line) => line.startsWith('spec.') || line.includes(one.name));
  const isSame = isEqual(group?.spec?.deviceSelector, one.deviceSelector);
  if (isRefused && (group === undefined || !isSame)) return [];
  if (group === undefined) return [`there is no LVMVolumeGroup ${one.name}`];
  if (!isSame) return [`the LVMVolumeGroup ${one.name} is not as it is wanted`];
  if (group.metadata.deletionTimestamp !== undefined) return [];
  const isClass = stage.admin.storageClass(`lvms-${one.name}`) !== undefined;
  const unserved = isClass || isRefused ? [] : [`there is no StorageClass lvms-${one.name}`];
  const made = asMade(one, group, lines);
  const meant = stage.admin.nodes.filter((node) => isMeant(made, cluster, node));
  return [
    ...unserved,
    ...meant.flatMap(({ metadata: { name } }) => {
      const said = reportOn(stage, name, one.name);
      if (said === undefined) return [`${name} tells nothing of ${one.name}`];
      const others = othersOn(stage, name, one.name);
      const machine = stage.machine(name);
      const isGivenUp = (device: Device) => rules.isGivenUp(machine, one.name, device);
      return [
        ...standingFindings({ machine, one: made, told: said, others, isGivenUp }),
        ...labelFindings(machine, group),
      ];
    }),
  ];
}

/** What can never be changed, and was by somebody whom nobody judged. */
const fixed = ['nodeSelector', 'thinPoolConfig', 'raidConfig'] as const;

/**
 * A class as its group has it: what is refused of it, which is told by its field, or with all that
 * is in the LVMCluster, is as it was when the group was made, and also what was not there then.
 */
function asMade(
  one: LvmDeviceClass,
  { spec }: LvmVolumeGroup,
  lines: readonly string[],
): LvmDeviceClass {
  const isRefused = (field: string) =>
    lines.some((line) => line.startsWith(`spec.storage.deviceClasses[${one.name}].${field}`)) ||
    lines.some((line) => lostDefaultIn(line) !== undefined);
  const gone = fixed.filter((field) => spec?.[field] === undefined && isRefused(field));
  const left = Object.entries(one).filter(([key]) => !gone.some((field) => field === key));
  return { ...(Object.fromEntries(left) as LvmDeviceClass), ...spec };
}

/** What has left is bare, whatever else cannot leave; but those that stay must flush it first. */
function labelFindings(machine: Machine, group: LvmVolumeGroup): readonly string[] {
  const { name, world } = machine;
  const isThere = world.machine.vgs.some((vg) => vg.name === group.metadata.name);
  if (isThere && vgOn(machine, group.metadata.name) === undefined) return [];
  const note = group.metadata.annotations?.[`release.devices.quarry.io/${name}`] ?? '';
  return world.machine
    .present()
    .filter(({ label }) => label !== undefined && note.includes(label.pvUuid))
    .filter(({ label }) => world.machine.vgOfPv(label?.pvUuid ?? '') === undefined)
    .map(({ path }) => `${path} on ${name} has left ${group.metadata.name}, and is not bare`);
}

/** Groups that are there beside it, also those that shall go and hold something. */
function othersOn(stage: ClusterStage, node: string, name: string): readonly Naming[] {
  const mark = `cleanup.vgmanager.node.topolvm.io/${node}`;
  return groupsOf(stage)
    .filter(({ metadata }) => metadata.name !== name && metadata.finalizers?.includes(mark))
    .map(({ spec = {} }) => spec);
}

/** Classes that were taken out are gone, or stay for a reason. */
function goneFindings(
  { stage, cluster, rules }: Scene,
  lines: readonly string[],
): readonly string[] {
  const wanted = new Set(classesIn(cluster).map(({ name }) => name));
  if (wanted.size === 0) return [];
  // Nothing is taken away on the strength of an LVMCluster that lost its default class.
  const lost = lines.map(lostDefaultIn);
  if (lost.some((name) => name !== undefined && rules.defaults.isLost(name, cluster))) return [];
  return groupsOf(stage)
    .map(({ metadata }) => metadata.name)
    .filter((name) => !wanted.has(name))
    .filter((name) => !lines.some((line) => line.startsWith(`device class ${name} `)))
    .filter((name) => !isStuck(stage, name))
    .map((name) => `the LVMVolumeGroup ${name} is not wanted any more, and stays`);
}

/** On some node something that we may not remove is in the group, or its disks are away. */
function isStuck(stage: ClusterStage, name: string): boolean {
  return [...stage.machines.values()].some(({ world }) => {
    const { machine } = world;
    const vg = machine.vgs.find((one) => one.name === name);
    if (vg === undefined) return false;
    return vg.lvs.some(({ type }) => type !== 'thin-pool') || machine.missingPvs(vg).length > 0;
  });
}

function goingFindings(stage: ClusterStage, cluster: LvmCluster): readonly string[] {
  const { name } = cluster.metadata;
  const names = [
    ...new Set([
      ...classesIn(cluster).map((one) => one.name),
      ...groupsOf(stage).map(({ metadata }) => metadata.name),
    ]),
  ];
  const held = names.filter((one) => volumesIn(stage, one).length > 0);
  const stuck = names.filter((one) => isStuck(stage, one));
  if (held.length === 0 && stuck.length === 0) return [`the LVMCluster ${name} does not go`];
  const said = told(cluster);
  return [...held, ...(held.length > 0 ? [] : stuck)]
    .filter((one) => !said.includes(one))
    .map((one) => `the LVMCluster ${name} does not go for ${one}, and says only: ${said}`);
}

/** What the operator says of an object is so. */
function isProven({ stage, cluster, rules }: Scene, line: string): boolean {
  const lost = lostDefaultIn(line);
  if (lost !== undefined) return rules.defaults.isLost(lost, cluster);
  const [, held] = /^device class (\S+) stays while it holds /.exec(line) ?? [];
  if (held !== undefined) return volumesIn(stage, held).length > 0;
  const [, other] = /^StorageClass lvms-(\S+) has another /.exec(line) ?? [];
  if (other !== undefined)
    return isOther(stage.admin.storageClass(`lvms-${other}`), cluster, other);
  const [, going] = /^LVMVolumeGroup (\S+) is being deleted/.exec(line) ?? [];
  if (going !== undefined) return isStuck(stage, going);
  const [, name, field] = /^spec\.storage\.deviceClasses\[(\w+)\]\.?(\S*) /.exec(line) ?? [];
  if (line.startsWith('spec.storage.deviceClasses ')) return isWrongTogether(cluster);
  return name !== undefined && isWrong(stage, cluster, name, field ?? '');
}

/** The class that must not be left out, where the operator tells of one. */
function lostDefaultIn(line: string): string | undefined {
  const told = /^spec\.storage\.deviceClasses\[(\w+)\] is missing: leave it, or let another class /;
  return told.exec(line)?.[1];
}

function isWrongTogether(cluster: LvmCluster): boolean {
  const classes = classesIn(cluster);
  return classes.length === 0 || classes.filter((one) => one.default === true).length > 1;
}

/** A field that is wrong by itself, or that can never be changed and was. */
function isWrong(stage: ClusterStage, cluster: LvmCluster, name: string, field: string): boolean {
  const classes = classesIn(cluster);
  const one = classes.find((each) => each.name === name);
  if (one === undefined) return false;
  const group = groupsOf(stage).find(({ metadata }) => metadata.name === name);
  const [part = ''] = field.split(/[.[]/);
  const changed = group !== undefined && !isEqual(at(group.spec, part), at(one, part));
  if (!field.startsWith('deviceSelector')) return changed;
  const names = namedBy(one);
  const theirs = classes.filter((other) => other !== one).flatMap(namedBy);
  const isGreedy = names.length === 0 && classes.length > 1;
  const isDouble = new Set(names).size < names.length || names.some((it) => theirs.includes(it));
  const isNoPath = names.some((it) => !it.startsWith('/dev/'));
  const isEmpty = one.deviceSelector !== undefined && names.length === 0;
  const isFew = one.raidConfig !== undefined && names.length < 2;
  return changed || isGreedy || isDouble || isNoPath || isEmpty || isFew;
}

function at(object: object | undefined, key: string): unknown {
  return (object as Readonly<Record<string, unknown>> | undefined)?.[key];
}
