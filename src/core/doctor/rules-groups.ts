import { isGreedy } from '../../api/lvm-cluster/paths.ts';
import type {
  LvmExcludedDevice,
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../../api/objects/lvm-volume-group.ts';
import { type FailureCode, failures } from '../../base/failures.ts';
import { isOfNode } from '../cluster/capacity-objects.ts';
import { wordIn } from '../cluster/logical-volume-refusal.ts';
import { clusterNames } from '../cluster/names.ts';
import { tellsOfContent } from '../device/reasons.ts';
import { isChunkWarning, isFillWarning, withoutPool } from '../lvm-cluster/node-report.ts';
import { storageClassName } from '../lvm-cluster/objects.ts';
import { type Finding, type FindingCode, finding } from './finding.ts';
import { type ClusterPicture, isSettled } from './picture.ts';
import { type Rule, refTo } from './rule.ts';
import { isLate } from './rules-clusters.ts';
import { isReady, podsOf } from './workloads.ts';

/** How the volume groups of the nodes are, as their agents report it. */
export const groupRules: readonly Rule[] = [
  { needs: ['reports', 'groups', 'clusters'], judge: unwellGroups },
  { needs: ['reports', 'nodes', 'pods', 'classes', 'capacities'], judge: capacityMissing },
  { needs: ['clusters', 'nodes', 'pods'], judge: capacityOfNothing },
];

type Told = {
  readonly report: LvmVolumeGroupNodeStatus;
  readonly group: LvmVolumeGroupStatus;
};

function unwellGroups(picture: ClusterPicture): readonly Finding[] {
  return toldGroups(picture).flatMap((told) => [
    ...ofReason(told, picture),
    ...ofWarnings(told),
    ...ofContent(told, picture),
    ...ofRaid(told),
  ]);
}

function toldGroups({ reports }: ClusterPicture): readonly Told[] {
  return reports.flatMap((report) =>
    (report.spec?.nodeStatus ?? []).map((group) => ({ report, group })),
  );
}

const byFailure: Readonly<Partial<Record<FailureCode, FindingCode>>> = {
  NoUsableDevices: 'NoDevices',
  VolumeGroupPartial: 'DeviceMissing',
  VolumeGroupLost: 'DeviceMissing',
  VolumeGroupMissing: 'DeviceMissing',
  DeviceNotFound: 'DeviceMissing',
  ThinPoolFull: 'PoolFull',
};

/** Why a group is not ready. One that is just being made is left in peace. */
function ofReason(told: Told, picture: ClusterPicture): readonly Finding[] {
  const { status = 'Progressing', reason = '', excluded = [] } = told.group;
  const isUnderWay =
    status === 'Progressing' && !picture.clusters.some((one) => isLate(one, picture));
  if (status === 'Ready' || isUnderWay) return [];
  if (reason === '') return [of('GroupUnwell', told, `it is ${status}`)];
  const failure = wordIn(withoutPool(reason))?.code;
  if (failure === undefined) return [of('GroupUnwell', told, reason)];
  const code = byFailure[failure] ?? 'GroupUnwell';
  if (code === 'NoDevices') {
    return [of(code, told, reason, { details: excluded.map(excludedText) })];
  }
  return [of(code, told, reason, { remedy: failures[failure].hint })];
}

/** What stops nothing yet, or stands beside another reason. */
function ofWarnings(told: Told): readonly Finding[] {
  const { warnings = [], reason = '' } = told.group;
  const failure = wordIn(reason)?.code;
  const isTold = failure !== undefined && byFailure[failure] === 'DeviceMissing';
  return warnings.flatMap((warning) => {
    const isMissing = warning.startsWith('a device of ');
    if (isMissing && isTold) return [];
    // There is nothing to be done about it.
    if (isChunkWarning(warning)) return [];
    if (isFillWarning(warning)) return [of('PoolFull', told, warning)];
    return [of(isMissing ? 'DeviceMissing' : 'GroupUnwell', told, warning)];
  });
}

/**
 * Disks that hold something. A class that takes whatever is free meets the disks of the system,
 * too: there it is worth a word only where the class finds nothing else.
 */
function ofContent(told: Told, { groups }: ClusterPicture): readonly Finding[] {
  const { name = '', status = 'Progressing', reason = '', excluded = [] } = told.group;
  const spec = groups.find(({ metadata }) => metadata.name === name)?.spec ?? {};
  const full = excluded.filter(({ reasons }) => tellsOfContent(reasons));
  const isMeant = !isGreedy(spec) || wordIn(reason)?.code === 'NoUsableDevices';
  // One that is being wiped still holds something.
  if (full.length === 0 || !isMeant || status === 'Progressing') return [];
  const what =
    full.length === 1
      ? 'a device that it may take holds something'
      : `${full.length} devices that it may take hold something`;
  return [of('ForeignSignature', told, what, { details: full.map(excludedText) })];
}

function ofRaid(told: Told): readonly Finding[] {
  const { raidStatus } = told.group;
  if (raidStatus === undefined || raidStatus.status === 'Healthy') return [];
  const { memberCount, degradedMemberCount, lvHealth = [] } = raidStatus;
  const what = `its RAID is ${raidStatus.status}: ${degradedMemberCount ?? '?'} of ${
    memberCount ?? '?'
  } devices are missing`;
  const details = lvHealth
    .filter(({ healthStatus = '' }) => healthStatus !== '')
    .map((lv) => `${lv.name}: ${lv.healthStatus}, ${lv.syncPercent} % in step`);
  return [of('RaidDegraded', told, what, { details })];
}

function of(
  code: FindingCode,
  { report, group }: Told,
  text: string,
  more: Partial<Pick<Finding, 'details' | 'remedy'>> = {},
): Finding {
  const node = report.metadata.name;
  const object = refTo('LVMVolumeGroupNodeStatus', report);
  return finding(code, { object, node, what: `${group.name ?? ''} on ${node}: ${text}`, ...more });
}

function excludedText({ name, reasons }: LvmExcludedDevice): string {
  return `${name}: ${reasons.join('; ')}`;
}

function capacityMissing(picture: ClusterPicture): readonly Finding[] {
  const { names, nodes, classes, capacities } = picture;
  const { capacityAnnotation } = clusterNames(names);
  const settled = settledAgents(picture);
  return toldGroups(picture).flatMap((told) => {
    const { name = '', status } = told.group;
    const node = nodes.find(({ metadata }) => metadata.name === told.report.metadata.name);
    if (status !== 'Ready' || node === undefined || !settled.has(node.metadata.name)) return [];
    const key = capacityAnnotation(name);
    const className = storageClassName(name);
    const isOffered = classes.some(({ metadata }) => metadata.name === className);
    const isTold = capacities.some(
      (one) => one.storageClassName === className && isOfNode(one, names, node.metadata.name),
    );
    const details = [
      ...(node.metadata.annotations?.[key] === undefined ? [`no annotation ${key}`] : []),
      ...(isOffered && !isTold ? [`no CSIStorageCapacity of StorageClass ${className}`] : []),
    ];
    if (details.length === 0) return [];
    const what = `${node.metadata.name} does not tell how much room ${name} has`;
    const object = refTo('Node', node);
    return [finding('CapacityMissing', { object, node: node.metadata.name, what, details })];
  });
}

/** Where lvmd.yaml says what there is, an agent that is ready serves at least one class. */
function capacityOfNothing(picture: ClusterPicture): readonly Finding[] {
  const { clusters, nodes, names } = picture;
  if (clusters.some(({ spec }) => (spec?.storage?.deviceClasses ?? []).length > 0)) return [];
  const prefix = clusterNames(names).capacityAnnotation('');
  const settled = settledAgents(picture);
  return nodes
    .filter(({ metadata }) => settled.has(metadata.name))
    .filter(({ metadata }) => !Object.keys(metadata.annotations ?? {}).some(startsWith(prefix)))
    .map((node) => {
      const { name } = node.metadata;
      const what = `${name} has an agent and tells of no class`;
      const details = [`no annotation ${prefix}CLASS`];
      return finding('CapacityMissing', { object: refTo('Node', node), node: name, what, details });
    });
}

function startsWith(prefix: string) {
  return (text: string) => text.startsWith(prefix);
}

/** Nodes whose agents have had time to tell. */
function settledAgents(picture: ClusterPicture): ReadonlySet<string> {
  const ready = podsOf(picture.pods, 'agent').filter(
    (pod) => isReady(pod) && isSettled(picture, pod.metadata.creationTimestamp),
  );
  return new Set(ready.map(({ spec }) => spec?.nodeName ?? ''));
}
