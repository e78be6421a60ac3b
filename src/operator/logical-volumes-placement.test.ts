import assert from 'node:assert/strict';
import test from 'node:test';
import { gib, outcome, request, twoNodes } from '../../test/operator/scene.ts';
import { GiB } from '../base/bytes.ts';

test('nobody cares where: the node with most room, by capacity objects and then by Nodes', async (t) => {
  const at = await twoNodes(t);
  at.class('fast', { 'topolvm.io/device-class': 'ssd' });
  at.capacity('n1', 'fast', { capacity: '9Gi', maximumVolumeSize: '2Gi' });
  at.capacity('n2', 'fast', { capacity: '5Gi' });
  at.node('n3', { 'capacity.topolvm.io/ssd': String(3n * GiB) });
  await at.settle();
  at.obedient();
  const ssd = { className: 'ssd' };
  assert.equal(
    (await at.book.create(request('a', { ...ssd, range: gib(4) }), undefined)).node,
    'n2',
  );
  assert.equal((await at.book.create(request('b', ssd), ['n3', 'n1'])).node, 'n3');
  await assert.rejects(at.book.create(request('c', { ...ssd, range: gib(6) }), undefined), {
    code: 'InsufficientCapacity',
    message: 'no node has 6 GiB in the class ssd: the most is 5 GiB, on n2',
  });
  await assert.rejects(at.book.create(request('d', { className: 'hdd' }), undefined), {
    message: 'no node offers the class hdd, and 1 GiB were asked for',
  });
  await assert.rejects(at.book.create(request('e'), ['n9']), { code: 'NodeUnknown' });
  const room = await at.book.capacity({ className: 'ssd', optionClass: '' }, undefined);
  assert.deepEqual(room, { availableBytes: 17n * GiB, largestBytes: 5n * GiB });
  assert.equal(await at.book.capacity({ className: 'x', optionClass: '' }, 'n1'), undefined);
});

test('a class that no node has is told as such, although its room is told as none', async (t) => {
  const at = await twoNodes(t);
  at.class('slow', { 'topolvm.io/device-class': 'hdd' });
  at.class('full', { 'topolvm.io/device-class': 'ssd' });
  for (const node of ['n1', 'n2']) {
    at.capacity(node, 'slow', { capacity: '0', maximumVolumeSize: '0' });
    at.capacity(node, 'full', { capacity: '0', maximumVolumeSize: '0' });
  }
  at.node('n3', { 'capacity.topolvm.io/ssd': '0' });
  await at.settle();
  await assert.rejects(at.book.create(request('a', { className: 'hdd' }), undefined), {
    code: 'UnknownDeviceClass',
    message: 'no node offers the class hdd, and 1 GiB were asked for',
  });
  await assert.rejects(at.book.create(request('b', { className: 'ssd' }), undefined), {
    code: 'InsufficientCapacity',
    message: /^no node has 1 GiB in the class ssd: the most is 0 B, on n\d$/,
  });
});

test('options that no node has are told as such, although their room is told as none', async (t) => {
  const at = await twoNodes(t);
  const parameters = { 'topolvm.io/device-class': 'ssd' };
  at.class('fast', { ...parameters, 'topolvm.io/lvcreate-option-class': 'twice' });
  for (const node of ['n1', 'n2']) {
    at.capacity(node, 'fast', { capacity: '0', maximumVolumeSize: '0' });
  }
  at.node('n3', { 'capacity.topolvm.io/ssd': String(3n * GiB) });
  at.capacity('n3', 'fast', { capacity: '0', maximumVolumeSize: '0' });
  await at.settle();
  const twice = { className: 'ssd', optionClass: 'twice' };
  await assert.rejects(at.book.create(request('a', twice), undefined), {
    code: 'UnknownOptionClass',
    message:
      'no node makes volumes of the class ssd with the options twice: ' +
      'lvmd.yaml does not have them, or the devices cannot give what they ask for',
  });
  await assert.rejects(at.book.create(request('b', { ...twice, range: gib(4) }), undefined), {
    code: 'InsufficientCapacity',
  });
});

test('what is promised and not made yet counts: many at once do not go to one node', async (t) => {
  const at = await twoNodes(t);
  at.class('fast');
  at.capacity('n1', 'fast', { capacity: '10Gi' });
  at.capacity('n2', 'fast', { capacity: '9Gi' });
  await at.settle();
  const all = ['a', 'b', 'c'].map((name) =>
    outcome(at.book.create(request(name, { range: gib(4) }), undefined)),
  );
  await at.settle();
  assert.deepEqual(
    at.volumes().map(({ spec }) => spec.nodeName),
    ['n1', 'n2', 'n1'],
  );
  for (const { metadata } of at.volumes()) at.made(metadata.name);
  await at.settle();
  assert.ok(all.every(({ value }) => value !== undefined));
});

test('a node whose agent does not go with us is chosen only where no other will do', async (t) => {
  const at = await twoNodes(t);
  at.class('fast');
  const version = JSON.stringify({ version: '9.0.0', protocol: 9, oldestProtocol: 9 });
  at.node('n1', { 'quarry.io/agent-version': version });
  at.capacity('n1', 'fast', { capacity: '9Gi' });
  at.capacity('n2', 'fast', { capacity: '5Gi' });
  await at.settle();
  at.obedient();
  assert.equal((await at.book.create(request('a'), undefined)).node, 'n2');
  assert.equal((await at.book.create(request('b'), ['n1', 'n2'])).node, 'n2');
  const skew = { code: 'VersionSkew', message: /agent of n1 is 9\.0\.0 \(protocol 9\)/ };
  await assert.rejects(at.book.create(request('c'), ['n1']), skew);
  await assert.rejects(at.book.create(request('d', { range: gib(7) }), undefined), skew);
  assert.equal(at.volumes().length, 2);
});

test('trap 27: sizes are exact beyond what a number can hold, and in every spelling', async (t) => {
  const at = await twoNodes(t);
  const asked = 2n ** 53n + 4096n;
  const range = { requiredBytes: asked - 1n, limitBytes: 0n };
  const created = outcome(at.book.create(request('pvc-a', { range }), ['n1']));
  await at.settle();
  assert.equal(at.volume('pvc-a')?.spec.size, `${asked / 1024n}Ki`);
  at.made('pvc-a', '9007199254745091');
  await at.settle();
  assert.equal(created.isSettled, true);
  assert.equal(created.value?.sizeBytes, 9007199254745091n);
  for (const [size, bytes] of [
    ['1.5Gi', 1_610_612_736n],
    ['1e9', 1_000_000_000n],
    ['2500m', 3n],
  ] as const) {
    at.say('pvc-a', { currentSize: size });
    await at.settle();
    assert.equal((await at.book.get('volume', created.value?.id ?? '')).sizeBytes, bytes);
  }
});
