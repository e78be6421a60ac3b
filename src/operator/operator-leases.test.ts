import assert from 'node:assert/strict';
import test from 'node:test';
import { fail } from '../../test/kube/fake-api.ts';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { names, namespace } from '../../test/operator/scene.ts';
import { Town } from '../../test/operator/town.ts';
import { oldLeases, ourLease } from '../core/cluster/leases.ts';

const elsewhere = 'topolvm-system';

test('trap 24: nothing is done while an old sidecar holds its lease in another namespace', async (t) => {
  const town = new Town();
  for (const name of oldLeases(names)) town.lease(name, 'old', elsewhere);
  const operator = await town.operator(t, 'a');
  for (let times = 0; times < 20; times += 1) {
    await town.pass(5_000);
    town.lease('topolvm-io', 'old-pod', elsewhere);
  }
  assert.deepEqual([town.notes, operator.isLeading], [[], false]);
  await town.pass(60_000);
  assert.deepEqual(town.notes, ['a begins']);
  const held = oldLeases(names).map((name) => town.holder(name, elsewhere));
  assert.deepEqual([...new Set(held), town.holder(ourLease)], ['a', 'a']);
});

test('trap 24: LVMS in another namespace is waited for, too', async (t) => {
  const town = new Town();
  await town.operator(t, 'a');
  for (let times = 0; times < 20; times += 1) {
    town.lease(ourLease, 'lvms', 'openshift-storage');
    await town.pass(5_000);
  }
  assert.deepEqual(town.notes, []);
  await town.pass(60_000);
  assert.deepEqual(town.notes, ['a begins']);
  assert.equal(town.holder(ourLease, 'openshift-storage'), 'a');
});

test('trap 24: a lease that is made elsewhere while we lead is given way', async (t) => {
  const town = new Town();
  await town.operator(t, 'a');
  await town.pass(3_000);
  for (let times = 0; times < 20; times += 1) {
    town.lease('topolvm', 'old', elsewhere);
    await town.pass(5_000);
  }
  assert.deepEqual(town.notes, ['a begins', 'a ends, a holds']);
});

test('who waits says for whom, where, and what to do', async (t) => {
  const town = new Town();
  const operator = await town.operator(t, 'a');
  for (let times = 0; times < 20; times += 1) {
    town.lease('topolvm', 'topolvm-controller-1', elsewhere);
    await town.pass(2_000);
  }
  const [line, ...more] = town.lines.filter((one) => one.includes('topolvm-controller-1'));
  assert.match(line ?? '', /topolvm-system\/topolvm\b.*stop/);
  assert.deepEqual(more, [], 'once, while it stays so');
  const { waitsFor } = operator.status() as { waitsFor?: string };
  assert.equal(waitsFor, line);
  const events = town.api.all(collections.events) as unknown as readonly {
    readonly reason: string;
    readonly message: string;
    readonly metadata: { readonly namespace: string };
  }[];
  const told = events.filter(({ reason }) => reason === 'OldControllerActs');
  assert.deepEqual(
    told.map(({ message, metadata }) => [message, metadata.namespace]),
    [[line, namespace]],
  );
  assert.deepEqual(await operator.readiness(), [], 'webhooks are answered all the same');
  await town.pass(60_000);
  assert.equal('waitsFor' in operator.status(), false);
});

test('a holder that was killed is waited for without a word', async (t) => {
  const town = new Town();
  town.lease('topolvm', 'killed', elsewhere);
  await town.operator(t, 'a');
  await town.pass(30_000);
  assert.deepEqual(town.notes, ['a begins']);
  assert.deepEqual(
    town.lines.filter((one) => one.includes('killed')),
    [],
  );
});

test('who stands by for a colleague does not take it for an old one', async (t) => {
  const town = new Town();
  town.lease('topolvm', '', elsewhere);
  town.lease(ourLease, '', 'a-first');
  const first = await town.operator(t, 'a');
  await town.pass(3_000);
  await town.operator(t, 'b');
  await town.pass(60_000);
  assert.deepEqual(town.notes, ['a begins']);
  assert.deepEqual(
    town.lines.filter((one) => one.includes('stop')),
    [],
  );
  await town.ended(first.stop());
  await town.pass(5_000);
  assert.deepEqual(town.notes.slice(1), ['a ends, a holds', 'b begins']);
});

test('the namespace of old leases goes while they are waited for, or held', async (t) => {
  const town = new Town();
  for (const name of oldLeases(names)) town.lease(name, 'old', elsewhere);
  const handle = town.api.handle.bind(town.api);
  town.api.handle = (call, sink) => {
    const isMade = call.method === 'POST' && call.url.includes(`/${elsewhere}/leases`);
    if (!isMade) handle(call, sink);
    else fail(sink, 403, 'Forbidden', 'leases are forbidden');
  };
  const operator = await town.operator(t, 'a');
  await town.pass(5_000);
  town.api.delete(collections.leases, 'topolvm-io', elsewhere);
  await town.pass(90_000);
  assert.equal(operator.isLeading, true);
  town.api.delete(collections.leases, 'topolvm', elsewhere);
  await town.pass(30_000);
  assert.equal(operator.isLeading, true);
  assert.equal(town.api.one(collections.leases, 'topolvm', elsewhere), undefined);
});

test('who may not look elsewhere still takes the leases beside its own', async (t) => {
  const town = new Town();
  town.lease('topolvm-io', 'old');
  town.lease('topolvm-io', 'old', elsewhere);
  const handle = town.api.handle.bind(town.api);
  town.api.handle = (call, sink) => {
    if (!call.url.startsWith(collections.leases)) handle(call, sink);
    else fail(sink, 403, 'Forbidden', 'leases are forbidden');
  };
  await town.operator(t, 'a');
  await town.pass(10_000);
  assert.deepEqual(town.notes, []);
  await town.pass(30_000);
  assert.deepEqual(town.notes, ['a begins']);
  assert.deepEqual([town.holder('topolvm-io'), town.holder('topolvm-io', elsewhere)], ['a', 'old']);
  await town.pass(120_000);
  assert.deepEqual(town.notes, ['a begins']);
});

test('who stood by for long looks again before it begins', async (t) => {
  const town = new Town();
  const first = await town.operator(t, 'a');
  await town.pass(3_000);
  await town.operator(t, 'b');
  await town.pass(3_000);
  town.lease('topolvm', 'old', elsewhere);
  await town.ended(first.stop());
  for (let times = 0; times < 4; times += 1) {
    await town.pass(5_000);
    town.lease('topolvm', 'old', elsewhere);
  }
  assert.deepEqual(town.notes, ['a begins', 'a ends, a holds']);
});
