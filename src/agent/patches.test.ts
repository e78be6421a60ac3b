import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeApi } from '../../test/kube/fake-api.ts';
import { MemoryTransport } from '../../test/kube/memory-transport.ts';
import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import { KubeClient } from '../kube/client.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import type { Patch } from '../kube/patch.ts';
import { conditionPatch, markPatch, nodePatch, releasePatch, statusPatch } from './patches.ts';

const collection = '/apis/topolvm.io/v1/logicalvolumes';
const kind = logicalVolumeKind('topolvm.io');
const finalizer = 'topolvm.io/logicalvolume';

function stage(metadata: object = {}, status?: object) {
  const api = new FakeApi();
  const clock = { nowMs: () => 0, sleep: async () => undefined };
  const client = new KubeClient({ transport: new MemoryTransport(api), clock, chance: () => 0 });
  const put = (more: object = {}) =>
    api.put(collection, {
      metadata: { name: 'pvc-1', finalizers: [finalizer], ...metadata, ...more },
      spec: { name: 'pvc-1', nodeName: 'n1', size: '1Gi' },
      ...(status === undefined ? {} : { status }),
    }) as unknown as LogicalVolume;
  const send = (patch: Patch, subresource?: string) =>
    client.patch(kind, { name: 'pvc-1' }, patch, subresource === undefined ? {} : { subresource });
  const now = () => api.one(collection, 'pvc-1') as unknown as LogicalVolume;
  return { api, put, send, now };
}

test('trap 28: a finalizer that somebody put on meanwhile is not lost', async () => {
  const { put, send, now } = stage();
  const known = put();
  put({ finalizers: [finalizer, 'somebody/else'] });
  await assert.rejects(send(releasePatch(known, [])), { code: 'Conflict' });
  await send(releasePatch(now(), ['somebody/else']));
  assert.deepEqual(now().metadata.finalizers, ['somebody/else']);
});

test('trap 12: nothing is written to another object of the same name', async () => {
  const { api, put, send } = stage();
  const known = put();
  api.delete(collection, 'pvc-1');
  put();
  const status = { volumeID: 'x', currentSize: '1Gi', code: 0, message: '' };
  await assert.rejects(send(statusPatch(known, status), 'status'), { code: 'Conflict' });
  await assert.rejects(send(releasePatch(known, [])), { code: 'Conflict' });
  await assert.rejects(send(conditionPatch(known, 'broken')), { code: 'Conflict' });
  await assert.rejects(send(markPatch(known, { finalizers: [finalizer], labels: { a: 'b' } })), {
    code: 'Conflict',
  });
});

test('trap 16: marks of others stay, and so do fields of a status that we do not know', async () => {
  const { put, send, now } = stage({ finalizers: ['x'], labels: { theirs: 'y' } }, { later: 1 });
  const marks = { finalizers: ['x', finalizer], labels: { 'topolvm.io/node': 'n1' } };
  const marked = await send(markPatch(put(), marks));
  assert.deepEqual(marked.metadata.finalizers, ['x', finalizer]);
  assert.deepEqual(marked.metadata.labels, { theirs: 'y', 'topolvm.io/node': 'n1' });
  await send(statusPatch(marked, { code: 8, message: 'full' }), 'status');
  assert.deepEqual(now().status, { later: 1, code: 8, message: 'full' });
});

test('trap 16: what others put on a new object meanwhile is not lost', async () => {
  const { put, send, now } = stage({ finalizers: [] });
  const known = put();
  put({ finalizers: ['somebody/else'], annotations: { theirs: 'y' } });
  const finalizers = ['topolvm.io/node'];
  await assert.rejects(send(nodePatch(known, { annotations: {}, finalizers })), {
    code: 'Conflict',
  });
  const ours = { annotations: { ours: 'x' }, finalizers: undefined };
  await assert.rejects(send(nodePatch(known, ours)), { code: 'Conflict' });
  await send(nodePatch(now(), { ...ours, finalizers: ['somebody/else', ...finalizers] }));
  assert.deepEqual(now().metadata.finalizers, ['somebody/else', 'topolvm.io/node']);
  assert.deepEqual(now().metadata.annotations, { theirs: 'y', ours: 'x' });
});

test('without labels, finalizers and status all of them are made', async () => {
  const { put, send, now } = stage({ finalizers: undefined });
  const known = put();
  await send(markPatch(known, { finalizers: [finalizer], labels: { a: 'b' } }));
  await send(statusPatch(now(), { volumeID: 'U' }), 'status');
  assert.deepEqual(now().metadata.finalizers, [finalizer]);
  assert.deepEqual(now().metadata.labels, { a: 'b' });
  assert.deepEqual(now().status, { volumeID: 'U' });
});
