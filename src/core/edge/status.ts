import type { LvmdSpec } from '../../api/lvmd-file/spec.ts';
import type { Deployment, Pod } from '../../api/objects/edge-workload.ts';
import type { LvmCluster } from '../../api/objects/lvm-cluster.ts';
import type { CsiNode, Node } from '../../api/objects/storage.ts';
import { showList } from '../../base/show.ts';
import { ourLease } from '../cluster/leases.ts';
import { type ClusterNames, clusterNames } from '../cluster/names.ts';
import type { DesiredEdge } from './desired.ts';
import { checksumAnnotation, type EdgeSight, edgeNames } from './plan.ts';

/** All that tells whether storage is well. */
export type EdgeHealthView = EdgeSight & {
  readonly namespace: string;
  readonly file: string;
  readonly desired: DesiredEdge;
  /** SHA-256 of what shall be in force; '' where that is nothing. */
  readonly checksum: string;
  readonly names: ClusterNames;
  readonly nodes: readonly Node[];
  readonly csiNodes: readonly CsiNode[];
  /** Those of the DaemonSet. */
  readonly pods: readonly Pod[];
  readonly operator: Deployment | undefined;
  /** Was its lease renewed while we watched it? What else is told may be from before a reboot. */
  readonly leads: boolean;
  readonly clusters: readonly LvmCluster[];
};

/** What is not well, in words. Nothing: storage is well, or there shall be none. */
export function edgeComplaints(view: EdgeHealthView): readonly string[] {
  const { desired, daemonSet } = view;
  if (desired.kind === 'nothing') {
    if (daemonSet === undefined) return [];
    return [`${desired.why}. What was deployed before is still there`, ...deployed(view)];
  }
  if (desired.kind === 'refused') {
    const { what, problems } = desired;
    return [
      ...problems.map((one) => (one.startsWith(what) ? one : `${what}: ${one}`)),
      ...deployed(view),
    ];
  }
  if (desired.kind === 'cluster') return [...handedOver(view, desired.name), ...deployed(view)];
  return [
    ...configured(view, desired.text),
    ...deployed(view),
    ...view.nodes.flatMap((node) => served(node, desired.spec, view)),
  ];
}

const mend = 'run `quarry edge apply`';

function configured(view: EdgeHealthView, text: string): readonly string[] {
  const { namespace, file, configMap, daemonSet, checksum } = view;
  const where = `ConfigMap ${namespace}/${edgeNames.configMap}`;
  if (configMap === undefined) return [`there is no ${where}: ${mend}`];
  if (configMap.data?.[edgeNames.key] !== text) {
    return [`${where} has another text than ${file}: ${mend}`];
  }
  const marks = daemonSet?.spec.template.metadata?.annotations ?? {};
  if (daemonSet === undefined || marks[checksumAnnotation] === checksum) return [];
  return [`DaemonSet ${namespace}/${edgeNames.agent} is for another text than ${file}: ${mend}`];
}

/** The pods of a text have no file that they could write. */
function handedOver({ namespace, daemonSet }: EdgeHealthView, name: string): readonly string[] {
  const marks = daemonSet?.spec.template.metadata?.annotations ?? {};
  if (marks[checksumAnnotation] === undefined) return [];
  const where = `DaemonSet ${namespace}/${edgeNames.agent}`;
  return [`${where} is for a text, and LVMCluster ${name} has device classes: ${mend}`];
}

/** Are both roles there, on every node that they are for? */
function deployed(view: EdgeHealthView): readonly string[] {
  const { namespace, daemonSet } = view;
  const where = `DaemonSet ${namespace}/${edgeNames.agent}`;
  if (daemonSet === undefined) return [`there is no ${where}: ${mend}`];
  return [
    ...rolledOut(where, view),
    ...view.pods.filter((pod) => !isReady(pod) && !isGoing(pod)).map(podText),
    ...operatorComplaints(view),
    ...(view.nodes.length === 0 ? ['there is no Node'] : []),
    ...view.nodes.flatMap((node) => registered(node, view)),
    ...view.clusters.flatMap(clusterText),
  ];
}

function rolledOut(where: string, { daemonSet }: EdgeHealthView): readonly string[] {
  const { metadata, status = {} } = daemonSet ?? { metadata: {} };
  const { generation = 0 } = metadata;
  const { observedGeneration = 0, desiredNumberScheduled: wanted = 0 } = status;
  const { updatedNumberScheduled: newest = 0, numberReady: ready = 0 } = status;
  if (observedGeneration < generation) return [`${where} has just been changed`];
  if (wanted === 0) return [`${where} has no node to run on`];
  if (newest < wanted)
    return [`${where}: ${wanted - newest} of ${wanted} pods are of an older one`];
  return ready < wanted ? [`${where}: ${ready} of ${wanted} pods are ready`] : [];
}

function isReady({ status }: Pod): boolean {
  return (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True');
}

function isGoing({ metadata }: Pod): boolean {
  return metadata.deletionTimestamp !== undefined;
}

const wordsMax = 1_000;

/** What Kubernetes knows of why: of the pod, of its containers, and what they said at their end. */
function podText({ metadata, status = {} }: Pod): string {
  const { phase = 'Unknown', reason, message, conditions = [], containerStatuses = [] } = status;
  const unmet = conditions.filter((one) => one.status !== 'True' && one.message !== undefined);
  const containers = containerStatuses.flatMap(({ state, lastState }) => {
    const ended = state?.terminated ?? lastState?.terminated;
    const last = ended?.message?.trim() ?? '';
    return [
      state?.waiting?.reason,
      ended === undefined ? undefined : `it ended with ${ended.exitCode}`,
      last === '' ? undefined : last.slice(-wordsMax),
    ];
  });
  const words = [phase, reason, message, ...containers, ...unmet.map((one) => one.message)];
  return `pod ${metadata.name} is not ready: ${words.filter((word) => word !== undefined).join(': ')}`;
}

function operatorComplaints(view: EdgeHealthView): readonly string[] {
  const lease = `Lease ${view.namespace}/${ourLease}`;
  const silence = `no operator leads: nobody has renewed ${lease} while it was watched`;
  return [...operatorPods(view), ...(view.leads ? [] : [silence])];
}

/** In `quarry all` it is one process with the agent. */
function operatorPods({ namespace, daemonSet, operator }: EdgeHealthView): readonly string[] {
  const containers = daemonSet?.spec.template.spec?.containers ?? [];
  if (containers.some(({ args = [] }) => args[0] === 'all')) return [];
  if ((operator?.status?.readyReplicas ?? 0) > 0) return [];
  const where = `Deployment ${namespace}/${edgeNames.operator}`;
  return [operator === undefined ? `there is no ${where}` : `no pod of ${where} is ready`];
}

function registered({ metadata: { name } }: Node, view: EdgeHealthView): readonly string[] {
  const { driver } = view.names;
  const known = view.csiNodes.find(({ metadata }) => metadata.name === name)?.spec.drivers ?? [];
  if (known.some((one) => one.name === driver)) return [];
  return [`kubelet of ${name} does not know the driver: CSINode ${name} has no ${driver}`];
}

function clusterText({ metadata: { name }, status = {} }: LvmCluster): readonly string[] {
  const { state = 'new, and nobody has looked at it', conditions = [] } = status;
  if (state === 'Ready') return [];
  const why = conditions.filter((one) => one.status !== 'True').map(({ message }) => message);
  return [[`LVMCluster ${name} is ${state}`, ...why].join(': ')];
}

/** Agents tell on the Node how much each class can give. */
function served(
  { metadata: { name, annotations = {} } }: Node,
  { deviceClasses }: LvmdSpec,
  { names }: EdgeHealthView,
): readonly string[] {
  const { capacityAnnotation } = clusterNames(names);
  const missing = deviceClasses.filter(
    (one) => annotations[capacityAnnotation(one.name)] === undefined,
  );
  if (missing.length === 0) return [];
  const list = showList(missing.map((one) => one.name));
  return [`${name} does not serve ${list}: its Node has no annotation ${capacityAnnotation('…')}`];
}
