import type {
  ConfigMap,
  DaemonSet,
  Labels,
  PodTemplate,
  PodTemplateSpec,
} from '../../api/objects/edge-workload.ts';
import { isSameJson } from '../../api/same.ts';
import { show, showList } from '../../base/show.ts';

/** Names of what is written, and of what it is made of. They are LVMS' and MicroShift's. */
export const edgeNames = {
  configMap: 'lvmd',
  key: 'lvmd.yaml',
  /** Of the pod: where the file comes from. */
  volume: 'lvmd',
  /** DaemonSet, and the PodTemplate that it is rendered from. */
  agent: 'vg-manager',
  operator: 'lvms-operator',
} as const;

/** On the pods: what is read at their start, so that another text starts other pods. */
export const checksumAnnotation = 'quarry.io/lvmd-sha256';
export const socketAnnotation = 'quarry.io/lvmd-socket';

/** On the DaemonSet: what it was rendered as. What is left out later must go from it, too. */
export const renderedAnnotation = 'quarry.io/rendered-sha256';

export type EdgeSight = {
  readonly configMap: ConfigMap | undefined;
  readonly daemonSet: DaemonSet | undefined;
  readonly template: PodTemplate | undefined;
  /** What MicroShift ran before us, the controller first. */
  readonly old: readonly OldProgram[];
  readonly oldPods: readonly string[];
};

export type OldProgram = {
  readonly kind: 'Deployment' | 'DaemonSet';
  readonly name: string;
  readonly uid: string;
};

/** As MicroShift calls them. */
export const oldNames = { Deployment: 'topolvm-controller', DaemonSet: 'topolvm-node' } as const;

export type EdgeWish = {
  readonly namespace: string;
  /** Undefined where an LVMCluster has the classes, and agents write the file of the host. */
  readonly lvmd: EdgeText | undefined;
  /** May the programs of TopoLVM be taken away? */
  readonly replacesTopolvm: boolean;
  /** SHA-256 of any text. */
  readonly digest: (text: string) => string;
};

export type EdgeText = {
  readonly text: string;
  /** SHA-256 of it. */
  readonly checksum: string;
  readonly socketName: string;
};

/** As on every node of a larger cluster: agents can write to it. */
export const lvmdOnHost = {
  hostPath: { path: '/etc/topolvm', type: 'DirectoryOrCreate' },
} as const;

export type DaemonSetDraft = {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Labels;
    readonly annotations: Labels;
    readonly resourceVersion?: string;
  };
  readonly spec: DaemonSet['spec'];
};

/** One write. Each can be done again, and the next look finds what it did. */
export type EdgeDeed =
  | { readonly kind: 'create-config-map' | 'change-config-map'; readonly lvmd: EdgeText }
  /** Definitions, classes and volumes stay. */
  | { readonly kind: 'delete-old'; readonly old: OldProgram }
  | {
      readonly kind: 'create-daemon-set' | 'update-daemon-set';
      readonly object: DaemonSetDraft;
    };

export type EdgeDecision =
  | { readonly kind: 'rest' }
  | { readonly kind: 'do'; readonly deed: EdgeDeed }
  /** It comes by itself, or with what is being installed. */
  | { readonly kind: 'wait'; readonly why: string }
  | { readonly kind: 'blocked'; readonly why: string };

/** The text first: pods that are told of it by its checksum find it when they start. */
export function planEdge(wish: EdgeWish, sight: EdgeSight): EdgeDecision {
  const { configMap, daemonSet, template } = sight;
  const where = `${wish.namespace}/${edgeNames.agent}`;
  if (template?.template === undefined) {
    const why = `there is no PodTemplate ${where} yet: apply deploy/microshift/quarry.yaml`;
    return { kind: 'wait', why };
  }
  if (daemonSet?.metadata.deletionTimestamp !== undefined) {
    return { kind: 'wait', why: `DaemonSet ${where} is being deleted` };
  }
  const wanted = renderDaemonSet(wish, template.template);
  const selector = daemonSet?.spec.selector?.matchLabels;
  if (selector !== undefined && !isSameJson(selector, wanted.spec.selector?.matchLabels)) {
    return { kind: 'blocked', why: foreignText(where, selector) };
  }
  const withdrawal = withdrawOld(wish, sight);
  if (withdrawal !== undefined) return withdrawal;
  if (wish.lvmd !== undefined && configMap?.data?.[edgeNames.key] !== wish.lvmd.text) {
    const kind = configMap === undefined ? 'create-config-map' : 'change-config-map';
    return { kind: 'do', deed: { kind, lvmd: wish.lvmd } };
  }
  if (daemonSet === undefined) {
    return { kind: 'do', deed: { kind: 'create-daemon-set', object: wanted } };
  }
  if (isContained(wanted, daemonSet)) return { kind: 'rest' };
  const object = { ...wanted, metadata: mergedMetadata(wanted, daemonSet) };
  return { kind: 'do', deed: { kind: 'update-daemon-set', object } };
}

/** Kubelet knows one socket for a driver: TopoLVM has gone before we come. */
function withdrawOld(wish: EdgeWish, { old, oldPods }: EdgeSight): EdgeDecision | undefined {
  const [first] = old;
  if (first === undefined) {
    if (oldPods.length === 0) return undefined;
    return { kind: 'wait', why: `TopoLVM is still ending: ${showList(oldPods)}` };
  }
  if (wish.replacesTopolvm) return { kind: 'do', deed: { kind: 'delete-old', old: first } };
  const why =
    `${first.kind} ${wish.namespace}/${first.name} is there, and two cannot serve one node: ` +
    'delete it, or run this with --replace-topolvm. Leave definitions and classes; no volume is touched';
  return { kind: 'blocked', why };
}

function foreignText(where: string, selector: Labels): string {
  return (
    `DaemonSet ${where} selects pods by ${show(selector)}: somebody else made it, and that can ` +
    `never be changed. Delete it, which touches no volume, and run this again`
  );
}

export function renderDaemonSet(wish: EdgeWish, template: PodTemplateSpec): DaemonSetDraft {
  const { namespace, lvmd, digest } = wish;
  const { labels = {}, annotations = {} } = template.metadata ?? {};
  const marks = { ...annotations, ...marksOf(lvmd) };
  const metadata = { labels, ...(Object.keys(marks).length === 0 ? {} : { annotations: marks }) };
  const spec = {
    selector: { matchLabels: selectorIn(labels) },
    // Never two on one node at a time: kubelet knows one socket.
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } },
    template: { ...(lvmd === undefined ? withHostFile(template) : template), metadata },
  };
  const rendered = { [renderedAnnotation]: digest(JSON.stringify(spec)) };
  return { metadata: { name: edgeNames.agent, namespace, labels, annotations: rendered }, spec };
}

function marksOf(lvmd: EdgeText | undefined): Labels {
  if (lvmd === undefined) return {};
  return { [checksumAnnotation]: lvmd.checksum, [socketAnnotation]: lvmd.socketName };
}

function withHostFile(template: PodTemplateSpec): PodTemplateSpec {
  const { spec = {} } = template;
  const volumes = (spec.volumes ?? []).map((volume) =>
    volume.name === edgeNames.volume ? { name: volume.name, ...lvmdOnHost } : volume,
  );
  return { ...template, spec: { ...spec, volumes } };
}

/** As in the manifests: a selector can never change, so it has these two labels only. */
function selectorIn(labels: Labels): Labels {
  const keys = ['app.kubernetes.io/name', 'app.kubernetes.io/component'];
  return Object.fromEntries(keys.map((key) => [key, labels[key] ?? '']));
}

/** What others noted on the object stays. */
function mergedMetadata({ metadata: own }: DaemonSetDraft, { metadata: found }: DaemonSet) {
  const { resourceVersion, labels = {}, annotations = {} } = found;
  return {
    ...{ ...own, resourceVersion, labels: { ...labels, ...own.labels } },
    annotations: { ...annotations, ...own.annotations },
  };
}

/**
 * Does an object say all that is wanted? The API server fills in fields that were left out, and
 * leaves out what is empty. It never adds to a list. A field that is not wanted any more looks like
 * one that was filled in: that is what `renderedAnnotation` is for.
 */
export function isContained(wanted: unknown, found: unknown): boolean {
  if (isEmpty(wanted)) return isEmpty(found) || typeof wanted !== 'string';
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return false;
    return wanted.every((item, at) => isContained(item, found[at]));
  }
  if (typeof wanted !== 'object' || wanted === null) return wanted === found;
  if (typeof found !== 'object' || found === null) return false;
  const there = found as Readonly<Record<string, unknown>>;
  return Object.entries(wanted).every(([key, value]) => isContained(value, there[key]));
}

/** As good as left out. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
