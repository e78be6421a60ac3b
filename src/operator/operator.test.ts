import assert from 'node:assert/strict';
import test from 'node:test';
import { fail } from '../../test/kube/fake-api.ts';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { names, namespace, request } from '../../test/operator/scene.ts';
import { Town } from '../../test/operator/town.ts';
import { oldLeases, ourLease } from '../core/cluster/leases.ts';
import type { Cluster } from './duty.ts';

test('who leads holds our lease and gives it back after its duties have ended', async (t) => {
  const town = new Town();
  const operator = await town.operator(t, 'a');
  await town.pass(3_000);
  assert.deepEqual([town.notes, operator.isLeading], [['a begins'], true]);
  assert.equal(town.api.all(collections.leases).length, 1);
  await town.ended(operator.stop());
  assert.deepEqual(town.notes, ['a begins', 'a ends, a holds']);
  assert.equal(town.holder(ourLease), '');
});

test('trap 24: nothing is done while an old sidecar holds its lease', async (t) => {
  const town = new Town();
  for (const name of oldLeases(names)) town.lease(name, 'old');
  const operator = await town.operator(t, 'a');
  for (let times = 0; times < 10; times += 1) {
    await town.pass(5_000);
    town.lease('external-resizer-topolvm-io', 'old');
  }
  assert.deepEqual(town.notes, []);
  await town.pass(120_000);
  assert.deepEqual(town.notes, ['a begins']);
  assert.equal(operator.isLeading, true);
  const held = [...oldLeases(names), ourLease].map((name) => town.holder(name));
  assert.deepEqual(new Set(held), new Set(['a']));
});

test('trap 24: an old sidecar that comes back is given way', async (t) => {
  const town = new Town();
  await town.operator(t, 'a');
  await town.pass(3_000);
  assert.deepEqual(town.notes, ['a begins']);
  for (let times = 0; times < 20; times += 1) {
    town.lease('topolvm-io', 'old');
    await town.pass(5_000);
  }
  assert.deepEqual(town.notes, ['a begins', 'a ends, a holds']);
});

const lvmClusterReference = {
  ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster', name: 'lvms', uid: 'u1' },
};

/** As LVMS ran TopoLVM once, with its leases, for as long as it is there. */
function oldController(town: Town, owner: object): () => boolean {
  const put = (collection: string, name: string) =>
    town.api.put(collection, { metadata: { name, namespace, ownerReferences: [owner] } });
  put(collections.deployments, 'topolvm-controller');
  put(collections.daemonSets, 'topolvm-node');
  const isThere = () =>
    town.api.one(collections.deployments, 'topolvm-controller', namespace) !== undefined ||
    town.api.one(collections.daemonSets, 'topolvm-node', namespace) !== undefined;
  return () => {
    if (isThere()) for (const name of oldLeases(names)) town.lease(name, 'old');
    return isThere();
  };
}

test('what LVMS ran TopoLVM with once is taken away before anything else', async (t) => {
  const town = new Town();
  const isThere = oldController(town, lvmClusterReference);
  assert.equal(isThere(), true);
  await town.operator(t, 'a', undefined, { actsOnLvmClusters: true });
  await town.pass(5_000);
  assert.equal(isThere(), false);
  await town.pass(120_000);
  assert.deepEqual(town.notes, ['a begins']);
});

test('what TopoLVM’s own chart made is left alone', async (t) => {
  const town = new Town();
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'chart', uid: 'u2' };
  const isThere = oldController(town, owner);
  assert.equal(isThere(), true);
  await town.operator(t, 'a', undefined, { actsOnLvmClusters: true });
  for (let times = 0; times < 8; times += 1) {
    await town.pass(5_000);
    assert.equal(isThere(), true);
  }
  assert.deepEqual(town.notes, []);
});

test('who may not take it away leads all the same', async (t) => {
  const town = new Town();
  const handle = town.api.handle.bind(town.api);
  town.api.handle = (call, sink) => {
    if (!call.url.includes('/apis/apps/v1/')) handle(call, sink);
    else fail(sink, 403, 'Forbidden', 'deployments.apps is forbidden');
  };
  await town.operator(t, 'a', undefined, { actsOnLvmClusters: true });
  await town.pass(5_000);
  assert.deepEqual(town.notes, ['a begins']);
});

test('trap 22: one of two acts, and the other takes over when the first is done', async (t) => {
  const town = new Town();
  town.api.put(collections.nodes, { metadata: { name: 'n1' } });
  const first = await town.operator(t, 'a');
  await town.pass(3_000);
  const second = await town.operator(t, 'b');
  await town.pass(20_000);
  assert.deepEqual(town.notes, ['a begins']);
  await assert.rejects(second.book.create(request('pvc-a'), ['n1']), { code: 'NotLeading' });
  await assert.rejects(second.book.remove('volume', 'x'), { code: 'NotLeading' });
  assert.deepEqual(await second.book.list(), []);
  assert.deepEqual(await second.readiness(), []);
  await town.ended(first.stop());
  await town.pass(5_000);
  assert.deepEqual(town.notes, ['a begins', 'a ends, a holds', 'b begins']);
});

test('trap 22: nothing goes out after the lease is lost, and all duties are waited for', async (t) => {
  const town = new Town();
  let cluster: Cluster | undefined;
  const operator = await town.operator(t, 'a', (given) => {
    cluster = given;
    return [{ run: (signal) => until(signal) }];
  });
  await town.pass(3_000);
  assert.equal(operator.isLeading, true);
  const lease = town.transports[1] ?? assert.fail();
  const cut = setInterval(() => lease.faults.push('unreachable'), 0);
  t.after(() => clearInterval(cut));
  lease.faults.push(...Array.from({ length: 200 }, () => 'unreachable' as const));
  await town.pass(11_000);
  assert.equal(operator.isLeading, false);
  const writes = town.api.writes.length;
  const kept = cluster ?? assert.fail();
  await assert.rejects(
    kept.client.create({ group: '', version: 'v1', kind: 'Node', plural: 'nodes' } as never, {
      metadata: { name: 'x' },
    }),
    { code: 'Fenced' },
  );
  assert.equal(town.api.writes.length, writes);
  clearInterval(cut);
  lease.faults.length = 0;
});

test('trap 22: nothing is begun before all that is there has been read', async (t) => {
  const town = new Town();
  const handle = town.api.handle.bind(town.api);
  let isHeld = true;
  town.api.handle = (call, sink) => {
    if (!isHeld || !call.url.includes('/persistentvolumeclaims')) handle(call, sink);
    else fail(sink, 500, 'InternalError', 'etcdserver: leader changed');
  };
  const operator = await town.operator(t, 'a');
  await town.pass(60_000);
  assert.deepEqual([town.notes, operator.isLeading, town.holder(ourLease)], [[], false, '']);
  assert.deepEqual(await operator.readiness(), ['claims have not been read yet']);
  isHeld = false;
  await town.pass(40_000);
  assert.deepEqual(town.notes, ['a begins']);
});

test('a duty with a bug ends the process, after the others have ended', async (t) => {
  const town = new Town();
  const ended: string[] = [];
  const operator = await town.operator(t, 'a', () => [
    { run: () => Promise.reject(new Error('a bug')) },
    {
      run: async (signal) => {
        await until(signal);
        await town.clock.sleep(1_000);
        ended.push('the other');
      },
    },
  ]);
  const failed = assert.rejects(operator.failed, { message: 'a bug' });
  operator.failed.catch(() => ended.push('the process'));
  await town.pass(3_000);
  await failed;
  assert.deepEqual(ended, ['the other', 'the process']);
});

test('figures and status say who leads', async (t) => {
  const town = new Town();
  const operator = await town.operator(t, 'a');
  await town.pass(3_000);
  assert.match(operator.metrics.text(), /^quarry_leader 1$/m);
  assert.match(operator.metrics.text(), /^quarry_objects\{kind="claims"\} 0$/m);
  const { leases, isLeading } = operator.status() as { leases: unknown; isLeading: unknown };
  assert.deepEqual([leases, isLeading], [[ourLease], true]);
});

function until(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
    if (signal.aborted) resolve();
  });
}
