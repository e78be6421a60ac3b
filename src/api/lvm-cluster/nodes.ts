import type {
  NodeRequirement,
  NodeSelector,
  NodeSelectorTerm,
  Taint,
  Toleration,
} from '../objects/node-selector.ts';
import type { Node } from '../objects/storage.ts';

/**
 * Taints that Kubernetes puts on a node by its state. Pods of a DaemonSet stay there, and so do the
 * volume groups: a node that is away for an hour is as much meant as it was before.
 */
const ofItsState = new Set(
  [
    ...['not-ready', 'unreachable', 'unschedulable', 'network-unavailable'],
    ...['disk-pressure', 'memory-pressure', 'pid-pressure'],
  ].map((name) => `node.kubernetes.io/${name}`),
);

/** A node whose disks are ours to take: its labels are meant, and every taint is tolerated. */
export function isMeant(
  node: Node,
  selector: NodeSelector | undefined,
  tolerations: readonly Toleration[],
): boolean {
  const taints = (node.spec?.taints ?? []).filter(({ key }) => !ofItsState.has(key));
  return taints.every((taint) => isTolerated(taint, tolerations)) && isSelected(node, selector);
}

/** A selector that is not there means every node. */
export function isSelected(node: Node, selector: NodeSelector | undefined): boolean {
  return selector === undefined || selector.nodeSelectorTerms.some((term) => holds(term, node));
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some(({ key = '', operator = '', value = '', effect = '' }) => {
    if (effect !== '' && effect !== taint.effect) return false;
    if (key !== '' && key !== taint.key) return false;
    if (operator === 'Exists') return true;
    return key !== '' && (operator === '' || operator === 'Equal') && value === (taint.value ?? '');
  });
}

function holds(term: NodeSelectorTerm, node: Node): boolean {
  const all = requirementsOf(term);
  return all.length > 0 && all.every((one) => meets(one, labelOrName(one.key, node)));
}

/** Labels and fields cannot be mixed up: a label has no such name. */
export const nodeName = 'metadata.name';

export function requirementsOf({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm) {
  return [...matchExpressions, ...matchFields];
}

function labelOrName(key: string, { metadata }: Node): string | undefined {
  return key === nodeName ? metadata.name : metadata.labels?.[key];
}

function meets({ operator, values = [] }: NodeRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return compare(value, values[0], (left, right) => left > right);
    case 'Lt':
      return compare(value, values[0], (left, right) => left < right);
    default:
      return false;
  }
}

/** A label has at most so many characters. */
const wholeNumber = /^[+-]?[0-9]{1,63}$/;

export function numberOf(value: string | undefined): bigint | undefined {
  return value === undefined || !wholeNumber.test(value) ? undefined : BigInt(value);
}

function compare(
  value: string | undefined,
  bound: string | undefined,
  test: (value: bigint, bound: bigint) => boolean,
): boolean {
  const [left, right] = [numberOf(value), numberOf(bound)];
  return left !== undefined && right !== undefined && test(left, right);
}
