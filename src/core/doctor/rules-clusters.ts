import { classesOf } from '../../api/lvm-cluster/check.ts';
import type { LvmCluster, LvmCondition } from '../../api/objects/lvm-cluster.ts';
import { showFew } from '../../base/show.ts';
import { heldBy } from '../lvm-cluster/gate.ts';
import { groupFinalizerPrefix } from '../lvm-cluster/marks.ts';
import { nodesOf, nodesOfCluster } from '../lvm-cluster/status.ts';
import { type Finding, finding } from './finding.ts';
import { type ClusterPicture, isSettled } from './picture.ts';
import { type Rule, refTo } from './rule.ts';
import { argsOf, isReady, podsOf, roleOf } from './workloads.ts';

/** Does what LVMClusters ask for come about? */
export const clusterRules: readonly Rule[] = [
  { needs: ['clusters', 'deployments', 'daemonSets'], judge: ignored },
  { needs: ['clusters'], judge: incomplete },
  { needs: ['clusters', 'groups', 'claims', 'volumes', 'logicalVolumes'], judge: deletionWaits },
  { needs: ['clusters', 'nodes'], judge: classWithoutNode },
  { needs: ['clusters', 'nodes', 'pods', 'daemonSets'], judge: agentMissing },
  { needs: ['clusters', 'nodes', 'pods', 'reports'], judge: groupNotTold },
];

function ignored(picture: ClusterPicture): readonly Finding[] {
  return picture.clusters
    .filter(
      ({ metadata, status }) =>
        status?.state === undefined && isSettled(picture, metadata.creationTimestamp),
    )
    .map((one) => {
      const details = whyIgnored(one, picture);
      const what = 'it has no status: nobody acts on it';
      return finding('ClusterIgnored', { object: refTo('LVMCluster', one), what, details });
    });
}

function whyIgnored(one: LvmCluster, picture: ClusterPicture): readonly string[] {
  const { deployments, daemonSets, namespace } = picture;
  const elsewhere = namespace !== undefined && one.metadata.namespace !== namespace;
  const deaf = [...deployments, ...daemonSets].filter(
    (each) => roleOf(each) !== undefined && !argsOf(each).includes('--lvm-clusters'),
  );
  return [
    ...(elsewhere ? [`it is in ${one.metadata.namespace}, and the operator in ${namespace}`] : []),
    ...deaf.map(({ metadata }) => `${metadata.name} was started without --lvm-clusters`),
  ];
}

/** What is wrong with groups is told node by node, and so is who does not know the driver. */
function incomplete({ clusters, names }: ClusterPicture): readonly Finding[] {
  return clusters.filter(isStaying).flatMap((one) =>
    badConditions(one)
      .filter(({ type, reason }) => type !== 'VolumeGroupsReady' && reason !== inProgress)
      .flatMap(({ reason, message }) => {
        const ofKubelets = `${names.driver}: kubelet of `;
        const lines = message.split('\n').filter((line) => !line.startsWith(ofKubelets));
        const [first, ...details] = lines;
        if (first === undefined) return [];
        const what = `${reason}: ${first}`;
        return [finding('ClusterIncomplete', { object: refTo('LVMCluster', one), what, details })];
      }),
  );
}

const inProgress = 'ReconciliationInProgress';

export function badConditions({ status }: LvmCluster): readonly LvmCondition[] {
  return (status?.conditions ?? []).filter((condition) => condition.status !== 'True');
}

/** Have its groups not been ready for longer than it takes to make them? */
export function isLate(cluster: LvmCluster, picture: ClusterPicture): boolean {
  const since = badConditions(cluster).find(({ type }) => type === 'VolumeGroupsReady');
  return isSettled(picture, since?.lastTransitionTime);
}

function isStaying({ metadata }: LvmCluster): boolean {
  return metadata.deletionTimestamp === undefined;
}

function deletionWaits(picture: ClusterPicture): readonly Finding[] {
  const clusters = picture.clusters
    .filter((one) => !isStaying(one))
    .flatMap((one) => {
      const details = whatHolds(one, picture);
      const { deletionTimestamp } = one.metadata;
      // With nothing in the way it takes a moment, too.
      if (details.length === 0 && !isSettled(picture, deletionTimestamp)) return [];
      const what = `it is being deleted since ${deletionTimestamp}`;
      return [finding('DeletionWaits', { object: refTo('LVMCluster', one), what, details })];
    });
  const isOld = (since: string | undefined) => isSettled(picture, since);
  const groups = picture.groups
    .filter(({ metadata }) => isOld(metadata.deletionTimestamp))
    .map((group) => {
      const nodes = (group.metadata.finalizers ?? [])
        .filter((name) => name.startsWith(groupFinalizerPrefix))
        .map((name) => name.slice(groupFinalizerPrefix.length));
      const details = nodes.map((node) => `${node} has not given it back yet`);
      const what = `the class is being deleted since ${group.metadata.deletionTimestamp}`;
      const remedy = 'Look at the agents of the nodes named, and at their logs.';
      const object = refTo('LVMVolumeGroup', group);
      return finding('DeletionWaits', { object, what, details, remedy });
    });
  return [...clusters, ...groups];
}

function whatHolds(cluster: LvmCluster, picture: ClusterPicture): readonly string[] {
  const { names, claims, volumes, logicalVolumes } = picture;
  const view = { claims, volumes, logicalVolumes, driver: names.driver };
  return classesOf(cluster).flatMap(({ name }) => {
    const held = heldBy(name, view);
    return held.length === 0 ? [] : [`device class ${name} holds ${showFew(held)}`];
  });
}

function classWithoutNode({ clusters, nodes }: ClusterPicture): readonly Finding[] {
  return clusters.filter(isStaying).flatMap((cluster) =>
    classesOf(cluster)
      .filter((one) => nodesOf(one, { cluster, nodes }).length === 0)
      .map(({ name }) => {
        const what = `device class ${name}: none of ${nodes.length} nodes is meant`;
        return finding('ClassWithoutNode', { object: refTo('LVMCluster', cluster), what });
      }),
  );
}

function agentMissing(picture: ClusterPicture): readonly Finding[] {
  const { clusters, nodes, pods, daemonSets } = picture;
  // Without a DaemonSet nothing else can be expected, and that is told already.
  const agents = daemonSets.find((one) => roleOf(one) === 'agent');
  if (agents === undefined) return [];
  const served = new Set(podsOf(pods, 'agent').map(({ spec }) => spec?.nodeName));
  const meant = clusters
    .filter((cluster) => isStaying(cluster) && classesOf(cluster).length > 0)
    .flatMap((cluster) => nodesOfCluster({ cluster, nodes }));
  return [...new Set(meant)]
    .filter((node) => !served.has(node))
    .map((node) => {
      const what = `${node} is meant by an LVMCluster and has no agent`;
      return finding('AgentMissing', { object: refTo('DaemonSet', agents), node, what });
    });
}

/** Who has no agent that is ready is told otherwise. */
function groupNotTold(picture: ClusterPicture): readonly Finding[] {
  const { clusters, nodes, pods, reports } = picture;
  const ready = new Set(
    podsOf(pods, 'agent')
      .filter((pod) => isReady(pod) && isSettled(picture, pod.metadata.creationTimestamp))
      .map(({ spec }) => spec?.nodeName),
  );
  return clusters
    .filter((one) => isStaying(one) && isLate(one, picture))
    .flatMap((cluster) =>
      classesOf(cluster).flatMap((one) =>
        nodesOf(one, { cluster, nodes })
          .filter((node) => ready.has(node))
          .filter((node) => {
            const report = reports.find(({ metadata }) => metadata.name === node);
            return !(report?.spec?.nodeStatus ?? []).some(({ name }) => name === one.name);
          })
          .map((node) => {
            const what = `the agent of ${node} has told nothing of the class ${one.name}`;
            return finding('GroupNotTold', { object: refTo('LVMCluster', cluster), node, what });
          }),
      ),
    );
}
