import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LvmCluster, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { NodeSelector } from '../objects/node-selector.ts';
import type { Node } from '../objects/storage.ts';
import { type AdmissionView, judgeCluster, type Verdict } from './admission.ts';

/** Objects that are as large as etcd takes them, and made to be slow. */

const metadata = { name: 'mine', namespace: 'ns', uid: 'u', resourceVersion: '1' };
const labels = { disk: '5' };
const nodes = Array.from({ length: 5_000 }, (_, at): Node => {
  return { metadata: { ...metadata, name: `n${at}`, uid: `n${at}`, labels } };
});
const view: AdmissionView = {
  ...{ namespace: 'ns', others: [], nodes, reports: [], isMicroShift: false },
  inTheWay: () => [],
};

function cluster(...deviceClasses: readonly LvmDeviceClass[]): LvmCluster {
  return { metadata, spec: { storage: { deviceClasses } } };
}

function named(name: string, nodeSelector?: NodeSelector, path = '/dev/sdb'): LvmDeviceClass {
  const own = nodeSelector === undefined ? {} : { nodeSelector };
  return { name, deviceSelector: { paths: [path] }, ...own };
}

const numbers = (count: number, from = 0) =>
  Array.from({ length: count }, (_, at) => String(from + at));

const notIn = (values: readonly string[]): NodeSelector => ({
  nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'NotIn', values }] }],
});

const manyTerms = (count: number, from: number): NodeSelector => ({
  nodeSelectorTerms: numbers(count, from).map((value) => ({
    matchExpressions: [{ key: 'disk', operator: 'In', values: [value] }],
  })),
});

const manyRequirements = (count: number): NodeSelector => ({
  nodeSelectorTerms: [
    {
      matchExpressions: numbers(count).map((value) => ({
        ...{ key: 'disk', operator: 'NotIn', values: [value] },
      })),
    },
  ],
});

const huge: NodeSelector = {
  nodeSelectorTerms: [
    { matchExpressions: [{ key: 'disk', operator: 'Gt', values: ['9'.repeat(700_000)] }] },
  ],
};

const rows: readonly (readonly [string, LvmCluster])[] = [
  [
    'values by the ten thousand',
    cluster(named('a', notIn(numbers(80_000))), named('b', notIn(numbers(80_000, 5)))),
  ],
  [
    'terms by the ten thousand',
    cluster(named('a', manyTerms(12_000, 10)), named('b', manyTerms(12_000, 20_000))),
  ],
  ['requirements by the ten thousand', cluster(named('a', manyRequirements(20_000)), named('b'))],
  ['numbers without end', cluster(named('a', huge), named('b'))],
  [
    'classes by the thousand on one disk',
    cluster(...numbers(8_000).map((at) => named(`c${at}`, notIn([at])))),
  ],
  [
    'a disk by ten thousand names',
    cluster({ ...named('a'), deviceSelector: { paths: numbers(60_000) } }, named('b')),
  ],
];

/** By the time that the processor was busy: others may be at it, too. */
function judged(object: LvmCluster, oldObject?: LvmCluster): { ms: number; verdict: Verdict } {
  const before = process.cpuUsage();
  const operation = oldObject === undefined ? 'CREATE' : 'UPDATE';
  const verdict = judgeCluster({ operation, object, oldObject: oldObject ?? null }, view);
  return { ms: process.cpuUsage(before).user / 1_000, verdict };
}

for (const [title, object] of rows) {
  test(`an object with ${title} is answered soon, and in a few words`, () => {
    for (const old of [undefined, cluster(named('a'))]) {
      const { ms, verdict } = judged(object, old);
      assert.ok(ms < 3_000, `${ms} ms`);
      assert.ok(JSON.stringify(verdict).length < 100_000);
    }
  });
}

test('what cannot be compared is refused', () => {
  const object = cluster(named('a', manyTerms(12_000, 10)), named('b', manyTerms(12_000, 20_000)));
  const { isAllowed, message } = judged(object).verdict;
  assert.equal(isAllowed, false);
  assert.match(message, /too many to be compared/);
});
