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
const nodeName = 'metadata.name';

function requirementsOf({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm) {
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

const wholeNumber = /^[+-]?[0-9]+$/;

function compare(
  value: string | undefined,
  bound: string | undefined,
  test: (value: bigint, bound: bigint) => boolean,
): boolean {
  if (value === undefined || !wholeNumber.test(value)) return false;
  if (bound === undefined || !wholeNumber.test(bound)) return false;
  return test(BigInt(value), BigInt(bound));
}

/** Could one node be meant by both, whether or not there is such a node today? */
export function mayOverlap(one: NodeSelector | undefined, other: NodeSelector | undefined) {
  return termsOf(one).some((left) =>
    termsOf(other).some((right) => isPossible([...left, ...right])),
  );
}

function termsOf(selector: NodeSelector | undefined): readonly (readonly NodeRequirement[])[] {
  if (selector === undefined) return [[]];
  return selector.nodeSelectorTerms.map(requirementsOf).filter((all) => all.length > 0);
}

/** A label has one value or none, so each key can be looked at by itself. */
function isPossible(requirements: readonly NodeRequirement[]): boolean {
  const keys = new Set(requirements.map(({ key }) => key));
  return [...keys].every((key) => {
    const own = requirements.filter((one) => one.key === key);
    const candidates = [...(key === nodeName ? [] : [undefined]), ...valuesToTry(own)];
    return candidates.some((value) => own.every((one) => meets(one, value)));
  });
}

/**
 * If any value meets all of them, one of these does: a value that is named, the nearest numbers to
 * a bound, or one that is named nowhere.
 */
function valuesToTry(requirements: readonly NodeRequirement[]): readonly string[] {
  const named = requirements.flatMap(({ values = [] }) => values);
  const numbers = named.filter((value) => wholeNumber.test(value)).map(BigInt);
  // As many numbers beyond a bound may be named as not wanted.
  const steps = Array.from({ length: named.length + 1 }, (_, index) => BigInt(index + 1));
  const near = numbers.flatMap((bound) =>
    steps.flatMap((step) => [String(bound + step), String(bound - step)]),
  );
  const unnamed = named.reduce((longest, value) => `${longest}${value}`, 'x');
  return [...named, ...near, unnamed];
}
