import assert from 'node:assert/strict';
import test from 'node:test';
import type { CsiNode, Node, StorageClass } from '../../api/objects/storage.ts';
import { type NodesView, placeClaim, selectedNodeAnnotation } from './topology.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const key = 'topology.topolvm.io/node';

function meta(name: string, more: object = {}) {
  return { name, uid: `uid-${name}`, resourceVersion: '1', ...more };
}

function claim(name: string, selected?: string) {
  const annotations = selected === undefined ? {} : { [selectedNodeAnnotation]: selected };
  return { metadata: meta(name, { namespace: 'ns', annotations }), spec: {} };
}

function storageClass(allowed?: StorageClass['allowedTopologies']): StorageClass {
  const narrowed = allowed === undefined ? {} : { allowedTopologies: allowed };
  return { metadata: meta('fast'), provisioner: names.driver, ...narrowed };
}

/** Zones by node; `-` has no driver, `?` no label. */
function nodes(zones: Readonly<Record<string, string>>): NodesView {
  const known = new Map<string, Node>();
  const drivers = new Map<string, CsiNode>();
  for (const [name, zone] of Object.entries(zones)) {
    const label = zone === '?' ? {} : { [key]: name };
    known.set(name, { metadata: meta(name, { labels: { zone, ...label } }) });
    const entry = { name: names.driver, nodeID: name, topologyKeys: [key] };
    const spec = { drivers: zone === '-' ? [] : [entry] };
    drivers.set(name, { metadata: meta(name), spec });
  }
  return {
    node: (name) => known.get(name),
    csiNode: (name) => drivers.get(name),
    all: () => drivers.values(),
  };
}

function place(one: ReturnType<typeof claim>, view: NodesView, of: StorageClass, isCopy = false) {
  return placeClaim({ claim: one, storageClass: of, isCopy, names }, view);
}

const zone = (...values: string[]) => [{ matchLabelExpressions: [{ key: 'zone', values }] }];

test('the selected node is the only one that is asked for', () => {
  const view = nodes({ n1: 'a', n2: 'b' });
  const found = place(claim('data', 'n2'), view, storageClass());
  assert.deepEqual(found, { kind: 'nodes', nodes: ['n2'] });
});

test('a selected node that is not allowed, not registered, not labelled or not there', () => {
  const view = nodes({ n1: 'a', n2: '-', n3: '?' });
  const answer = (selected: string) => {
    const found = place(claim('data', selected), view, storageClass(zone('b')));
    return found.kind === 'reschedule'
      ? ['reschedule', found.because.code, found.because.message]
      : Object.values(found);
  };
  const rows = [
    [
      'n1',
      'blocked',
      'NoNodeAllowed',
      'StorageClass fast allows zone=b, which does not match the selected node n1',
    ],
    ['n2', 'blocked', 'DriverNotOnNode', 'the driver topolvm.io is not registered on node n2'],
    ['n3', 'blocked', 'DriverNotOnNode', `node n3 has no label ${key}`],
    ['n9', 'reschedule', 'DriverNotOnNode', 'the selected node n9 has no CSINode'],
  ];
  for (const [selected = '', ...expected] of rows) assert.deepEqual(answer(selected), expected);
});

test('without a pod any node will do, if one has the driver', () => {
  const found = place(claim('data'), nodes({ n1: 'a', n2: '-' }), storageClass());
  assert.deepEqual(found, { kind: 'nodes', nodes: undefined });
  const none = place(claim('data'), nodes({ n1: '-', n2: '?' }), storageClass());
  assert.equal(none.kind === 'blocked' && none.code, 'DriverNotOnNode');
});

test('allowed topologies are alternatives of conditions that hold together', () => {
  const view = nodes({ n1: 'a', n2: 'b', n3: 'c', n4: 'a' });
  const both = [
    {
      matchLabelExpressions: [
        { key: 'zone', values: ['a', 'c'] },
        { key, values: ['n1', 'n2'] },
      ],
    },
    ...zone('c'),
  ];
  const found = place(claim('data'), view, storageClass(both));
  assert.deepEqual(found.kind === 'nodes' && found.nodes?.toSorted(), ['n1', 'n3']);
  const none = place(claim('data'), view, storageClass(zone('z')));
  assert.equal(none.kind === 'blocked' && none.message.endsWith('any of 4 nodes'), true);
});

test('claims of a StatefulSet begin at one node after the other', () => {
  const view = nodes({ n1: 'a', n2: 'a', n3: 'a' });
  const first = [0, 1, 2, 3].map((ordinal) => {
    const found = place(claim(`data-db-${ordinal}`), view, storageClass(zone('a')));
    return found.kind === 'nodes' ? found.nodes?.[0] : undefined;
  });
  assert.equal(new Set(first.slice(0, 3)).size, 3);
  assert.equal(first[3], first[0]);
});

test('a copy is not bound to the node of the pod, but to what the class allows', () => {
  const view = nodes({ n1: 'a', n2: 'b' });
  const anywhere = place(claim('data', 'n2'), view, storageClass(), true);
  assert.deepEqual(anywhere, { kind: 'nodes', nodes: undefined });
  const narrowed = place(claim('data', 'n2'), view, storageClass(zone('a')), true);
  assert.deepEqual(narrowed, { kind: 'nodes', nodes: ['n1'] });
});
