import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { get } from 'node:http';
import { text } from 'node:stream/consumers';
import test from 'node:test';
import { unpublishedAnnotation } from '../../src/core/cluster/names.ts';
import { collections } from '../kube/fake-api-rules.ts';
import type { AgentClusterScene } from './agent-cluster-scene.ts';
import { beginAll, claim } from './all-scene.ts';

function ask(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ port, path, host: '127.0.0.1', agent: false }, (response) => resolve(text(response))).on(
      'error',
      reject,
    );
  });
}

function holder({ api }: AgentClusterScene): string {
  const [lease] = api.all(collections.leases);
  return ((lease?.['spec'] ?? {}) as { holderIdentity?: string }).holderIdentity ?? '';
}

test('a claim becomes a volume in one process, and the volume is mounted', async (t) => {
  const { scene } = await beginAll(t);
  const name = `pvc-${claim(scene, 'data')}`;
  await scene.until(
    'a PersistentVolume',
    () => scene.api.one(collections.volumes, name) !== undefined,
  );
  const record = scene.api.one(collections.logicalVolumes, name);
  assert.equal(record?.metadata.annotations?.[unpublishedAnnotation], undefined);
  const id = record?.metadata.uid ?? '';
  assert.equal(scene.status(name)['volumeID'], id);
  assert.equal(await scene.publish(id, '/pods/a'), 'published');
});

test('one port has the figures, probes and state of both roles, each name once', async (t) => {
  const { scene, all, port } = await beginAll(t);
  await scene.until('ready', async () => (await ask(port, '/readyz')) === 'ok\n');
  const figures = await ask(port, '/metrics');
  const heads = [...figures.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
  assert.equal(new Set(heads).size, heads.length);
  for (const name of ['topolvm_volumegroup_size_bytes', 'quarry_leader', 'quarry_build_info']) {
    assert.ok(heads.includes(name), name);
  }
  assert.equal([...figures.matchAll(/^process_resident_memory_bytes /gm)].length, 1);
  const status = JSON.parse(await ask(port, '/status')) as Record<string, object>;
  assert.deepEqual(Object.keys(status), ['agent', 'operator']);
  await all.stop();
  await assert.rejects(ask(port, '/healthz'), { code: 'ECONNREFUSED' });
});

test('it stops in order: the lease is given back while kubelet is still served', async (t) => {
  const { scene, all } = await beginAll(t);
  await scene.until('it leads', () => holder(scene) !== '');
  const seen: boolean[] = [];
  scene.api.listeners.add(({ collection }) => {
    if (collection !== collections.leases || holder(scene) !== '') return;
    seen.push(existsSync(scene.path('csi.sock')) && existsSync(scene.registration));
  });
  await all.stop();
  assert.deepEqual(seen, [true]);
  for (const name of ['csi.sock', 'controller.sock', 'lvmd.sock']) {
    assert.equal(existsSync(scene.path(name)), false, name);
  }
});

test('a role that ends takes the other one along', async (t) => {
  const { scene, all } = await beginAll(t);
  await scene.register(false);
  await assert.rejects(all.failed, { code: 'RegistrationRefused' });
  await all.stop();
  assert.equal(holder(scene), '');
});

test('what cannot start leaves nothing behind', async (t) => {
  await assert.rejects(
    beginAll(t, { metricsAddress: '8080' }),
    /--metrics-address is 8080: write :8080/,
  );
});
