import assert from 'node:assert/strict';
import test from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { KubeClient } from '../../src/kube/client.ts';
import { nodeKind, storageClassKind } from '../../src/kube/kinds.ts';
import { newStores, runStores, storesSynced } from '../../src/operator/stores.ts';
import { rulesOf } from '../../tools/manifests-rbac.ts';
import { FakeApi } from '../kube/fake-api.ts';
import { InstantClock, MemoryTransport } from '../kube/memory-transport.ts';
import { allows, GuardedTransport, requestOf } from './authorizer.ts';

const domain = 'topolvm.io';
const namespace = 'quarry-system';

const requests: readonly (readonly [string, string])[] = [
  ['GET /api/v1/nodes', 'list nodes'],
  ['GET /api/v1/nodes/a', 'get nodes'],
  ['GET /api/v1/nodes?watch=true&resourceVersion=1', 'watch nodes'],
  [
    'PATCH /api/v1/namespaces/x/persistentvolumeclaims/c/status',
    'patch persistentvolumeclaims/status in x',
  ],
  ['POST /apis/coordination.k8s.io/v1/namespaces/x/leases', 'create leases in x'],
  ['PUT /apis/coordination.k8s.io/v1/namespaces/x/leases/l', 'update leases in x'],
  ['DELETE /apis/topolvm.io/v1/logicalvolumes/v', 'delete logicalvolumes'],
  ['DELETE /apis/topolvm.io/v1/logicalvolumes', 'deletecollection logicalvolumes'],
  ['GET /api/v1/namespaces/x', 'get namespaces'],
];

for (const [sent, meant] of requests) {
  test(`${sent} is: ${meant}`, () => {
    const [method = '', url = ''] = sent.split(' ');
    const { verb, resource, namespace: where } = requestOf(method, url);
    assert.equal(`${verb} ${resource}${where === undefined ? '' : ` in ${where}`}`, meant);
  });
}

const may = (role: 'operator' | 'agent', method: string, url: string) =>
  allows(rulesOf(role, domain), namespace, requestOf(method, url));

test('capacity objects may be touched in our namespace and nowhere else', () => {
  const capacities = (where: string) => `/apis/storage.k8s.io/v1${where}/csistoragecapacities`;
  assert.equal(may('agent', 'POST', capacities(`/namespaces/${namespace}`)), true);
  assert.equal(may('agent', 'POST', capacities('/namespaces/other')), false);
  assert.equal(may('operator', 'GET', capacities('')), false);
});

test('trap 24: the operator may look for and take every lease of the sidecars that it replaces', () => {
  const leases = ['topolvm', 'topolvm-io', 'external-resizer-topolvm-io', '1136b8a6.topolvm.io'];
  for (const name of [...leases, 'external-snapshotter-leader-topolvm-io']) {
    const url = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases/${name}`;
    assert.equal(may('operator', 'GET', url), true);
    assert.equal(may('operator', 'PUT', url), true);
    assert.equal(may('operator', 'DELETE', url), false);
    assert.equal(may('agent', 'PUT', url), false);
  }
});

test('trap 24: it may do so in every namespace, to leases of these names and no others', () => {
  const all = '/apis/coordination.k8s.io/v1';
  const leases = ['topolvm', 'external-resizer-topolvm-io', '1136b8a6.topolvm.io', 'kubelet'];
  for (const name of leases) {
    const isOurs = name !== 'kubelet';
    const url = `${all}/namespaces/topolvm-system/leases/${name}`;
    assert.equal(may('operator', 'GET', url), isOurs);
    assert.equal(may('operator', 'PUT', url), isOurs);
    assert.equal(may('operator', 'DELETE', url), false);
    const listed = `${all}/leases?fieldSelector=metadata.name%3D${name}`;
    assert.equal(may('operator', 'GET', listed), isOurs);
    assert.equal(may('agent', 'GET', listed), false);
  }
  assert.equal(may('operator', 'GET', `${all}/leases`), false);
  assert.equal(may('operator', 'POST', `${all}/namespaces/topolvm-system/leases`), false);
});

test('an agent may read the one DaemonSet that it belongs to', () => {
  const at = (name: string) => `/apis/apps/v1/namespaces/${namespace}/daemonsets${name}`;
  assert.equal(may('agent', 'GET', at('/vg-manager')), true);
  assert.equal(may('agent', 'GET', at('/other')), false);
  assert.equal(may('agent', 'GET', at('')), false);
});

test('definitions may be watched one by one, by their names', () => {
  const url = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const named = (name: string) => `${url}?watch=true&fieldSelector=metadata.name%3D${name}`;
  assert.equal(may('operator', 'GET', named('volumesnapshots.snapshot.storage.k8s.io')), true);
  assert.equal(may('operator', 'GET', named('logicalvolumes.topolvm.io')), false);
  assert.equal(may('operator', 'GET', url), false);
});

test('every store of the operator fills under its rules', async () => {
  const transport = new MemoryTransport(new FakeApi());
  const guarded = new GuardedTransport(transport, rulesOf('operator', domain), namespace);
  const parts = { clock: new InstantClock(), chance: () => 0.5 };
  const client = new KubeClient({ transport: guarded, ...parts });
  const names = { domain, driver: domain };
  const stores = newStores({ client, names, namespace, ...parts, trouble: () => undefined });
  const stop = new AbortController();
  const running = runStores(stores, stop.signal);
  await storesSynced(stores);
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  stop.abort();
  await running;
  const watched = [...guarded.seen].filter((what) => what.startsWith('watch '));
  assert.equal(watched.length, Object.keys(stores).length);
  assert.deepEqual(guarded.refused, []);
});

test('what is not allowed is refused as an API server refuses it', async () => {
  const transport = new MemoryTransport(new FakeApi());
  const guarded = new GuardedTransport(transport, rulesOf('agent', domain), namespace);
  const parts = { clock: new InstantClock(), chance: () => 0.5 };
  const client = new KubeClient({ transport: guarded, ...parts });
  await assert.rejects(client.delete(nodeKind, { name: 'a' }), { code: 'Forbidden' });
  await client.list(storageClassKind);
  assert.deepEqual([...guarded.seen], ['delete nodes', 'list storageclasses']);
  assert.equal(guarded.refused.length, 1);
});
