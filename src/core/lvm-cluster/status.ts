import { classesOf, isUnmanaged } from '../../api/lvm-cluster/check.ts';
import { isMeant } from '../../api/lvm-cluster/nodes.ts';
import type {
  LvmCluster,
  LvmClusterStatus,
  LvmCondition,
  LvmDeviceClass,
  LvmDeviceClassStatus,
  LvmDriverStatus,
} from '../../api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroupNodeStatus,
  LvmVolumeGroupStatus,
} from '../../api/objects/lvm-volume-group.ts';
import type { CsiNode, Node } from '../../api/objects/storage.ts';
import { showFew } from '../../base/show.ts';

/** All that the status of an LVMCluster follows from. */
export type ClusterSight = {
  readonly cluster: LvmCluster;
  readonly nodes: readonly Node[];
  readonly reports: readonly LvmVolumeGroupNodeStatus[];
  readonly csiNodes: readonly CsiNode[];
  readonly driver: string;
  /** What could not be made, or undefined before everything was tried once. */
  readonly troubles: readonly string[] | undefined;
  /** As Kubernetes writes times. */
  readonly nowText: string;
};

export function clusterStatus(sight: ClusterSight): LvmClusterStatus {
  const { cluster, nowText } = sight;
  const set = [resourcesCondition(sight), groupsCondition(sight)];
  const conditions = set.map((text) => since(text, cluster.status?.conditions ?? [], nowText));
  const state = stateOf(set);
  return {
    ...{ ready: state === 'Ready', state, conditions },
    deviceClassStatuses: classStatuses(sight.reports),
    drivers: [driverStatus(sight)],
  };
}

type ConditionText = Pick<LvmCondition, 'type' | 'status' | 'reason' | 'message'>;

/** With the time since when it holds or does not. */
function since(text: ConditionText, known: readonly LvmCondition[], nowText: string): LvmCondition {
  const old = known.find(({ type, status }) => type === text.type && status === text.status);
  return { ...text, lastTransitionTime: old?.lastTransitionTime ?? nowText };
}

/** The worst that a condition says. */
function stateOf(conditions: readonly ConditionText[]): string {
  const reasons = new Set(conditions.map(({ reason }) => reason));
  if (reasons.has('VGsFailed')) return 'Failed';
  if (reasons.has('VGsDegraded')) return 'Degraded';
  return conditions.every(({ status }) => status === 'True') ? 'Ready' : 'Progressing';
}

/** LVMS tells here, too, that a kubelet does not know the driver. */
function resourcesCondition(sight: ClusterSight): ConditionText {
  const type = 'ResourcesAvailable';
  if (sight.troubles === undefined) {
    const message = 'what the LVMCluster needs is being made';
    return { type, status: 'False', reason: 'ReconciliationInProgress', message };
  }
  const { name, message: unknown } = driverStatus(sight);
  const troubles = [...sight.troubles, ...(unknown === undefined ? [] : [`${name}: ${unknown}`])];
  if (troubles.length > 0) {
    const message = lines(troubles);
    return { type, status: 'False', reason: 'ResourcesSyncIncomplete', message };
  }
  return { type, status: 'True', reason: type, message: 'all that it needs is there' };
}

function groupsCondition(sight: ClusterSight): ConditionText {
  const type = 'VolumeGroupsReady';
  if (sight.cluster.metadata.deletionTimestamp !== undefined) return goingCondition(sight);
  const isExternal = isUnmanaged(sight.cluster);
  if (!isExternal && classesOf(sight.cluster).length === 0) {
    const message = 'it names no device class';
    return { type, status: 'False', reason: 'VGReadinessInProgress', message };
  }
  const found = isExternal
    ? nodesOfCluster(sight).flatMap((node) => lvmdStanding(node, sight))
    : classesOf(sight.cluster).flatMap((one) => standingOf(one, sight));
  const worst = worstOf(found);
  if (worst !== undefined) return worst;
  if (isExternal) {
    const message = 'lvmd.yaml on each node says what there is';
    return { type, status: 'True', reason: 'VGsUnmanaged', message };
  }
  return allReady;
}

function worstOf(found: readonly Standing[]): ConditionText | undefined {
  for (const { state, reason } of inOrder) {
    const of = found.filter((one) => one.state === state);
    if (of.length === 0) continue;
    const message = lines(of.map(({ text }) => text));
    return { type: 'VolumeGroupsReady', status: 'False', reason, message };
  }
  return undefined;
}

/** Of one that goes whatever is still there says why, also of classes that it names no more. */
function goingCondition({ reports }: ClusterSight): ConditionText {
  const byNode = reports.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const found = byNode.flatMap(({ metadata, spec }) =>
    (spec?.nodeStatus ?? []).flatMap((group) =>
      groupStanding(`${group.name ?? ''} on ${metadata.name}`, group),
    ),
  );
  const isLeft = reports.some(({ spec }) => (spec?.nodeStatus ?? []).length > 0);
  return worstOf(found) ?? (isLeft ? allReady : allGone);
}

const allReady: ConditionText = {
  ...{ type: 'VolumeGroupsReady', status: 'True' },
  ...{ reason: 'VGsReady', message: 'all volume groups are ready' },
};

const allGone: ConditionText = {
  ...{ type: 'VolumeGroupsReady', status: 'False' },
  ...{ reason: 'VGReadinessInProgress', message: 'no volume group is left' },
};

const linesMax = 20;
const lineMax = 1_000;

/** The API server takes 32768 characters. */
function lines(all: readonly string[]): string {
  const shown = all.slice(0, linesMax).map((line) => line.slice(0, lineMax));
  const more = all.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

const inOrder = [
  { state: 'Failed', reason: 'VGsFailed' },
  { state: 'Degraded', reason: 'VGsDegraded' },
  { state: 'Progressing', reason: 'VGReadinessInProgress' },
] as const;

type Standing = { readonly state: string; readonly text: string };

/** What is not well with a class, by node. */
function standingOf(one: LvmDeviceClass, sight: ClusterSight): readonly Standing[] {
  const nodes = nodesOf(one, sight);
  if (nodes.length === 0) {
    const text =
      `${one.name}: no node is meant; look at nodeSelector and tolerations, and at labels and ` +
      'taints of the nodes';
    return [{ state: 'Progressing', text }];
  }
  return nodes.flatMap((name): readonly Standing[] => {
    const report = sight.reports.find(({ metadata }) => metadata.name === name);
    const group = report?.spec?.nodeStatus?.find((each) => each.name === one.name);
    const where = `${one.name} on ${name}`;
    if (group === undefined) {
      return [{ state: 'Progressing', text: `${where}: its agent has not told of it yet` }];
    }
    const standing = groupStanding(where, group);
    if (standing.length > 0 || hasDriver(name, sight)) return standing;
    // No pod can use it before.
    return [{ state: 'Progressing', text: `${where}: kubelet does not know ${sight.driver} yet` }];
  });
}

function groupStanding(where: string, group: LvmVolumeGroupStatus): readonly Standing[] {
  const { status = 'Progressing', reason = '' } = group;
  const isKnown = inOrder.some(({ state }) => state === status);
  if (status === 'Ready') return [];
  const text = `${where}: ${reason === '' ? status : reason}`;
  return [{ state: isKnown ? status : 'Progressing', text }];
}

/** What is not well with lvmd.yaml of a node, or with what it names. */
function lvmdStanding(node: string, { reports }: ClusterSight): readonly Standing[] {
  const report = reports.find(({ metadata }) => metadata.name === node);
  const groups = report?.spec?.nodeStatus ?? [];
  if (groups.length === 0) {
    const text = `${node}: its agent has not told of its lvmd.yaml yet; it needs --lvm-clusters`;
    return [{ state: 'Progressing', text }];
  }
  return groups.flatMap((group) => groupStanding(`${group.name ?? ''} on ${node}`, group));
}

/** Nodes whose disks a class takes, in one order. */
export function nodesOf(
  { nodeSelector }: Pick<LvmDeviceClass, 'nodeSelector'>,
  { cluster, nodes }: Pick<ClusterSight, 'cluster' | 'nodes'>,
): readonly string[] {
  const tolerations = cluster.spec?.tolerations ?? [];
  return nodes
    .filter((node) => isMeant(node, nodeSelector, tolerations))
    .map(({ metadata }) => metadata.name)
    .toSorted();
}

/** Nodes of any class. Without classes, those that lvmd.yaml may be on: all of them. */
export function nodesOfCluster(sight: Pick<ClusterSight, 'cluster' | 'nodes'>): readonly string[] {
  const classes = classesOf(sight.cluster);
  const names = (classes.length === 0 ? [{}] : classes).flatMap((one) => nodesOf(one, sight));
  return [...new Set(names)].toSorted();
}

/** By class, then by node: an order that never changes by itself. */
function classStatuses(
  reports: readonly LvmVolumeGroupNodeStatus[],
): readonly LvmDeviceClassStatus[] {
  const all = reports.flatMap(({ metadata, spec }) =>
    (spec?.nodeStatus ?? []).map((group) => ({ node: metadata.name, ...group })),
  );
  const names = [...new Set(all.map(({ name = '' }) => name))].toSorted();
  return names.map((name) => ({
    name,
    nodeStatus: all
      .filter((one) => one.name === name)
      .toSorted((one, other) => (one.node < other.node ? -1 : 1)),
  }));
}

function driverStatus(sight: ClusterSight): LvmDriverStatus {
  const { driver } = sight;
  const wanted = nodesOfCluster(sight);
  const missing = wanted.filter((name) => !hasDriver(name, sight));
  const count = { nodes: wanted.length, registered: wanted.length - missing.length };
  if (missing.length === 0) return { name: driver, ...count };
  const message = `kubelet of ${showFew(missing)} does not know it yet`;
  return { name: driver, ...count, message };
}

function hasDriver(node: string, { csiNodes, driver }: ClusterSight): boolean {
  const known = csiNodes.find(({ metadata }) => metadata.name === node)?.spec.drivers ?? [];
  return known.some(({ name }) => name === driver);
}
