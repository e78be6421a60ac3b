import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { CsiNode, Node, StorageClass, TopologyTerm } from '../../api/objects/storage.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { type ClusterNames, clusterNames } from './names.ts';

export const selectedNodeAnnotation = 'volume.kubernetes.io/selected-node';

/** The nodes as far as topology needs them. */
export type NodesView = {
  readonly node: (name: string) => Node | undefined;
  readonly csiNode: (name: string) => CsiNode | undefined;
  readonly all: () => Iterable<CsiNode>;
};

export type Placement =
  /** Where the volume may be, the best first; undefined: wherever there is most room. */
  | { readonly kind: 'nodes'; readonly nodes: readonly string[] | undefined }
  /** Not there: the scheduler has to choose again. */
  | { readonly kind: 'reschedule'; readonly because: Blocked }
  | Blocked;

export function selectedNode(claim: PersistentVolumeClaim): string | undefined {
  const name = claim.metadata.annotations?.[selectedNodeAnnotation];
  return name === '' ? undefined : name;
}

export type PlaceQuestion = {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  /** A copy is where its source is: the pod follows it, by the affinity of its volume. */
  readonly isCopy: boolean;
  readonly names: ClusterNames;
};

/** A volume is on one node: the one that the scheduler chose, or any that the class allows. */
export function placeClaim(question: PlaceQuestion, nodes: NodesView): Placement {
  const { claim, storageClass, names, isCopy } = question;
  const chosen = selectedNode(claim);
  if (chosen !== undefined && !isCopy) {
    return placeOnSelected(chosen, storageClass, nodes, names);
  }
  const known = [...nodes.all()]
    .map(({ metadata }) => metadata.name)
    .filter((name) => typeof segmentOf(name, nodes, names) === 'string')
    .toSorted();
  if (known.length === 0) {
    return blocked('DriverNotOnNode', `no node has the driver ${names.driver}`);
  }
  if (!isNarrowed(storageClass)) return { kind: 'nodes', nodes: undefined };
  const allowed = known.filter((name) => isAllowed(storageClass, nodes.node(name)));
  if (allowed.length === 0) {
    return blocked('NoNodeAllowed', disallowed(storageClass, `any of ${known.length} nodes`));
  }
  const found = allowed.map((name) => segmentOf(name, nodes, names)).filter(isSegment);
  return { kind: 'nodes', nodes: rotated(found, spreadOf(claim.metadata.name)) };
}

function placeOnSelected(
  name: string,
  storageClass: StorageClass,
  nodes: NodesView,
  names: ClusterNames,
): Placement {
  if (nodes.csiNode(name) === undefined) {
    const because = blocked('DriverNotOnNode', `the selected node ${name} has no CSINode`);
    return { kind: 'reschedule', because };
  }
  const segment = segmentOf(name, nodes, names);
  if (!isSegment(segment)) return segment;
  if (!isAllowed(storageClass, nodes.node(name))) {
    return blocked('NoNodeAllowed', disallowed(storageClass, `the selected node ${name}`));
  }
  return { kind: 'nodes', nodes: [segment] };
}

/** What the driver calls the node: the label that kubelet wrote when the driver was registered. */
function segmentOf(name: string, nodes: NodesView, names: ClusterNames): string | Blocked {
  const { topologyKey } = clusterNames(names);
  const drivers = nodes.csiNode(name)?.spec.drivers ?? [];
  const driver = drivers.find((one) => one.name === names.driver);
  if (driver?.topologyKeys?.includes(topologyKey) !== true) {
    const message = `the driver ${names.driver} is not registered on node ${name}`;
    return blocked('DriverNotOnNode', message);
  }
  const label = nodes.node(name)?.metadata.labels?.[topologyKey];
  if (label !== undefined) return label;
  return blocked('DriverNotOnNode', `node ${name} has no label ${topologyKey}`);
}

function isSegment(segment: string | Blocked): segment is string {
  return typeof segment === 'string';
}

/** By the labels of the node, as the scheduler does: a class may name zones. */
function isAllowed(storageClass: StorageClass, node: Node | undefined): boolean {
  if (!isNarrowed(storageClass)) return true;
  const labels = node?.metadata.labels ?? {};
  return (storageClass.allowedTopologies ?? []).some(({ matchLabelExpressions }) =>
    (matchLabelExpressions ?? []).every(({ key, values }) => {
      const label = labels[key];
      return label !== undefined && values.includes(label);
    }),
  );
}

function isNarrowed({ allowedTopologies = [] }: StorageClass): boolean {
  return allowedTopologies.length > 0;
}

function disallowed({ metadata, allowedTopologies }: StorageClass, which: string): string {
  const terms = (allowedTopologies ?? []).map(showTerm).join(' or ');
  return `StorageClass ${metadata.name} allows ${terms}, which does not match ${which}`;
}

function showTerm({ matchLabelExpressions }: TopologyTerm): string {
  const pairs = matchLabelExpressions ?? [];
  return pairs.map(({ key, values }) => `${key}=${values.join('|')}`).join(',');
}

function rotated(items: readonly string[], by: number): readonly string[] {
  const start = items.length === 0 ? 0 : by % items.length;
  return [...items.slice(start), ...items.slice(0, start)];
}

/** Neighbours of a StatefulSet begin at neighbouring nodes, other claims anywhere. */
function spreadOf(name: string): number {
  const [, set = name, ordinal = '0'] = /^(.*)-(\d{1,9})$/.exec(name) ?? [];
  let hash = 0x811c9dc5;
  for (const character of set) {
    hash = Math.imul(hash, 0x01000193) ^ (character.codePointAt(0) ?? 0);
  }
  return (hash >>> 0) + Number(ordinal);
}
