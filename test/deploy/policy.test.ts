import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Environment } from '@marcbachmann/cel-js';
import { loadAll } from 'js-yaml';

/** The policy in the tree, judged as an API server judges it: by its own expressions. */
type Policy = {
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly apiGroups: readonly string[];
        readonly resources: readonly string[];
        readonly operations: readonly string[];
      }[];
    };
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly variables: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly message?: string;
      readonly messageExpression?: string;
    }[];
  };
};

const file = join(import.meta.dirname, '../../deploy/node-policy.yaml');
const [policy] = loadAll(readFileSync(file, 'utf8')) as [Policy];

type Write = {
  readonly resource: string;
  readonly name?: string;
  /** The node in the token; '' for a server that puts none into it. */
  readonly node?: string;
  readonly username?: string;
  readonly object: object | null;
  readonly oldObject: object | null;
};

const ours = 'system:serviceaccount:quarry-system:vg-manager';

/** Undefined: it may be done. */
function refusal(write: Write): string | undefined {
  const { resource, name = '', node = 'a', username = ours, object, oldObject } = write;
  const extra = node === '' ? {} : { 'authentication.kubernetes.io/node-name': [node] };
  const request = { userInfo: { username, extra }, resource: { resource }, name };
  const variables: Record<string, unknown> = {};
  const evaluate = (expression: string): unknown =>
    new Environment({ unlistedVariablesAreDyn: true }).evaluate(expression, {
      ...{ request, object, oldObject, variables },
    });
  const { matchConditions, validations } = policy.spec;
  if (matchConditions.some(({ expression }) => evaluate(expression) !== true)) return undefined;
  for (const { name: key, expression } of policy.spec.variables) {
    variables[key] = evaluate(expression);
  }
  for (const { expression, message = '', messageExpression } of validations) {
    if (evaluate(expression) === true) continue;
    return messageExpression === undefined ? message : String(evaluate(messageExpression));
  }
  return undefined;
}

const volume = (nodeName: string) => ({ spec: { nodeName } });
const capacity = (node: string) => ({
  nodeTopology: { matchLabels: { 'topology.topolvm.io/node': node } },
});

test('an agent may change the volumes, the capacities and the Node that are its own', () => {
  const own: readonly Write[] = [
    { resource: 'logicalvolumes', object: volume('a'), oldObject: volume('a') },
    { resource: 'csistoragecapacities', object: capacity('a'), oldObject: null },
    { resource: 'csistoragecapacities', object: capacity('a'), oldObject: capacity('a') },
    { resource: 'csistoragecapacities', object: null, oldObject: capacity('a') },
    { resource: 'nodes', name: 'a', object: { spec: {} }, oldObject: { spec: {} } },
  ];
  for (const write of own) assert.equal(refusal(write), undefined, JSON.stringify(write));
});

test('an agent may change nothing of another node, nor make it its own', () => {
  const foreign: readonly (readonly [Write, RegExp])[] = [
    [{ resource: 'logicalvolumes', object: volume('b'), oldObject: volume('b') }, /LogicalVolumes/],
    [{ resource: 'logicalvolumes', object: volume('a'), oldObject: volume('b') }, /LogicalVolumes/],
    [{ resource: 'logicalvolumes', object: volume('b'), oldObject: volume('a') }, /LogicalVolumes/],
    [{ resource: 'csistoragecapacities', object: capacity('b'), oldObject: null }, /capacities/],
    [{ resource: 'csistoragecapacities', object: null, oldObject: capacity('b') }, /capacities/],
    [{ resource: 'nodes', name: 'b', object: { spec: {} }, oldObject: { spec: {} } }, /Nodes/],
  ];
  for (const [write, reason] of foreign) {
    assert.match(refusal(write) ?? 'allowed', reason, JSON.stringify(write));
  }
});

test('a capacity for every node is of no node, and refused', () => {
  for (const object of [{}, { nodeTopology: {} }, { nodeTopology: { matchLabels: {} } }]) {
    const write = { resource: 'csistoragecapacities', object, oldObject: null };
    assert.match(refusal(write) ?? 'allowed', /capacities/);
  }
});

test('an agent may not take the taints off its own Node', () => {
  const [object, oldObject] = [{ spec: {} }, { spec: { taints: [{ key: 'x' }] } }];
  assert.match(
    refusal({ resource: 'nodes', name: 'a', object, oldObject }) ?? 'allowed',
    /the spec of its own/,
  );
});

test('a token without a node may change nothing, and is told what is needed', () => {
  const write = { resource: 'logicalvolumes', object: volume('a'), oldObject: volume('a') };
  assert.match(refusal({ ...write, node: '' }) ?? 'allowed', /Kubernetes 1\.30/);
});

test('nobody else is bound by it', () => {
  const write = { resource: 'logicalvolumes', object: volume('b'), oldObject: volume('b') };
  const username = 'system:serviceaccount:quarry-system:lvms-operator';
  assert.equal(refusal({ ...write, username }), undefined);
});

test('it is asked about every kind that agents may write, and counts when it cannot be judged', () => {
  const { failurePolicy, matchConstraints } = policy.spec;
  assert.equal(failurePolicy, 'Fail');
  const asked = matchConstraints.resourceRules.flatMap(({ apiGroups, resources, operations }) => {
    assert.deepEqual(operations, ['CREATE', 'UPDATE', 'DELETE']);
    return resources.map((resource) => `${apiGroups.join()}/${resource}`);
  });
  assert.deepEqual(asked, [
    'topolvm.io/logicalvolumes',
    'topolvm.io/logicalvolumes/status',
    '/nodes',
    'storage.k8s.io/csistoragecapacities',
  ]);
});
