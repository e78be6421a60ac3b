import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { logicalVolumeCrd } from '../../../src/api/crds/logical-volume.ts';
import { lvmsCrds } from '../../../src/api/crds/lvms.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { type Kind, type KubeObject, metadataShape } from '../../../src/kube/kind.ts';
import { logicalVolumeKind } from '../../../src/kube/kinds.ts';
import {
  lvmClusterKind,
  lvmNodeStatusKind,
  lvmVolumeGroupKind,
} from '../../../src/kube/lvms-kinds.ts';
import { readRelease } from '../../../tools/manifests.ts';
import { defaultSettings } from '../../../tools/manifests-objects.ts';
import { userRoles } from '../../../tools/manifests-rbac.ts';
import { served, until } from './kinds.ts';
import { adminOf, type Plane, startPlane } from './plane.ts';
import { type Attempt, Stage } from './stage.ts';

/** What people may do with our kinds, asked of a real kube-apiserver in their names. */

const shape = { metadata: metadataShape } as const;
const definitions: Kind<KubeObject> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', shape },
  ...{ plural: 'customresourcedefinitions', isNamespaced: false },
};
const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1', shape } as const;
const roles: Kind<KubeObject> = {
  ...{ ...rbac, kind: 'ClusterRole', plural: 'clusterroles', isNamespaced: false },
};
const bindings: Kind<KubeObject> = {
  ...{ ...rbac, kind: 'ClusterRoleBinding', plural: 'clusterrolebindings', isNamespaced: false },
};
const namespacedBindings: Kind<KubeObject> = {
  ...{ ...rbac, kind: 'RoleBinding', plural: 'rolebindings', isNamespaced: true },
};

const users = ['view', 'edit', 'admin', 'cluster-admin'] as const;
const namespace = 'default';
const metadata = { name: 'mine', namespace };

let plane: Plane;
let admin: KubeClient;
let stage: Stage;
let close = () => {};

before(async () => {
  plane = await startPlane();
  ({ admin, close } = adminOf(plane));
  stage = new Stage(plane);
  const own = logicalVolumeCrd({ group: 'topolvm.io', hasSelectableFields: true });
  for (const crd of [own, ...lvmsCrds]) {
    await admin.create(definitions, { metadata: crd.metadata, spec: crd.spec });
  }
  for (const role of userRoles(defaultSettings(readRelease()))) await admin.create(roles, role);
  for (const role of users) {
    await admin.create(bindings, { metadata: { name: `one-${role}` }, ...binding(role, role) });
  }
  const inOne = binding('edit', 'edit-here');
  await admin.create(namespacedBindings, { metadata: { name: 'here', namespace }, ...inOne });
  await served(admin, lvmNodeStatusKind);
  await admin.create(lvmClusterKind, { metadata, spec: {} });
  await admin.create(lvmVolumeGroupKind, { metadata, spec: {} });
  await admin.create(lvmNodeStatusKind, { metadata, spec: {} });
  const spec = { name: 'x', nodeName: 'n1', size: '1Gi' };
  await admin.create(logicalVolumeKind('topolvm.io'), { metadata: { name: 'mine' }, spec });
  await plane.startControllers();
  // Somebody has to put our roles into those that the cluster has.
  await until('our roles are part of admin', async () => {
    const answer = await stage.ask('admin', attempts(ours.cluster)['get'] as Attempt);
    return answer === 200;
  });
});

after(async () => {
  close();
  stage?.close();
  await plane?.stop();
});

function binding(name: string, user: string) {
  const apiGroup = rbac.group;
  return {
    roleRef: { apiGroup, kind: 'ClusterRole', name },
    subjects: [{ apiGroup, kind: 'User', name: user }],
  };
}

const lvms = `/apis/lvm.topolvm.io/v1alpha1/namespaces/${namespace}`;
const ours = {
  cluster: {
    path: `${lvms}/lvmclusters`,
    apiVersion: 'lvm.topolvm.io/v1alpha1',
    kind: 'LVMCluster',
  },
  group: {
    path: `${lvms}/lvmvolumegroups`,
    ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMVolumeGroup' },
  },
  report: {
    path: `${lvms}/lvmvolumegroupnodestatuses`,
    ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMVolumeGroupNodeStatus' },
  },
  volume: {
    path: '/apis/topolvm.io/v1/logicalvolumes',
    ...{ apiVersion: 'topolvm.io/v1', kind: 'LogicalVolume' },
  },
} as const;

type Resource = (typeof ours)[keyof typeof ours];

/** Nothing is left behind, and everything is checked as if it were meant. */
function attempts({ path, apiVersion, kind }: Resource): Readonly<Record<string, Attempt>> {
  const dry = 'dryRun=All';
  const spec = { name: 'x', nodeName: 'n1', size: '1Gi' };
  const made = { apiVersion, kind, metadata: { name: 'another' }, spec };
  const change = { metadata: { labels: { seen: 'yes' } } };
  return {
    get: { method: 'GET', path: `${path}/mine` },
    list: { method: 'GET', path },
    create: { method: 'POST', path: `${path}?${dry}`, body: made },
    patch: { method: 'PATCH', path: `${path}/mine?${dry}`, body: change },
    'patch status': { method: 'PATCH', path: `${path}/mine/status?${dry}`, body: change },
    delete: { method: 'DELETE', path: `${path}/mine?${dry}` },
    'delete all': { method: 'DELETE', path: `${path}?${dry}` },
  };
}

const reading = ['get', 'list'];
const everything = Object.keys(attempts(ours.cluster));

const may: Readonly<Record<(typeof users)[number], readonly string[]>> = {
  view: reading,
  edit: [...reading, 'create', 'patch'],
  admin: [...reading, 'create', 'patch', 'delete'],
  'cluster-admin': everything,
};

async function allowed(user: string, resource: Resource): Promise<readonly string[]> {
  const found: string[] = [];
  for (const [name, attempt] of Object.entries(attempts(resource))) {
    const status = await stage.ask(user, attempt);
    assert.ok([200, 201, 403].includes(status), `${user} ${name} ${resource.kind}: ${status}`);
    if (status !== 403) found.push(name);
  }
  return found;
}

for (const user of users) {
  test(`${user}: ${may[user].join(', ')} for an LVMCluster`, async () => {
    assert.deepEqual(await allowed(user, ours.cluster), may[user]);
  });

  const rest = user === 'cluster-admin' ? everything : reading;
  test(`${user}: ${rest.join(', ')} for what agents act by`, async () => {
    for (const resource of [ours.group, ours.report, ours.volume]) {
      assert.deepEqual(await allowed(user, resource), rest, resource.kind);
    }
  });
}

test('who may see our kinds sees no secret', async () => {
  const secrets = { method: 'GET', path: `/api/v1/namespaces/${namespace}/secrets` } as const;
  assert.equal(await stage.ask('view', secrets), 403);
});

test('who was given nothing may do nothing', async () => {
  for (const resource of Object.values(ours)) {
    assert.deepEqual(await allowed('nobody', resource), [], resource.kind);
  }
});

test('who may edit one namespace changes nothing in others', async () => {
  const { cluster, volume } = ours;
  assert.deepEqual(await allowed('edit-here', cluster), may.edit);
  const elsewhere = { ...cluster, path: cluster.path.replace(namespace, 'kube-system') };
  const answers = Object.values(attempts(elsewhere as Resource)).map((one) =>
    stage.ask('edit-here', one),
  );
  assert.deepEqual([...new Set(await Promise.all(answers))], [403]);
  assert.deepEqual(await allowed('edit-here', volume), [], 'what has no namespace');
});
