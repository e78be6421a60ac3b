import { parseQuantity } from '../../src/api/quantity.ts';
import { fieldOf, forbidden, invalid, type Refusal, type Stored } from './fake-api-wire.ts';
import type { Json } from './fake-patch.ts';

/**
 * What a real server does to objects of the kinds that we write: defaults, finalizers, fields that
 * never change again, and what a write to `status` may touch.
 */
export type Rule = {
  readonly isNamespaced: boolean;
  readonly hasStatus?: boolean;
  /** A custom resource takes nothing but `status` there; those built in take metadata too. */
  readonly isCustom?: boolean;
  readonly complete?: (draft: Stored) => Stored;
  readonly objection?: (before: Stored, after: Stored, api: Peek) => Refusal | undefined;
};

/** Other objects, for rules that look at them. */
export type Peek = { all(collection: string): readonly Stored[] };

export const collections = {
  claims: '/api/v1/persistentvolumeclaims',
  volumes: '/api/v1/persistentvolumes',
  nodes: '/api/v1/nodes',
  events: '/api/v1/events',
  classes: '/apis/storage.k8s.io/v1/storageclasses',
  csiNodes: '/apis/storage.k8s.io/v1/csinodes',
  csiDrivers: '/apis/storage.k8s.io/v1/csidrivers',
  capacities: '/apis/storage.k8s.io/v1/csistoragecapacities',
  leases: '/apis/coordination.k8s.io/v1/leases',
  logicalVolumes: '/apis/topolvm.io/v1/logicalvolumes',
  legacyVolumes: '/apis/topolvm.cybozu.com/v1/logicalvolumes',
  snapshots: '/apis/snapshot.storage.k8s.io/v1/volumesnapshots',
  contents: '/apis/snapshot.storage.k8s.io/v1/volumesnapshotcontents',
  definitions: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  snapshotClasses: '/apis/snapshot.storage.k8s.io/v1/volumesnapshotclasses',
  secrets: '/api/v1/secrets',
  validatingWebhooks: '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
  mutatingWebhooks: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations',
  configMaps: '/api/v1/configmaps',
  pods: '/api/v1/pods',
  podTemplates: '/api/v1/podtemplates',
  daemonSets: '/apis/apps/v1/daemonsets',
  deployments: '/apis/apps/v1/deployments',
  lvmClusters: '/apis/lvm.topolvm.io/v1alpha1/lvmclusters',
  lvmVolumeGroups: '/apis/lvm.topolvm.io/v1alpha1/lvmvolumegroups',
  lvmNodeStatuses: '/apis/lvm.topolvm.io/v1alpha1/lvmvolumegroupnodestatuses',
} as const;

const custom = { isNamespaced: false, hasStatus: true, isCustom: true } as const;

const rules: Readonly<Record<string, Rule>> = {
  [collections.claims]: {
    ...{ isNamespaced: true, hasStatus: true, isCustom: false },
    complete: (draft) =>
      withFinalizer('kubernetes.io/pvc-protection', {
        ...draft,
        spec: withSource(withDefaults(draft['spec'], { volumeMode: 'Filesystem' })),
        status: { phase: 'Pending' },
      }),
    objection: claimObjection,
  },
  [collections.volumes]: {
    ...{ isNamespaced: false, hasStatus: true, isCustom: false },
    complete: (draft) =>
      withFinalizer('kubernetes.io/pv-protection', {
        ...draft,
        spec: withDefaults(draft['spec'], {
          ...{ volumeMode: 'Filesystem', persistentVolumeReclaimPolicy: 'Retain' },
        }),
        status: { phase: 'Pending' },
      }),
    objection: fixed('spec.csi', 'spec.nodeAffinity', 'spec.volumeMode'),
  },
  [collections.nodes]: { isNamespaced: false, hasStatus: true, isCustom: false },
  [collections.events]: { isNamespaced: true },
  [collections.leases]: { isNamespaced: true },
  [collections.csiNodes]: { isNamespaced: false },
  [collections.csiDrivers]: { isNamespaced: false },
  [collections.classes]: {
    isNamespaced: false,
    complete: (draft) => ({
      ...{ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
      ...draft,
    }),
    objection: fixed('provisioner', 'parameters', 'reclaimPolicy', 'volumeBindingMode'),
  },
  [collections.secrets]: { isNamespaced: true, objection: fixed('type') },
  [collections.validatingWebhooks]: { isNamespaced: false },
  [collections.mutatingWebhooks]: { isNamespaced: false },
  [collections.configMaps]: { isNamespaced: true },
  [collections.podTemplates]: { isNamespaced: true },
  [collections.pods]: { isNamespaced: true, hasStatus: true, isCustom: false },
  [collections.daemonSets]: {
    ...{ isNamespaced: true, hasStatus: true, isCustom: false },
    objection: fixed('spec.selector'),
  },
  [collections.lvmClusters]: { ...custom, isNamespaced: true },
  [collections.lvmVolumeGroups]: { ...custom, isNamespaced: true },
  [collections.lvmNodeStatuses]: { ...custom, isNamespaced: true },
  [collections.capacities]: {
    isNamespaced: true,
    objection: fixed('nodeTopology', 'storageClassName'),
  },
  [collections.logicalVolumes]: custom,
  [collections.legacyVolumes]: custom,
  [collections.snapshots]: { ...custom, isNamespaced: true, objection: fixed('spec.source') },
  [collections.contents]: { ...custom, objection: fixed('spec.source', 'spec.driver') },
};

export function ruleOf(collection: string): Rule | undefined {
  return rules[collection];
}

function withDefaults(spec: unknown, defaults: Json): Json {
  return { ...defaults, ...(spec as Json | undefined) };
}

/** One of both names of the source is enough; the server writes the other. */
function withSource(spec: Json): Json {
  const source = spec['dataSource'] ?? spec['dataSourceRef'];
  return source === undefined ? spec : { ...spec, dataSource: source, dataSourceRef: source };
}

function withFinalizer(finalizer: string, draft: Stored): Stored {
  const finalizers = [...new Set([...(draft.metadata.finalizers ?? []), finalizer])];
  return { ...draft, metadata: { ...draft.metadata, finalizers } };
}

function fixed(...paths: readonly string[]): NonNullable<Rule['objection']> {
  return (before, after) => {
    const changed = paths.find((path) => {
      const was = fieldOf(before, path);
      return was !== undefined && !isEqual(was, fieldOf(after, path));
    });
    return changed === undefined ? undefined : invalid(`${changed}: Invalid: field is immutable`);
  };
}

/** Of a claim's wish only its size, its volume's name and its attributes class can change. */
function claimObjection(before: Stored, after: Stored, api: Peek): Refusal | undefined {
  const rest = (object: Stored) => ({
    ...(object['spec'] as Json),
    ...{ resources: undefined, volumeName: undefined, volumeAttributesClassName: undefined },
  });
  if (!isEqual(rest(before), rest(after))) {
    return invalid('spec: Forbidden: spec is immutable after creation except resources.requests');
  }
  const name = fieldOf(before, 'spec.volumeName') ?? '';
  if (name !== '' && name !== fieldOf(after, 'spec.volumeName')) {
    return invalid('spec.volumeName: Forbidden: is immutable once set');
  }
  return sizeObjection(before, after, api);
}

function sizeObjection(before: Stored, after: Stored, api: Peek): Refusal | undefined {
  const path = 'spec.resources.requests.storage';
  const [was, is] = [sizeAt(before, path), sizeAt(after, path)];
  if (was === is) return undefined;
  if (fieldOf(before, 'status.phase') !== 'Bound') {
    return forbidden('only bound persistent volume claims can be expanded');
  }
  const className = fieldOf(before, 'spec.storageClassName');
  const theClass = api.all(collections.classes).find(({ metadata }) => metadata.name === className);
  if (theClass?.['allowVolumeExpansion'] !== true) {
    return forbidden('the storage class that provisions the pvc must support resize');
  }
  const has = sizeAt(before, 'status.capacity.storage');
  if (is < was && is <= has) return invalid('spec.resources: can not be less than status.capacity');
  return undefined;
}

export function sizeAt(object: Json, path: string): bigint {
  const size = parseQuantity(fieldOf(object, path) ?? '0');
  return typeof size === 'bigint' ? size : 0n;
}

/** Equal in what they say: the order of keys and what is undefined say nothing. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => isEqual(item, b[index]));
  }
  if (!isObject(a) || !isObject(b)) return a === b;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isEqual(a[key], b[key]));
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
