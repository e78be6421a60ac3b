import { parseQuantity } from '../api/quantity.ts';
import type { Bytes } from '../base/bytes.ts';
import { showBytes } from '../base/show.ts';
import type {
  ClassLine,
  ClusterLine,
  ClusterSummary,
  GroupLine,
  PodLine,
  VolumeLine,
} from '../core/doctor/summary.ts';
import { type Painter, toneOf } from './paint.ts';
import { type Paint, table } from './table.ts';

export type StatusText = {
  readonly summary: ClusterSummary;
  /** How many `doctor` has. */
  readonly findings: number;
  readonly program: string;
  readonly isWide: boolean;
  readonly paint: Painter;
};

/** How many claims and volumes are named where nobody asked for all of them. */
const linesMax = 10;

/** A cluster on one screen. */
export function clusterStatusText(status: StatusText): string {
  const { summary, isWide } = status;
  const blocks = [
    clustersText(summary.clusters, status),
    groupsText(summary.groups, status),
    isWide ? excludedText(summary.groups) : '',
    classesText(summary.classes),
    isWide ? roomText(summary.classes) : '',
    isWide ? podsText(summary.pods, status) : rolesText(summary, status),
    volumesText(status),
    ...unseenText(summary),
    endText(status),
  ];
  return blocks.filter((block) => block !== '').join('\n\n');
}

function clustersText(clusters: readonly ClusterLine[], { paint }: StatusText): string {
  if (clusters.length === 0) return 'There is no LVMCluster: lvmd.yaml says what nodes have.';
  const rows = clusters.map((one) => [
    `${one.namespace}/${one.name}`,
    one.isBeingDeleted ? `${one.state}, being deleted` : one.state,
  ]);
  const conditions = clusters.flatMap((one) =>
    one.conditions.map(({ type, reason, message }) => {
      const lines = message.split('\n').map((line) => `    ${line}`);
      return [`  ${type} is not true: ${reason}`, ...lines].join('\n');
    }),
  );
  return [table(['LVMCLUSTER', 'STATE'], rows, stateIn([1], paint)), ...conditions]
    .join('\n')
    .trimEnd();
}

function groupsText(groups: readonly GroupLine[], { paint }: StatusText): string {
  if (groups.length === 0) return '';
  const head = ['NODE', 'GROUP', 'STATE', 'SIZE', 'FREE', 'DEVICES', 'RAID', 'REASON'];
  const rows = groups.map((one) => [
    ...[one.node, one.name, one.state, size(one.size), size(one.free)],
    one.devices.join(',') || '-',
    one.raid === undefined ? '-' : raidText(one.raid),
    [one.reason, ...one.warnings].filter((text) => text !== '').join('; '),
  ]);
  return table(head, rows, stateIn([2, 6], paint));
}

function raidText({ status, minSyncPercent = 100 }: NonNullable<GroupLine['raid']>): string {
  return minSyncPercent < 100 ? `${status}, ${minSyncPercent} % in step` : status;
}

function excludedText(groups: readonly GroupLine[]): string {
  const rows = groups.flatMap(({ node, name, excluded }) =>
    excluded.map((device) => [node, name, device.name, device.reasons.join('; ')]),
  );
  return rows.length === 0 ? '' : table(['NODE', 'GROUP', 'LEFT ALONE', 'WHY'], rows);
}

function classesText(classes: readonly ClassLine[]): string {
  if (classes.length === 0) return 'There is no StorageClass of the driver.';
  const head = [
    'STORAGECLASS',
    'DEVICE CLASS',
    'BINDING',
    'RECLAIM',
    'VOLUMES',
    'NODES',
    'LARGEST',
  ];
  const rows = classes.map((one) => [
    one.isDefault ? `${one.name} (default)` : one.name,
    one.deviceClass || '(default)',
    ...[one.bindingMode, one.reclaimPolicy, String(one.volumes), String(one.nodes.length)],
    largest(one),
  ]);
  return table(head, rows);
}

function largest({ nodes }: ClassLine): string {
  const sizes = nodes.flatMap((room) => sizeIn(room.largest) ?? []);
  const [first] = sizes;
  if (first === undefined) return '-';
  return showBytes(sizes.reduce((most, one) => (one > most ? one : most), first));
}

function sizeIn(quantity: string): Bytes | undefined {
  const parsed = parseQuantity(quantity);
  return typeof parsed === 'bigint' ? parsed : undefined;
}

function roomText(classes: readonly ClassLine[]): string {
  const rows = classes.flatMap(({ name, nodes }) =>
    nodes.map((room) => [name, room.node, size(room.available), size(room.largest)]),
  );
  return rows.length === 0
    ? ''
    : table(['STORAGECLASS', 'NODE', 'AVAILABLE', 'LARGEST VOLUME'], rows);
}

function rolesText({ pods, leader }: ClusterSummary, { paint }: StatusText): string {
  if (pods.length === 0) return '';
  const roles = (['operator', 'agent'] as const).filter((role) =>
    pods.some((pod) => pod.role === role),
  );
  const rows = roles.map((role) => {
    const own = pods.filter((pod) => pod.role === role);
    const ready = own.filter((pod) => pod.isReady).length;
    const versions = [...new Set(own.map(({ version }) => version))].toSorted().join(',');
    const lead = role === 'operator' && leader !== '' ? `led by ${leader}` : '';
    const bad = own.filter((pod) => !pod.isReady).slice(0, linesMax);
    const troubles = bad.map((pod) => `${pod.node || pod.name}: ${pod.reason || 'not ready'}`);
    return [
      role,
      `${ready}/${own.length}`,
      versions,
      [lead, ...troubles].filter(Boolean).join('; '),
    ];
  });
  return table(['ROLE', 'READY', 'VERSION', 'NOTE'], rows, (cell, column) => {
    const [ready, all] = cell.split('/');
    return column === 1 ? paint(cell, ready === all ? 'good' : 'bad') : cell;
  });
}

function podsText(pods: readonly PodLine[], { paint }: StatusText): string {
  if (pods.length === 0) return '';
  const head = ['ROLE', 'POD', 'NODE', 'READY', 'RESTARTS', 'IMAGE', 'NOTE'];
  const rows = pods.map((pod) => [
    ...[pod.role, pod.name, pod.node || '-', pod.isReady ? 'yes' : 'no'],
    ...[String(pod.restarts), pod.image, pod.reason],
  ]);
  return table(head, rows, stateIn([3], paint));
}

function volumesText(status: StatusText): string {
  const { total, size: all, snapshots, waiting, refused } = status.summary.volumes;
  const counts = [
    `${count(total, 'volume')} (${size(all)})`,
    count(snapshots, 'snapshot'),
    `${count(waiting.length, 'claim')} waiting`,
    `${refused.length} refused`,
  ];
  return [
    counts.join(', '),
    ...named('waiting', waiting, status),
    ...named('refused', refused, status),
  ].join('\n');
}

function count(number: number, word: string): string {
  return number === 1 ? `1 ${word}` : `${number} ${word}s`;
}

function named(
  word: string,
  all: readonly VolumeLine[],
  { isWide }: StatusText,
): readonly string[] {
  const shown = isWide ? all : all.slice(0, linesMax);
  const lines = shown.map(({ namespace, name, reason }) => {
    const place = namespace === '' ? name : `${namespace}/${name}`;
    return `  ${word} ${place}: ${reason || 'for its first pod'}`;
  });
  const more = all.length - shown.length;
  return more > 0 ? [...lines, `  and ${more} more: -o wide shows them`] : lines;
}

export function unseenText({ unseen }: Pick<ClusterSummary, 'unseen'>): readonly string[] {
  if (unseen.length === 0) return [];
  const lines = unseen.map(({ part, message }) => `  ${part}: ${message}`);
  return [['Could not be read, and nothing is said of it:', ...lines].join('\n')];
}

function endText({ findings, program, paint, summary }: StatusText): string {
  if (findings === 0) {
    const limit = summary.unseen.length === 0 ? '' : ' in what could be read';
    return paint(`Nothing is wrong${limit}.`, summary.unseen.length === 0 ? 'good' : 'warning');
  }
  const things = `${count(findings, 'thing')} ${findings === 1 ? 'is' : 'are'}`;
  return paint(`${things} wrong: \`${program} doctor\` explains.`, 'bad');
}

/** Columns whose first word says how things are. */
function stateIn(columns: readonly number[], paint: Painter): Paint {
  return (cell, column) =>
    columns.includes(column) ? paint(cell, toneOf(cell.split(',')[0] ?? '')) : cell;
}

function size(quantity: string): string {
  const found = sizeIn(quantity);
  return found === undefined ? '-' : showBytes(found);
}
