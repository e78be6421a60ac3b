import assert from 'node:assert/strict';
import test from 'node:test';
import { ownProtocols } from './protocol.ts';
import {
  agentBuildAnnotation,
  type Build,
  buildText,
  operatorBuildAnnotation,
  skewOfAgent,
  skewOfOperator,
  skewOn,
} from './skew.ts';

function build(oldest: number, newest: number): Build {
  return { version: `0.${newest}.0`, protocols: { oldest, newest } };
}

function nodeWith(annotations: Readonly<Record<string, string>>) {
  return { metadata: { name: 'n1', uid: 'u', resourceVersion: '1', annotations } };
}

const pairs: readonly (readonly [string, Build, Build, boolean])[] = [
  ['the same protocol', build(1, 1), build(1, 1), true],
  ['an operator that still knows the older one', build(1, 2), build(1, 1), true],
  ['an agent that still knows the older one', build(1, 1), build(1, 2), true],
  ['an operator that does not any more', build(2, 2), build(1, 1), false],
  ['an agent that does not any more', build(1, 1), build(2, 3), false],
  ['both know more than the other, and 2 in common', build(2, 3), build(1, 2), true],
];

for (const [what, operator, agent, isWell] of pairs) {
  test(`${what}: ${isWell ? 'they go together' : 'nothing new is done'}, as both sides see it`, () => {
    const told = {
      [operatorBuildAnnotation]: buildText(operator),
      [agentBuildAnnotation]: buildText(agent),
    };
    const seen = [
      skewOfAgent(nodeWith({ [operatorBuildAnnotation]: buildText(operator) }), agent),
      skewOfOperator(nodeWith({ [agentBuildAnnotation]: buildText(agent) }), operator),
      skewOn(nodeWith(told)),
    ];
    for (const one of seen) assert.equal(one === undefined, isWell);
    assert.deepEqual(seen[1], seen[0]);
    assert.deepEqual(seen[2], seen[0]);
  });
}

test('whoever tells nothing speaks protocol 1', () => {
  for (const node of [undefined, nodeWith({})]) {
    assert.equal(skewOfAgent(node, build(1, 2)), undefined);
    assert.equal(skewOfOperator(node, build(1, 2)), undefined);
    assert.equal(skewOfAgent(node, build(2, 2))?.code, 'VersionSkew');
    assert.equal(skewOfOperator(node, build(2, 2))?.code, 'VersionSkew');
  }
});

test('the reason names both versions, the node and what to do', () => {
  const node = nodeWith({ [agentBuildAnnotation]: buildText(build(1, 1)) });
  const message = skewOfOperator(node, build(2, 3))?.message ?? '';
  assert.match(message, /operator is 0\.3\.0 \(protocols 2 to 3\)/);
  assert.match(message, /agent of n1 is 0\.1\.0 \(protocol 1\)/);
  assert.match(message, /finish the roll-out, or undo it/);
});

test('what cannot be read may say anything: nothing new is done', () => {
  const texts = ['', 'x', 'null', '[]', '{"version":"1"}', '{"version":1,"protocol":1}'];
  const whole = { version: '1', protocol: 1, oldestProtocol: 1 };
  const broken = [{ protocol: '1' }, { oldestProtocol: 0 }, { protocol: 1.5 }, { version: null }];
  for (const text of [...texts, ...broken.map((one) => JSON.stringify({ ...whole, ...one }))]) {
    const refusal = skewOfAgent(nodeWith({ [operatorBuildAnnotation]: text }), build(1, 1));
    assert.equal(refusal?.code, 'VersionSkew', text);
    assert.match(refusal.message, /quarry\.io\/operator-version of the Node n1/);
  }
});

test('this tree goes with programs that tell nothing', () => {
  assert.equal(skewOfAgent(undefined, { version: 'x', protocols: ownProtocols }), undefined);
});
