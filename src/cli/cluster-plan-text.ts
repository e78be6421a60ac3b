import { failures } from '../base/failures.ts';
import type { Unseen } from '../core/doctor/picture.ts';
import { deedText } from '../core/lvm-cluster/deed-text.ts';
import type { ForeseenCluster } from '../core/lvm-cluster/foresee.ts';
import { type NodePlan, nodePlans } from '../core/lvm-cluster/node-plans.ts';
import { asDocument, type Format } from './output.ts';
import { devicesText, plannedWork, stepLines } from './planned-work.ts';

export type ClusterPlanText = { readonly text: string; readonly isClear: boolean };

/** What an LVMCluster would do: to objects, and on each node to which disk. */
export function clusterPlanText(
  foreseen: ForeseenCluster,
  { format = 'text', unseen = [] }: Manner = {},
): ClusterPlanText {
  const { deeds, troubles, waits, view } = foreseen;
  const plans = nodePlans(foreseen);
  const objects = deeds.map(deedText).filter((text) => text !== undefined);
  const blocks = [...troubles, ...waits];
  const isClear = blocks.length === 0 && plans.every(isClearPlan);
  if (format === 'json' || format === 'yaml') {
    const { name, namespace } = view.cluster.metadata;
    const nodes = plans.map((plan) => ({
      ...{ node: plan.node, isTold: plan.isTold },
      ...plannedWork(plan),
    }));
    const value = { cluster: { namespace, name }, isClear, blocks, objects, nodes, unseen };
    return { text: asDocument('Plan', value, format), isClear };
  }
  const parts = [
    `A plan for LVMCluster ${view.cluster.metadata.name}. Nothing was changed.`,
    ...(blocks.length === 0 ? [] : [blocks.map((text) => `Blocked: ${text}`).join('\n')]),
    ...(objects.length === 0
      ? []
      : [['In the cluster it would', ...objects.map((text) => `  ${text}`)].join('\n')]),
    ...(plans.length === 0 ? [noNode] : plans.map((plan) => nodeText(plan, format))),
  ];
  return { text: parts.join('\n\n'), isClear };
}

type Manner = {
  readonly format?: Format;
  /** What could not be read: the plan may be wrong. */
  readonly unseen?: readonly Unseen[];
};

const noNode =
  'No node is meant: look at nodeSelector and tolerations, and at labels and taints of the nodes.';

function isClearPlan({ isTold, blocks }: NodePlan): boolean {
  return isTold && blocks.length === 0;
}

function nodeText({ node, isTold, devices, steps, blocks }: NodePlan, format: Format): string {
  if (!isTold) {
    return `Node ${node}\n  Its agent has not told of its disks as they are now, so nothing can be foreseen: is it running there? It tells once a minute at most.`;
  }
  const lines = [
    `Node ${node}`,
    ...(devices.length === 0 ? [] : [indented(devicesText(devices, format))]),
    ...(steps.length === 0 && blocks.length === 0 ? ['  Nothing to do.'] : []),
    ...(steps.length === 0 ? [] : ['  Would do:']),
    ...steps.map((step, index) => indented(stepLines(step, index + 1))),
    ...blocks.flatMap(({ what, code, message }) => [
      `  Blocked: ${what}: ${code}: ${message}`,
      `           ${failures[code].hint}`,
    ]),
  ];
  return lines.join('\n');
}

function indented(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ');
}
