import assert from 'node:assert/strict';
import test from 'node:test';
import { bytes } from '../../base/bytes.ts';
import type { LvmdCapacity } from '../lvmd-capacity.ts';
import { decideNode, type NodeView } from './node-annotations.ts';
import { agentBuildAnnotation, buildText } from './skew.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const finalizer = 'topolvm.io/node';
const build = { version: '0.1.0', protocols: { newest: 1, oldest: 1 } };
const own = { [agentBuildAnnotation]: buildText(build) };

function capacity(deviceClass: string, free: bigint, isDefault = false): LvmdCapacity {
  return {
    ...{ deviceClass, isDefault, vgSizeBytes: bytes(100n), vgFreeBytes: bytes(free) },
    thinPool: undefined,
  };
}

function thin(deviceClass: string, promised: bigint): LvmdCapacity {
  const pool = { sizeBytes: bytes(50n), dataPercent: 0, metadataPercent: 0 };
  const thinPool = { ...pool, overprovisionBytes: bytes(promised) };
  return { ...capacity(deviceClass, 7n), thinPool };
}

function view(change: Partial<NodeView> & { readonly metadata?: object } = {}): NodeView {
  const { metadata, ...rest } = change;
  const node = {
    metadata: { name: 'n1', uid: 'u', resourceVersion: '1', finalizers: [finalizer], ...metadata },
  };
  const times = { nowMs: 100_000, writtenAtMs: undefined, intervalMs: 60_000 };
  return { names, node, build, capacities: [capacity('a', 10n, true)], ...times, ...rest };
}

test('each class and the default have their free bytes, thin ones what may be promised', () => {
  const capacities = [capacity('a', 10n, true), thin('b', 99n)];
  assert.deepEqual(decideNode(view({ capacities })), {
    kind: 'write',
    annotations: {
      ...own,
      'capacity.topolvm.io/a': '10',
      'capacity.topolvm.io/b': '99',
      'capacity.topolvm.io/00default': '10',
    },
    finalizers: undefined,
  });
});

test('without a default class the default has nothing', () => {
  const decision = decideNode(view({ capacities: [capacity('a', 10n)] }));
  assert.ok(decision.kind === 'write');
  assert.equal(decision.annotations['capacity.topolvm.io/00default'], '0');
});

const free = { 'capacity.topolvm.io/a': '10', 'capacity.topolvm.io/00default': '10', other: 'x' };
const same = { ...free, ...own };

test('what is true already is not written', () => {
  assert.deepEqual(decideNode(view({ metadata: { annotations: same } })), { kind: 'rest' });
});

test('keys of classes that are gone are taken off, those of others stay', () => {
  const annotations = { ...same, 'capacity.topolvm.io/old': '5' };
  const decision = decideNode(view({ metadata: { annotations } }));
  assert.ok(decision.kind === 'write');
  assert.deepEqual(decision.annotations, { 'capacity.topolvm.io/old': null });
});

test('a change waits until a minute has passed since the last, and not where somebody decides by it', () => {
  assert.deepEqual(decideNode(view({ writtenAtMs: 90_000 })), { kind: 'later', afterMs: 50_000 });
  assert.equal(decideNode(view({ writtenAtMs: 90_000, intervalMs: 0 })).kind, 'write');
  assert.equal(decideNode(view({ writtenAtMs: 40_000 })).kind, 'write');
});

test('the finalizer is put on at once, beside those of others', () => {
  const metadata = { annotations: same, finalizers: ['x'] };
  assert.deepEqual(decideNode(view({ metadata, writtenAtMs: 99_999 })), {
    ...{ kind: 'write', annotations: {}, finalizers: ['x', finalizer] },
  });
});

test('a Node that is being deleted is left alone', () => {
  const metadata = { finalizers: [], deletionTimestamp: '2026-01-01T00:00:00Z' };
  assert.deepEqual(decideNode(view({ metadata })), { kind: 'rest' });
});

test('what the disks are is told at once the first time, and changes of it within a minute', () => {
  const at = (inventory: string, before: object) =>
    decideNode(view({ inventory, metadata: { annotations: before }, writtenAtMs: 90_000 })).kind;
  assert.equal(at('{}', same), 'write');
  assert.equal(at('{}', { ...same, 'quarry.io/devices': '{"version":1}' }), 'later');
});

test('what the disks are is told when it changes, and taken off when it cannot be told', () => {
  const told = { ...same, 'quarry.io/devices': '{}' };
  const annotations = (inventory: string | null | undefined, before: object) => {
    const decision = decideNode(view({ inventory, metadata: { annotations: before } }));
    return decision.kind === 'write' ? decision.annotations : decision.kind;
  };
  assert.deepEqual(annotations('{}', same), { 'quarry.io/devices': '{}' });
  assert.deepEqual(annotations('{}', told), 'rest');
  assert.deepEqual(annotations(null, told), { 'quarry.io/devices': null });
  assert.deepEqual(annotations(null, same), 'rest');
  assert.deepEqual(annotations(undefined, told), 'rest', 'nobody asks');
});

test('the version is told when it is another one, and when somebody took it off', () => {
  const older = buildText({ ...build, version: '0.0.9' });
  for (const annotations of [free, { ...free, [agentBuildAnnotation]: older }]) {
    const decision = decideNode(view({ metadata: { annotations } }));
    assert.ok(decision.kind === 'write');
    assert.deepEqual(decision.annotations, own);
  }
});
