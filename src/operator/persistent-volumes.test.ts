import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { collections } from '../../test/kube/fake-api-rules.ts';
import type { Json } from '../../test/kube/fake-patch.ts';
import { type OperatorScene, twoNodes } from '../../test/operator/scene.ts';
import { PersistentVolumes } from './persistent-volumes.ts';

const { volumes } = collections;
const hostLabel = 'kubernetes.io/hostname';

/** As LVMS' provisioner made it before its own operator came by. */
function volumeObject(name: string, spec: Json = {}, metadata: Json = {}) {
  const expression = { key: 'topology.topolvm.io/node', operator: 'In', values: ['n1'] };
  return {
    metadata: { name, ...metadata },
    spec: {
      ...{ storageClassName: 'lvms-vg1', csi: { driver: 'topolvm.io', volumeHandle: name } },
      claimRef: { namespace: 'ns', name: 'data', uid: 'u' },
      nodeAffinity: { required: { nodeSelectorTerms: [{ matchExpressions: [expression] }] } },
      ...spec,
    },
    status: { phase: 'Bound' },
  };
}

async function scene(t: TestContext, ...found: readonly object[]): Promise<OperatorScene> {
  const at = await twoNodes(t);
  for (const object of found) at.api.put(volumes, object as never);
  await at.settle();
  at.run(new PersistentVolumes(at.cluster));
  await at.settle();
  return at;
}

const labelsOf = (at: OperatorScene, name: string) => at.api.one(volumes, name)?.metadata.labels;

test('a volume of LVMS gets the label of its node, and keeps what it has', async (t) => {
  const at = await scene(
    t,
    volumeObject('bare'),
    volumeObject('theirs', {}, { labels: { team: 'a' } }),
  );
  assert.deepEqual(labelsOf(at, 'bare'), { [hostLabel]: 'n1' });
  assert.deepEqual(labelsOf(at, 'theirs'), { team: 'a', [hostLabel]: 'n1' });
  const writes = at.api.writes.length;
  assert.equal(writes, 2);
  await at.pass(3_600_000);
  at.run(new PersistentVolumes(at.cluster));
  await at.pass(3_600_000);
  assert.equal(at.api.writes.length, writes, 'once is enough, also for the next who leads');
});

const others: readonly (readonly [string, object])[] = [
  ['has the label', volumeObject('v', {}, { labels: { [hostLabel]: 'x' } })],
  ['is of another driver', volumeObject('v', { csi: { driver: 'other', volumeHandle: 'v' } })],
  ['is of another class', volumeObject('v', { storageClassName: 'fast' })],
  ['says no node', volumeObject('v', { nodeAffinity: {} })],
  ['is going', volumeObject('v', {}, { finalizers: ['x'], deletionTimestamp: 'now' })],
];

for (const [title, object] of others) {
  test(`one that ${title} is left as it is`, async (t) => {
    const at = await scene(t, object);
    await at.pass(60_000);
    assert.deepEqual(at.api.writes, []);
  });
}

test('somebody hears once that a volume with data has no claim any more', async (t) => {
  const labels = { [hostLabel]: 'n1' };
  const at = await scene(t, volumeObject('kept', {}, { labels }));
  const freed = volumeObject('kept', { claimRef: undefined }, { labels });
  at.api.put(volumes, JSON.parse(JSON.stringify(freed)) as never);
  await at.settle();
  at.api.put(volumes, JSON.parse(JSON.stringify(freed)) as never);
  await at.pass(60_000);
  const told = at.events.map(({ type, reason, name, message }) => [type, reason, name, message]);
  assert.deepEqual(told, [
    [
      ...['Warning', 'ClaimReferenceRemoved', 'kept'],
      'claim ns/data does not hold it any more: whoever claims it next gets the data that is in it',
    ],
  ]);
});
