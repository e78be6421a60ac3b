import { lvmsCrds, lvmsGroup } from '../src/api/crds/lvms.ts';
import { registrationName } from '../src/core/cluster/installed.ts';
import { rivalLeases } from '../src/core/cluster/leases.ts';
import { secretName } from '../src/operator/certificates.ts';
import { oldWorkloads } from '../src/operator/old-workloads.ts';
import {
  type Manifest,
  names,
  type Part,
  partNames,
  type Role,
  type Settings,
} from './manifests-settings.ts';

export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  /** Only of these. */
  readonly resourceNames?: readonly string[];
};

export type Rules = {
  /** In the namespace of the installation. */
  readonly own: readonly Rule[];
  /** In the whole cluster: each says why a Role does not do. */
  readonly cluster: readonly Rule[];
};

const read = ['get', 'list', 'watch'];
const follow = ['list', 'watch'];

/** What each part may do: what it does, and nothing else. */
export function rulesOf(part: Part, domain: string): Rules {
  switch (part) {
    case 'operator':
      return operatorRules(domain);
    case 'agent':
      return agentRules(domain);
    case 'snapshots':
      return snapshotRules;
  }
}

/** The definitions of snapshots may come and go; those of others are none of our business. */
const snapshotDefinitions = [
  ...['volumesnapshots', 'volumesnapshotcontents', 'volumesnapshotclasses'].map(
    (plural) => `${plural}.snapshot.storage.k8s.io`,
  ),
  ...['volumegroupsnapshotcontents', 'volumegroupsnapshotclasses'].map(
    (plural) => `${plural}.groupsnapshot.storage.k8s.io`,
  ),
];

/** LVMS' kinds may come and go, too. */
const lvmsDefinitions = lvmsCrds.map(({ metadata }) => metadata.name);

function operatorRules(domain: string): Rules {
  return {
    own: ownOperatorRules,
    cluster: [
      ...[...volumeRules(domain), ...snapshotsOfVolumes, ...lvmsRules],
      // Who did our work before may still do it in another namespace, which we do not know. The
      // leases of these names are looked for everywhere, and taken where nobody renews them.
      {
        ...rule('coordination.k8s.io', ['leases'], ['get', 'list', 'update']),
        resourceNames: rivalLeases({ domain, driver: domain }),
      },
    ],
  };
}

const ownOperatorRules: readonly Rule[] = [
  // What an administrator asks for, and what became of it.
  rule(lvmsGroup, ['lvmclusters'], [...follow, 'patch']),
  rule(lvmsGroup, ['lvmclusters/status'], ['patch']),
  // What follows from it for the nodes.
  rule(lvmsGroup, ['lvmvolumegroups'], [...follow, 'create', 'patch', 'delete']),
  rule(lvmsGroup, ['lvmvolumegroupnodestatuses'], [...follow, 'create', 'patch', 'delete']),
  // The certificate of our webhooks. To make one nobody can be kept to a name.
  rule('', ['secrets'], ['create']),
  { ...rule('', ['secrets'], [...follow, 'patch']), resourceNames: [secretName] },
  // One leader: our lease, and those of the sidecars whose place we take. To make one nobody can
  // be kept to a name.
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update']),
  // How LVMS ran TopoLVM once: it is deleted if it belongs to an LVMCluster.
  { ...rule('apps', ['deployments'], ['get', 'delete']), resourceNames: [oldWorkloads.deployment] },
  { ...rule('apps', ['daemonsets'], ['get', 'delete']), resourceNames: [oldWorkloads.daemonSet] },
  // What nodes that are gone have left behind is taken away. Agents write their own.
  rule('storage.k8s.io', ['csistoragecapacities'], [...follow, 'delete']),
];

/** Claims and volumes, as the sidecars had them. */
function volumeRules(domain: string): readonly Rule[] {
  return [
    // Volumes belong to no namespace. They are made for claims, grown, and deleted when released;
    // patched: finalizer, and the size after a growth.
    rule('', ['persistentvolumes'], [...read, 'create', 'patch', 'delete']),
    // Claims of every namespace ask for volumes. Patched: the selected node is taken off so that
    // a pod moves on, and finalizers guard what is being copied. Never deleted.
    rule('', ['persistentvolumeclaims'], [...read, 'patch']),
    // How far a growth is.
    rule('', ['persistentvolumeclaims/status'], ['patch']),
    // Labels of nodes give topology, their annotations free space. Patched: which version leads,
    // for the agent, and TopoLVM's finalizer is taken off a Node that is being deleted.
    rule('', ['nodes'], [...follow, 'patch']),
    // Events are written in the namespace of what they are about.
    rule('', ['events'], ['create', 'patch']),
    // What a claim asks for, and which nodes have the driver. None of them has a namespace.
    rule('storage.k8s.io', ['storageclasses', 'csinodes'], follow),
    // Each device class of an LVMCluster gets one, by server-side apply.
    rule('storage.k8s.io', ['storageclasses'], ['create', 'patch', 'delete']),
    // One that a claim names is looked at; whether the kind is served need not be known before.
    rule('storage.k8s.io', ['volumeattributesclasses'], ['get']),
    // The intent for each volume and snapshot, without a namespace.
    rule(domain, ['logicalvolumes'], [...read, 'create', 'patch', 'delete']),
    // The status is the agents', but for the code of a growth that failed: the next one must not
    // find it.
    rule(domain, ['logicalvolumes/status'], ['patch']),
  ];
}

const snapshotsOfVolumes: readonly Rule[] = [
  // Snapshots of every namespace. Patched: a finalizer while one is being restored.
  rule('snapshot.storage.k8s.io', ['volumesnapshots'], [...read, 'patch']),
  // Each thin device class of an LVMCluster gets one.
  rule(
    'snapshot.storage.k8s.io',
    ['volumesnapshotclasses'],
    [...follow, 'create', 'patch', 'delete'],
  ),
  // Contents have no namespace. Patched: annotation of a snapshot under way, finalizer at the
  // end; the status holds the handle.
  rule('snapshot.storage.k8s.io', ['volumesnapshotcontents'], [...read, 'patch']),
  rule('snapshot.storage.k8s.io', ['volumesnapshotcontents/status'], ['patch']),
  // The same for groups of snapshots.
  rule('groupsnapshot.storage.k8s.io', ['volumegroupsnapshotclasses'], follow),
  rule('groupsnapshot.storage.k8s.io', ['volumegroupsnapshotcontents'], [...read, 'patch']),
  rule('groupsnapshot.storage.k8s.io', ['volumegroupsnapshotcontents/status'], ['patch']),
];

const lvmsRules: readonly Rule[] = [
  // API servers are told whom to believe, in our registrations only.
  {
    ...rule(
      'admissionregistration.k8s.io',
      ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'],
      [...follow, 'patch'],
    ),
    resourceNames: [registrationName],
  },
  // Is this MicroShift? It says so in a namespace of its own.
  { ...rule('', ['configmaps'], ['get']), resourceNames: ['microshift-version'] },
  // Whether the kinds of snapshots and of LVMS are there: they may be installed after us.
  {
    ...rule('apiextensions.k8s.io', ['customresourcedefinitions'], follow),
    resourceNames: [...snapshotDefinitions, ...lvmsDefinitions],
  },
];

function agentRules(domain: string): Rules {
  return {
    own: [
      // How much its node can give to each class. The policy keeps it to its own objects.
      rule('storage.k8s.io', ['csistoragecapacities'], [...read, 'create', 'patch', 'delete']),
      // Those objects go when the agents go: each names the DaemonSet, by its UID.
      { ...rule('apps', ['daemonsets'], ['get']), resourceNames: [names.agent] },
      // Which volume groups its node shall have. The policy lets it set its own mark, no more.
      rule(lvmsGroup, ['lvmvolumegroups'], [...follow, 'patch']),
      // What its node has of them. The policy keeps it to its own.
      rule(lvmsGroup, ['lvmvolumegroupnodestatuses'], [...follow, 'patch']),
    ],
    cluster: [
      // The volumes of its node, which have no namespace. Patched: finalizer and label of objects
      // that TopoLVM made, and the finalizer when the LV is gone.
      rule(domain, ['logicalvolumes'], [...read, 'patch']),
      // What became of them.
      rule(domain, ['logicalvolumes/status'], ['patch']),
      // Its own Node: annotations with free space and its version, and TopoLVM's finalizer.
      rule('', ['nodes'], [...follow, 'patch']),
      // Which classes it has to tell the capacity of.
      rule('storage.k8s.io', ['storageclasses'], follow),
    ],
  };
}

/** On top of the operator's: what a cluster needs once, for the snapshots of all drivers. */
const snapshotRules: Rules = {
  own: [],
  cluster: [
    // Is somebody else at it? They hold a lease of this name, in a namespace that we do not know.
    {
      ...rule('coordination.k8s.io', ['leases'], ['list']),
      resourceNames: ['snapshot-controller-leader'],
    },
    // Snapshots are in every namespace, and are told here what became of them.
    rule('snapshot.storage.k8s.io', ['volumesnapshots/status'], ['patch']),
    // Each snapshot gets a content, which goes with it. Contents have no namespace.
    rule('snapshot.storage.k8s.io', ['volumesnapshotcontents'], ['create', 'delete']),
  ],
};

function rule(group: string, resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [group], resources, verbs };
}

const api = 'rbac.authorization.k8s.io';

/** Roles and bindings of one part; `account` is who may act in it. */
export function accessOf(part: Part, settings: Settings, account: Role): readonly Manifest[] {
  const { namespace, domain } = settings;
  const name = partNames[part];
  const { own, cluster } = rulesOf(part, domain);
  const subjects = [{ kind: 'ServiceAccount', name: names[account], namespace }];
  const pair = (kind: 'Role' | 'ClusterRole', rules: readonly Rule[]): readonly Manifest[] => {
    const metadata = kind === 'Role' ? { name, namespace } : { name };
    const roleRef = { apiGroup: api, kind, name };
    return [
      { apiVersion: `${api}/v1`, kind, metadata, rules },
      { apiVersion: `${api}/v1`, kind: `${kind}Binding`, metadata, roleRef, subjects },
    ];
  };
  return [...pair('ClusterRole', cluster), ...(own.length === 0 ? [] : pair('Role', own))];
}

/**
 * What people may do. These are added to the roles that every cluster has for them, each of which
 * contains the one before it: view, edit, admin.
 */
export function userRoles({ domain }: Settings): readonly Manifest[] {
  return Object.entries(userRules(domain)).map(([role, rules]) => ({
    apiVersion: `${api}/v1`,
    kind: 'ClusterRole',
    metadata: { name: `quarry-${role}`, labels: { [`${api}/aggregate-to-${role}`]: 'true' } },
    rules,
  }));
}

/**
 * Agents act by LVMVolumeGroups and LogicalVolumes, and deleting one destroys what it is about:
 * only who may do everything writes those. Everybody else has claims and the LVMCluster.
 */
export function userRules(domain: string) {
  return {
    view: [
      rule(
        lvmsGroup,
        lvmsCrds.map(({ spec }) => spec.names.plural),
        read,
      ),
      rule(domain, ['logicalvolumes'], read),
    ],
    edit: [rule(lvmsGroup, ['lvmclusters'], ['create', 'update', 'patch'])],
    // It takes the volume groups of all nodes away.
    admin: [rule(lvmsGroup, ['lvmclusters'], ['delete'])],
  } as const;
}

export function accountOf(role: Role, { namespace }: Settings): Manifest {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: names[role], namespace } };
}

/** OpenShift and MicroShift let no privileged pod run without. Elsewhere nobody asks for it. */
export function privilegedOf({ namespace }: Settings, account: Role): readonly Manifest[] {
  const name = 'quarry-privileged';
  const rules = [
    {
      ...rule('security.openshift.io', ['securitycontextconstraints'], ['use']),
      resourceNames: ['privileged'],
    },
  ];
  const subjects = [{ kind: 'ServiceAccount', name: names[account], namespace }];
  const roleRef = { apiGroup: api, kind: 'Role', name };
  const metadata = { name, namespace };
  return [
    { apiVersion: `${api}/v1`, kind: 'Role', metadata, rules },
    { apiVersion: `${api}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects },
  ];
}
