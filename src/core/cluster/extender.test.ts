import assert from 'node:assert/strict';
import test from 'node:test';
import { GiB, MiB } from '../../base/bytes.ts';
import { isBlocked } from '../usable-vg.ts';
import { roomRefusal, roomScore, wantedRoom } from './extender.ts';

const names = { domain: 'topolvm.io', driver: 'topolvm.io' };
const legacy = { domain: 'topolvm.cybozu.com', driver: 'topolvm.cybozu.com' };
const divisors = { default: 1, classes: new Map([['slow', 10]]) };
const annotated = (entries: Readonly<Record<string, bigint | string>>) =>
  Object.fromEntries(
    Object.entries(entries).map(([key, value]) => [`capacity.topolvm.io/${key}`, String(value)]),
  );
const room = (entries: Readonly<Record<string, bigint>>) => new Map(Object.entries(entries));

test('what a pod wants is read from the annotations of its own group', () => {
  const pod = { ...annotated({ '00default': GiB, slow: MiB }), 'other.io/x': '1' };
  assert.deepEqual(wantedRoom(pod, names), room({ '00default': GiB, slow: MiB }));
  assert.deepEqual(wantedRoom(pod, legacy), new Map());
  assert.deepEqual(wantedRoom(undefined, names), new Map());
});

test('a pod with a size that is none is refused in words', () => {
  const wanted = wantedRoom(annotated({ slow: '1Gi' }), names);
  assert.ok(isBlocked(wanted));
  assert.match(wanted.message, /capacity\.topolvm\.io\/slow of the pod is "1Gi"; write a number/);
});

const wanted = room({ fast: 2n * GiB, slow: GiB });
const refusals: readonly (readonly [string, object | undefined, RegExp | undefined])[] = [
  ['a node with just enough', annotated({ fast: 2n * GiB, slow: GiB }), undefined],
  ['one byte too little', annotated({ fast: 2n * GiB - 1n, slow: GiB }), /fast has .* free, 2/],
  ['too little of the second class', annotated({ fast: 2n * GiB, slow: 0n }), /^out of VG free/],
  ['a class that it has not', annotated({ fast: 2n * GiB }), /^no capacity annotation .*slow$/],
  ['a figure that is none', annotated({ fast: 'much', slow: GiB }), /^bad capacity annotation/],
  ['a negative figure', annotated({ fast: '-1', slow: GiB }), /^bad capacity annotation/],
  ['nothing told', undefined, /^no capacity annotation/],
];
for (const [what, node, expected] of refusals) {
  test(`room on a node: ${what}`, () => {
    const why = roomRefusal(node as Record<string, string> | undefined, wanted, names);
    if (expected === undefined) assert.equal(why, undefined);
    else assert.match(why ?? '', expected);
  });
}

test('a pod that wants nothing fits everywhere', () => {
  assert.equal(roomRefusal(undefined, new Map(), names), undefined);
  assert.equal(roomScore(undefined, new Map(), { names, divisors }), 0);
});

const scores: readonly (readonly [bigint | string, number])[] = [
  [0n, 0],
  [1n, 1],
  [GiB - 1n, 1],
  [GiB, 1],
  [4n * GiB, 2],
  [1000n * GiB, 9],
  [1024n ** 2n * GiB, 10],
  ['much', 0],
];
for (const [free, expected] of scores) {
  test(`a node with ${free} bytes free is liked ${expected}`, () => {
    const node = annotated({ fast: free });
    assert.equal(roomScore(node, room({ fast: 1n }), { names, divisors }), expected);
  });
}

test('of several classes the one with least counts, each by its divisor', () => {
  const node = annotated({ fast: 64n * GiB, slow: 64n * GiB });
  const score = (...classes: readonly string[]) =>
    roomScore(node, new Map(classes.map((each) => [each, 1n])), { names, divisors });
  assert.deepEqual([score('fast'), score('slow'), score('fast', 'slow')], [6, 2, 2]);
  assert.equal(score('fast', 'none'), 0);
});
