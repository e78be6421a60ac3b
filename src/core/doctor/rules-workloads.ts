import type { Node } from '../../api/objects/storage.ts';
import type { Pod } from '../../api/objects/workload.ts';
import { showFew, showList } from '../../base/show.ts';
import { nodeTrouble } from '../cluster/health.ts';
import { workloadNames } from '../cluster/installed.ts';
import { skewOn } from '../cluster/skew.ts';
import { type Finding, finding } from './finding.ts';
import { type ClusterPicture, isSettled, type Registration } from './picture.ts';
import { type Rule, refTo } from './rule.ts';
import { imageOf, isAll, isReady, podsOf, podTrouble, roleOf, versionOf } from './workloads.ts';

/** Is everything there that makes volumes, and do its parts reach each other? */
export const workloadRules: readonly Rule[] = [
  { needs: ['deployments', 'daemonSets', 'logicalVolumes'], judge: notInstalled },
  { needs: ['csiDrivers', 'deployments', 'daemonSets'], judge: driverMissing },
  { needs: ['deployments', 'daemonSets', 'pods'], judge: operatorNotReady },
  { needs: ['deployments', 'daemonSets', 'pods', 'nodes'], judge: agentsNotReady },
  { needs: ['deployments', 'daemonSets', 'pods'], judge: versionsSkewed },
  { needs: ['nodes'], judge: newWorkRefused },
  { needs: ['pods', 'csiNodes'], judge: driverNotRegistered },
  { needs: ['webhooks', 'endpoints'], judge: webhookUnreachable },
];

function notInstalled(picture: ClusterPicture): readonly Finding[] {
  const { servesLogicalVolumes, names } = picture;
  if (!isInstalled(picture)) {
    const what = 'there is no operator and no agent of Quarry';
    return [finding('NotInstalled', { object: operatorRef(picture), what })];
  }
  if (servesLogicalVolumes) return [];
  const name = `logicalvolumes.${names.domain}`;
  const object = { kind: 'CustomResourceDefinition', name };
  const remedy = 'Apply the CRDs: `quarry crds` prints them.';
  return [finding('NotInstalled', { object, what: 'the kind LogicalVolume is missing', remedy })];
}

function isInstalled({ deployments, daemonSets }: ClusterPicture): boolean {
  return [...deployments, ...daemonSets].some((one) => roleOf(one) !== undefined);
}

function operatorRef({ namespace }: ClusterPicture) {
  const place = namespace === undefined ? {} : { namespace };
  return { kind: 'Deployment', ...place, name: workloadNames.operator };
}

function driverMissing(picture: ClusterPicture): readonly Finding[] {
  const { csiDrivers, names } = picture;
  if (!isInstalled(picture)) return [];
  if (csiDrivers.some(({ metadata }) => metadata.name === names.driver)) return [];
  const object = { kind: 'CSIDriver', name: names.driver };
  return [finding('DriverMissing', { object, what: `there is no CSIDriver ${names.driver}` })];
}

function operatorNotReady(picture: ClusterPicture): readonly Finding[] {
  const { deployments, daemonSets, pods } = picture;
  const operators = deployments.filter((one) => roleOf(one) === 'operator');
  if (operators.length === 0) {
    if (!isInstalled(picture) || daemonSets.some(isAll)) return [];
    const what = 'agents run, and there is no operator';
    return [finding('OperatorNotReady', { object: operatorRef(picture), what })];
  }
  return operators.flatMap((one) => {
    const wanted = one.spec?.replicas ?? 1;
    const ready = one.status?.readyReplicas ?? 0;
    if (wanted > 0 && ready >= wanted) return [];
    const what = `${ready} of ${wanted} pods of the operator are ready`;
    const details = podsOf(pods, 'operator').filter(isNotReady).map(podText);
    return [finding('OperatorNotReady', { object: refTo('Deployment', one), what, details })];
  });
}

function agentsNotReady(picture: ClusterPicture): readonly Finding[] {
  const { daemonSets, pods, nodes } = picture;
  const agents = daemonSets.filter((one) => roleOf(one) === 'agent');
  const found = podsOf(pods, 'agent');
  if (agents.length === 0) {
    if (!isInstalled(picture)) return [];
    const object = { ...operatorRef(picture), kind: 'DaemonSet', name: workloadNames.agent };
    return [finding('AgentMissing', { object, what: 'an operator runs, and there are no agents' })];
  }
  const short = agents.flatMap((one) => {
    const wanted = one.status?.desiredNumberScheduled ?? 0;
    if (found.length >= wanted) return [];
    const what = `${wanted} nodes shall have an agent, and there are ${found.length} pods`;
    const remedy = 'kubectl describe the DaemonSet: its events say why pods cannot be made.';
    return [finding('AgentMissing', { object: refTo('DaemonSet', one), what, remedy })];
  });
  return [...short, ...found.filter(isNotReady).map((pod) => agentNotReady(pod, nodes))];
}

function agentNotReady(pod: Pod, nodes: readonly Node[]): Finding {
  const name = pod.spec?.nodeName ?? '';
  const trouble = nodeTrouble(nodes.find(({ metadata }) => metadata.name === name));
  const isAway = name !== '' && trouble !== undefined;
  const why = isAway ? `its node is ${trouble}` : podTrouble(pod);
  const on = name === '' ? 'no node' : name;
  const what = `the agent on ${on} is not ready${why === '' ? '' : `: ${why}`}`;
  const node = name === '' ? {} : { node: name };
  return finding('AgentNotReady', { object: refTo('Pod', pod), ...node, what });
}

function isNotReady(pod: Pod): boolean {
  return !isReady(pod);
}

function podText(pod: Pod): string {
  const trouble = podTrouble(pod) || 'not ready';
  return `${pod.metadata.name} on ${pod.spec?.nodeName ?? 'no node'}: ${trouble}`;
}

/** By the image that each pod really has: what its template wants is not what runs yet. */
function versionsSkewed(picture: ClusterPicture): readonly Finding[] {
  const running = (['operator', 'agent'] as const).flatMap((role) => podsOf(picture.pods, role));
  const images = [...new Set(running.map(imageOf))].toSorted();
  if (images.length <= 1) return [];
  const versions = [...new Set(images.map(versionOf))];
  // Two builds may have one tag.
  const nameOf = versions.length === images.length ? versionOf : (image: string) => image;
  const details = images.map((image) => {
    const pods = running.filter((pod) => imageOf(pod) === image);
    const names = pods.map(({ metadata }) => metadata.name).toSorted();
    return `${nameOf(image)}: ${showFew(names)}`;
  });
  const what = `${images.length} different images run: ${showList(versions)}`;
  return [finding('VersionsSkewed', { object: operatorRef(picture), what, details })];
}

/** By what both have written on the Node, which is what both go by. */
function newWorkRefused({ nodes }: ClusterPicture): readonly Finding[] {
  return nodes.flatMap((one) => {
    const skew = skewOn(one);
    if (skew === undefined) return [];
    const node = one.metadata.name;
    const object = { kind: 'Node', name: node };
    return [finding('NewWorkRefused', { object, node, what: skew.message })];
  });
}

function driverNotRegistered(picture: ClusterPicture): readonly Finding[] {
  const { pods, csiNodes, names } = picture;
  return podsOf(pods, 'agent').flatMap((pod) => {
    const node = pod.spec?.nodeName;
    const isRunning = pod.status?.phase === 'Running';
    if (node === undefined || !isRunning) return [];
    if (!isSettled(picture, pod.metadata.creationTimestamp)) return [];
    const known = csiNodes.find(({ metadata }) => metadata.name === node)?.spec.drivers ?? [];
    if (known.some(({ name }) => name === names.driver)) return [];
    const what = `kubelet of ${node} does not know the driver ${names.driver}`;
    const object = { kind: 'CSINode', name: node };
    return [finding('DriverNotRegistered', { object, node, what })];
  });
}

function webhookUnreachable(picture: ClusterPicture): readonly Finding[] {
  return picture.webhooks.flatMap((one) => {
    const details = hooksOf(one).flatMap((hook) => [
      ...(hook.hasAuthority ? [] : [`${hook.name} has no caBundle`]),
      ...(isAnswered(hook, picture)
        ? []
        : [`${hook.name}: no ready endpoint of Service ${hook.namespace}/${hook.service}`]),
    ]);
    if (details.length === 0) return [];
    const what = 'API servers cannot ask about LVMClusters';
    return [finding('WebhookUnreachable', { object: refTo(one.kind, one), what, details })];
  });
}

function hooksOf({ webhooks = [] }: Registration) {
  return webhooks.map(({ name, clientConfig }) => ({
    name,
    hasAuthority: (clientConfig?.caBundle ?? '') !== '',
    service: clientConfig?.service?.name ?? '',
    namespace: clientConfig?.service?.namespace ?? '',
  }));
}

type Hook = ReturnType<typeof hooksOf>[number];

function isAnswered({ service, namespace }: Hook, { endpoints }: ClusterPicture): boolean {
  return endpoints
    .filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.labels?.['kubernetes.io/service-name'] === service,
    )
    .some((slice) => (slice.endpoints ?? []).some(({ conditions }) => conditions?.ready !== false));
}
