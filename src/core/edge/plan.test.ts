import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DaemonSet, PodTemplate } from '../../api/objects/edge-workload.ts';
import { type EdgeSight, isContained, planEdge, renderDaemonSet } from './plan.ts';

const metadata = { name: 'vg-manager', namespace: 'ns', uid: 'u', resourceVersion: '7' };
const labels = {
  'app.kubernetes.io/name': 'topolvm',
  'app.kubernetes.io/component': 'node',
  'app.kubernetes.io/part-of': 'quarry',
};
const pod = { metadata: { labels }, spec: { containers: [{ name: 'a', args: ['all'] }] } };
const template: PodTemplate = { metadata, template: pod };
const digest = (text: string) => `${text.length}`;
const lvmd = { text: 'x', checksum: '01', socketName: '/s' };
const wish = { namespace: 'ns', lvmd, replacesTopolvm: false, digest };
const configMap = { metadata: { ...metadata, name: 'lvmd' }, data: { 'lvmd.yaml': 'x' } };
const rendered = renderDaemonSet(wish, pod);
const daemonSet: DaemonSet = {
  ...{ metadata: { ...metadata, ...rendered.metadata }, spec: rendered.spec },
};
const well: EdgeSight = { configMap, template, daemonSet, old: [], oldPods: [] };

function next(changes: Partial<EdgeSight>): string {
  const decision = planEdge(wish, { ...well, ...changes });
  return decision.kind === 'do' ? decision.deed.kind : decision.kind;
}

test('the text comes first, and then who reads it', () => {
  assert.equal(next({}), 'rest');
  assert.equal(next({ configMap: undefined, daemonSet: undefined }), 'create-config-map');
  assert.equal(next({ configMap: { ...configMap, data: {} } }), 'change-config-map');
  assert.equal(next({ daemonSet: undefined }), 'create-daemon-set');
  const other = renderDaemonSet({ ...wish, lvmd: { ...lvmd, checksum: '02' } }, pod);
  assert.equal(next({ daemonSet: { metadata, spec: other.spec } }), 'update-daemon-set');
  const moved = renderDaemonSet({ ...wish, lvmd: { ...lvmd, socketName: '/t' } }, pod);
  assert.equal(next({ daemonSet: { metadata, spec: moved.spec } }), 'update-daemon-set');
});

test('what the manifests leave out now goes, though it looks as if it was filled in', () => {
  const { serviceAccountName: _, ...less } = { ...pod.spec, serviceAccountName: 'old' };
  const more = { ...pod, spec: { ...pod.spec, serviceAccountName: 'old' } };
  const before = renderDaemonSet(wish, more);
  const found = { ...daemonSet, metadata: { ...metadata, ...before.metadata }, spec: before.spec };
  const decision = planEdge(wish, { ...well, daemonSet: found });
  assert.ok(decision.kind === 'do' && decision.deed.kind === 'update-daemon-set');
  assert.deepEqual(decision.deed.object.spec.template.spec, less);
  const { metadata: now, spec } = decision.deed.object;
  const next = { metadata: { ...metadata, ...now }, spec } as DaemonSet;
  assert.equal(planEdge(wish, { ...well, daemonSet: next }).kind, 'rest');
});

test('for an LVMCluster with classes no text is written, and the file is on the host', () => {
  const volumes = [
    { name: 'lvmd', configMap: { name: 'lvmd' } },
    { name: 'state', hostPath: {} },
  ];
  const source = { ...template, template: { ...pod, spec: { ...pod.spec, volumes } } };
  const nothing = { ...well, configMap: undefined, daemonSet: undefined, template: source };
  const decision = planEdge({ ...wish, lvmd: undefined }, nothing);
  assert.ok(decision.kind === 'do' && decision.deed.kind === 'create-daemon-set');
  const { metadata: marks, spec } = decision.deed.object.spec.template;
  // The API server would leave out what is empty, and it would never be as wanted.
  assert.equal(marks?.annotations, undefined);
  const place = { path: '/etc/topolvm', type: 'DirectoryOrCreate' };
  assert.deepEqual(spec?.volumes, [{ name: 'lvmd', hostPath: place }, volumes[1]]);
  const back = planEdge(wish, { ...well, template: source, daemonSet: undefined });
  assert.ok(back.kind === 'do' && back.deed.kind === 'create-daemon-set');
  assert.deepEqual(back.deed.object.spec.template.spec?.volumes, volumes);
});

test('TopoLVM goes only when that is asked for, and is gone before anything is written', () => {
  const nothing = { ...well, configMap: undefined, daemonSet: undefined };
  const [controller, node] = [
    { kind: 'Deployment', name: 'topolvm-controller', uid: '1' } as const,
    { kind: 'DaemonSet', name: 'topolvm-node', uid: '2' } as const,
  ];
  const both = { ...nothing, old: [controller, node], oldPods: ['topolvm-node-x'] };
  const refused = planEdge(wish, both);
  assert.ok(refused.kind === 'blocked');
  assert.match(refused.why, /Deployment ns\/topolvm-controller is there.*--replace-topolvm/);
  const allowed = { ...wish, replacesTopolvm: true };
  const first = planEdge(allowed, both);
  assert.ok(first.kind === 'do' && first.deed.kind === 'delete-old');
  assert.equal(first.deed.old, controller);
  assert.equal(planEdge(allowed, { ...both, template: undefined }).kind, 'wait');
  assert.equal(planEdge(allowed, { ...both, old: [] }).kind, 'wait');
  assert.equal(planEdge(wish, { ...both, old: [], oldPods: [] }).kind, 'do');
});

test('nothing is begun before all can be done', () => {
  const nothing = { configMap: undefined, daemonSet: undefined };
  assert.equal(next({ ...nothing, template: undefined }), 'wait');
  const going = { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  assert.equal(
    next({ configMap: undefined, daemonSet: { ...daemonSet, metadata: going } }),
    'wait',
  );
  const selector = { matchLabels: { app: 'other' } };
  const foreign = { ...daemonSet, spec: { ...daemonSet.spec, selector } };
  assert.equal(next({ configMap: undefined, daemonSet: foreign }), 'blocked');
});

test('an update is of the object that was seen, and keeps what others noted on it', () => {
  const found = { ...metadata, labels: { theirs: '1' }, annotations: { also: '2' } };
  const decision = planEdge(wish, { ...well, daemonSet: { ...daemonSet, metadata: found } });
  assert.ok(decision.kind === 'do' && decision.deed.kind === 'update-daemon-set');
  const { resourceVersion, labels: now, annotations } = decision.deed.object.metadata;
  assert.equal(resourceVersion, '7');
  assert.deepEqual(now, { theirs: '1', ...labels });
  assert.deepEqual(annotations, { also: '2', ...rendered.metadata.annotations });
});

const contained: readonly (readonly [string, unknown, unknown, boolean])[] = [
  ['the same', { a: [{ b: 1 }] }, { a: [{ b: 1 }] }, true],
  ['a field that was filled in', { a: [{ b: 1 }] }, { a: [{ b: 1, c: 2 }], d: 3 }, true],
  ['another value', { a: 1 }, { a: 2 }, false],
  ['a value of another kind', { a: '1' }, { a: 1 }, false],
  ['no value', { a: 1 }, {}, false],
  ['an item more', { a: [1] }, { a: [1, 2] }, false],
  ['an item less', { a: [1, 2] }, { a: [1] }, false],
  ['another order', { a: [1, 2] }, { a: [2, 1] }, false],
  ['what is empty and was left out', { a: '' }, {}, true],
  ['what is empty and is something', { a: '' }, { a: 'x' }, false],
  ['a word for nothing', { a: null, b: undefined }, { a: 'x' }, true],
  ['false that is true', { a: false }, { a: true }, false],
  ['0 that is there', { a: 0 }, { a: 0 }, true],
  ['an object for a list', { a: {} }, { a: undefined }, false],
];

for (const [what, wanted, found, is] of contained) {
  test(`${what} is ${is ? 'as wanted' : 'not as wanted'}`, () => {
    assert.equal(isContained(wanted, found), is);
  });
}
