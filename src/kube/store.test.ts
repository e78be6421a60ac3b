import assert from 'node:assert/strict';
import test from 'node:test';
import type { KubeObject } from './kind.ts';
import { type Change, isNews, Store } from './store.ts';

function object(name: string, version: number, uid = name): KubeObject {
  return { metadata: { namespace: 'ns', name, uid, resourceVersion: String(version) } };
}

function told(changes: readonly Change<KubeObject>[]): readonly string[] {
  return changes.map(({ type, object: { metadata } }) => `${type} ${metadata.resourceVersion}`);
}

/** A store that the server told of `a` at version 10. */
function storeWithA(): Store<KubeObject> {
  const store = new Store<KubeObject>();
  store.replace([object('a', 10)], '10', false);
  return store;
}

test('a list tells what is new, what changed and what is gone, and nothing of the rest', () => {
  const store = new Store<KubeObject>();
  const first = [object('a', 1), object('b', 2), object('c', 3)];
  assert.deepEqual(told(store.replace(first, '3', false)), ['added 1', 'added 2', 'added 3']);
  const second = [object('a', 1), object('b', 5), object('d', 6)];
  assert.deepEqual(told(store.replace(second, '6', false)), ['modified 5', 'added 6', 'deleted 3']);
  assert.equal(store.size, 3);
});

test('another version alone is no news', () => {
  const before = object('a', 1);
  const { metadata } = before;
  const isNewsOf = (changes: object) => {
    const now = { metadata: { ...metadata, resourceVersion: '2', ...changes } };
    return isNews({ type: 'modified', before, object: now });
  };
  assert.equal(isNewsOf({}), false);
  assert.equal(isNewsOf({ labels: { zone: 'a' } }), true);
  assert.equal(isNewsOf({ uid: 'another' }), true);
  assert.equal(isNews({ type: 'added', object: before }), true);
  assert.equal(isNews({ type: 'deleted', object: before }), true);
});

test('another uid under a name is another object', () => {
  const store = storeWithA();
  assert.deepEqual(told(store.put(object('a', 11, 'new'))), ['deleted 10', 'added 11']);
});

test('what is deleted twice is told once', () => {
  const store = storeWithA();
  assert.deepEqual(told(store.remove(object('a', 11))), ['deleted 10']);
  assert.deepEqual(told(store.remove(object('a', 11))), []);
});

test('our own write is not undone by older words of the server', () => {
  const store = storeWithA();
  assert.deepEqual(told(store.putOwn(object('a', 15), '10')), ['modified 15']);
  assert.deepEqual(told(store.put(object('a', 12))), []);
  assert.deepEqual(told(store.remove(object('a', 13))), []);
  assert.deepEqual(told(store.replace([object('a', 12)], '14', false)), []);
  assert.deepEqual(told(store.replace([], '14', false)), []);
  assert.deepEqual(told(store.put(object('a', 15))), []);
  assert.deepEqual(told(store.put(object('a', 16))), ['modified 16']);
});

test('of two writes of ours the later one counts, whichever answer came first', () => {
  const store = storeWithA();
  store.putOwn(object('a', 16), '10');
  assert.deepEqual(told(store.putOwn(object('a', 15), '10')), []);
  assert.equal(store.get('ns/a')?.metadata.resourceVersion, '16');
});

test('an answer that the watch has passed brings nothing back', () => {
  const store = storeWithA();
  store.remove(object('a', 12));
  assert.deepEqual(told(store.putOwn(object('a', 11), '12')), []);
  assert.deepEqual(told(store.putOwn(object('a', 13), undefined)), []);
  assert.equal(store.size, 0);
});

test('after a restored backup our own writes count for nothing', () => {
  const store = storeWithA();
  store.putOwn(object('a', 15), '10');
  store.putOwn(object('b', 16), '10');
  assert.deepEqual(told(store.replace([object('a', 4)], '5', true)), ['modified 4', 'deleted 16']);
});

test('a server that does not count in numbers is believed', () => {
  const store = new Store<KubeObject>();
  const strange = { metadata: { name: 'a', uid: 'a', resourceVersion: 'x7' } };
  assert.deepEqual(told(store.putOwn(strange, 'x6')), []);
  assert.deepEqual(told(store.put(strange)), ['added x7']);
  assert.equal(store.get('a'), strange);
});
