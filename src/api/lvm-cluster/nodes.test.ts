import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { NodeSelector } from '../objects/node-selector.ts';
import type { Node } from '../objects/storage.ts';
import { Effort } from './effort.ts';
import { isMeant, isSelected, isTolerated } from './nodes.ts';
import { mayOverlap as overlap } from './overlap.ts';

function node(labels: Readonly<Record<string, string>>, name = 'n1'): Node {
  return { metadata: { name, uid: name, resourceVersion: '1', labels } };
}

function selector(...requirements: readonly string[]): NodeSelector {
  return {
    nodeSelectorTerms: requirements.map((text) => {
      const [key = '', operator = '', ...values] = text.split(' ');
      return { matchExpressions: [{ key, operator, values }] };
    }),
  };
}

const selected: readonly (readonly [string, Readonly<Record<string, string>>, boolean])[] = [
  ['disk In ssd nvme', { disk: 'ssd' }, true],
  ['disk In ssd nvme', { disk: 'hdd' }, false],
  ['disk In ssd', {}, false],
  ['disk NotIn ssd', { disk: 'hdd' }, true],
  ['disk NotIn ssd', {}, true],
  ['disk NotIn ssd', { disk: 'ssd' }, false],
  ['disk Exists', { disk: '' }, true],
  ['disk Exists', {}, false],
  ['disk DoesNotExist', {}, true],
  ['disk DoesNotExist', { disk: 'ssd' }, false],
  ['disks Gt 3', { disks: '4' }, true],
  ['disks Gt 3', { disks: '3' }, false],
  ['disks Lt 3', { disks: '-2' }, true],
  ['disks Lt 3', { disks: 'many' }, false],
  ['disks Gt', { disks: '4' }, false],
  ['disk Like ssd', { disk: 'ssd' }, false],
];

test('a node is meant by its labels', () => {
  for (const [text, labels, expected] of selected) {
    assert.equal(
      isSelected(node(labels), selector(text)),
      expected,
      `${text} of ${labels['disk']}`,
    );
  }
  assert.ok(isSelected(node({}), undefined), 'no selector means every node');
  assert.ok(!isSelected(node({}), { nodeSelectorTerms: [] }), 'no term holds');
  assert.ok(!isSelected(node({}), { nodeSelectorTerms: [{}] }), 'an empty term holds nowhere');
  assert.ok(isSelected(node({ a: '1' }), selector('b Exists', 'a Exists')), 'one term is enough');
  const byName = { key: 'metadata.name', operator: 'In', values: ['n2'] };
  const fields = { nodeSelectorTerms: [{ matchFields: [byName] }] };
  assert.ok(isSelected(node({}, 'n2'), fields));
  assert.ok(!isSelected(node({}, 'n1'), fields));
});

test('a taint is tolerated as Kubernetes does it', () => {
  const taint = { key: 'dedicated', value: 'db', effect: 'NoSchedule' };
  for (const one of [
    { operator: 'Exists' },
    { key: 'dedicated', operator: 'Exists' },
    { key: 'dedicated', value: 'db' },
    { key: 'dedicated', operator: 'Equal', value: 'db', effect: 'NoSchedule' },
  ]) {
    assert.ok(isTolerated(taint, [one]), JSON.stringify(one));
  }
  for (const one of [
    {},
    { value: 'db' },
    { key: 'dedicated', value: 'web' },
    { key: 'dedicated', operator: 'Exists', effect: 'NoExecute' },
    { key: 'other', operator: 'Exists' },
  ]) {
    assert.ok(!isTolerated(taint, [one]), JSON.stringify(one));
  }
  const tainted = { ...node({}), spec: { taints: [taint] } };
  assert.ok(!isMeant(tainted, undefined, []));
  assert.ok(isMeant(tainted, undefined, [{ operator: 'Exists' }]));
  const away = [
    { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
    { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
  ];
  assert.ok(isMeant({ ...node({}), spec: { taints: away } }, undefined, []), 'it is away for now');
});

const mayOverlap = (one: NodeSelector | undefined, other: NodeSelector | undefined) =>
  overlap(one, other, new Effort(1_000_000));

test('selectors that no node can meet together do not overlap', () => {
  assert.ok(!mayOverlap(selector('disk In ssd'), selector('disk In hdd')));
  assert.ok(!mayOverlap(selector('disk In ssd'), selector('disk NotIn ssd')));
  assert.ok(!mayOverlap(selector('disk Exists'), selector('disk DoesNotExist')));
  assert.ok(!mayOverlap(selector('disks Gt 3'), selector('disks Lt 4')));
  assert.ok(!mayOverlap(undefined, { nodeSelectorTerms: [{}] }));
  assert.ok(mayOverlap(selector('disks Gt 3'), selector('disks Lt 5')));
  assert.ok(mayOverlap(selector('disk In ssd'), selector('zone In a')));
  assert.ok(mayOverlap(undefined, undefined));
  assert.ok(mayOverlap(undefined, selector('zone In a')));
});

const requirement = fc.record({
  key: fc.constantFrom('a', 'b'),
  operator: fc.constantFrom('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'),
  values: fc.array(fc.constantFrom('0', '1', '2', 'x'), { minLength: 1, maxLength: 2 }),
});
const anySelector = fc.record({
  nodeSelectorTerms: fc.array(
    fc.record({ matchExpressions: fc.array(requirement, { maxLength: 2 }) }),
    { maxLength: 2 },
  ),
});

/** More values than the selectors above can tell apart. */
const values = [undefined, ...Array.from({ length: 14 }, (_, at) => String(at - 6)), 'x', 'y'];
const everyNode = values.flatMap((a) =>
  values.map((b) => node({ ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) })),
);

test('selectors overlap exactly when some node is meant by both', () => {
  fc.assert(
    fc.property(anySelector, anySelector, (one, other) => {
      const isThere = everyNode.some((each) => isSelected(each, one) && isSelected(each, other));
      assert.equal(mayOverlap(one, other), isThere);
    }),
    { numRuns: 500 },
  );
});
