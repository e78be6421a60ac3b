import { failures } from '../base/failures.ts';
import { showBytes } from '../base/show.ts';
import { deedText } from '../core/lvm-cluster/deed-text.ts';
import type { ForeseenCluster } from '../core/lvm-cluster/foresee.ts';
import { type NodePlan, nodePlans } from '../core/lvm-cluster/node-plans.ts';
import { stepLines } from './plan.ts';
import { table } from './table.ts';

export type ClusterPlanText = { readonly text: string; readonly isClear: boolean };

/** What an LVMCluster would do: to objects, and on each node to which disk. */
export function clusterPlanText(foreseen: ForeseenCluster): ClusterPlanText {
  const { deeds, troubles, waits, view } = foreseen;
  const plans = nodePlans(foreseen);
  const written = deeds.map(deedText).filter((text) => text !== undefined);
  const blocks = [...troubles, ...waits].map((text) => `Blocked: ${text}`);
  const isClear = blocks.length === 0 && plans.every(isClearPlan);
  const parts = [
    `A plan for LVMCluster ${view.cluster.metadata.name}. Nothing was changed.`,
    ...(blocks.length === 0 ? [] : [blocks.join('\n')]),
    ...(written.length === 0
      ? []
      : [['In the cluster it would', ...written.map((text) => `  ${text}`)].join('\n')]),
    ...(plans.length === 0 ? [noNode] : plans.map(nodeText)),
  ];
  return { text: parts.join('\n\n'), isClear };
}

const noNode =
  'No node is meant: look at nodeSelector and tolerations, and at labels and taints of the nodes.';

function isClearPlan({ isTold, blocks }: NodePlan): boolean {
  return isTold && blocks.length === 0;
}

function nodeText({ node, isTold, devices, steps, blocks }: NodePlan): string {
  if (!isTold) {
    return `Node ${node}\n  Its agent has not told of its disks as they are now, so nothing can be foreseen: is it running there? It tells once a minute at most.`;
  }
  const rows = devices.map((device) => [
    ...[device.group, device.path, showBytes(device.sizeBytes), device.model || '-'],
    ...[device.serial || '-', device.state, device.reasons.join('; ')],
  ]);
  const columns = ['GROUP', 'DEVICE', 'SIZE', 'MODEL', 'SERIAL', 'STATE', 'WHY'];
  const lines = [
    `Node ${node}`,
    ...(rows.length === 0 ? [] : [indented(table(columns, rows))]),
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
