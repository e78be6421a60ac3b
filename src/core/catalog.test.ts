import assert from 'node:assert/strict';
import test from 'node:test';
import { hostOf, sampleCow, sampleLv, samplePool, sampleVg } from '../../test/samples/observed.ts';
import { recordsIn } from './catalog.ts';
import { ownerTag, tagOf } from './tags.ts';

const ours = (name: string, ...tags: readonly string[]) =>
  sampleLv({ name, tags: [ownerTag, ...tags] });
const ids = (...lvs: Parameters<typeof sampleVg>[0][]) =>
  recordsIn(hostOf(...lvs.map((given) => sampleVg(given))), new Set(['vg1'])).map(({ id }) => id);

test('what we made is a record, in the order of ids; what others made is none', () => {
  const lvs = [ours('b'), sampleLv({ name: 'theirs', tags: [] }), ours('a')];
  assert.deepEqual(ids({ lvs }), ['a', 'b']);
});

test('pools, parts and helpers are no records, nor is what lies in other groups', () => {
  const lvs = [
    samplePool({ tags: [ownerTag] }),
    { ...ours('a_rimage_0'), isInternal: true },
    ours('a.copy', tagOf('role', 'copy-source')),
  ];
  assert.deepEqual(ids({ lvs }, { name: 'vg2', lvs: [ours('c')] }), []);
});

test('tags tell the name, the class, the source, the group and the time', () => {
  const tags = [
    ...[tagOf('role', 'snapshot'), tagOf('name', 'a b/ü'), tagOf('class', 'fast')],
    ...[tagOf('source', 'v1'), tagOf('group', 'g'), tagOf('created', '1700000000123')],
  ];
  const [record] = recordsIn(hostOf(sampleVg({ lvs: [ours('s', ...tags)] })), new Set(['vg1']));
  assert.ok(record !== undefined);
  assert.deepEqual(
    [record.kind, record.name, record.className, record.sourceId, record.groupId, record.createdMs],
    ['snapshot', 'a b/ü', 'fast', 'v1', 'g', 1_700_000_000_123],
  );
});

test('a CoW snapshot is a snapshot whatever its tags say, and knows its origin', () => {
  const lvs = [sampleCow({ name: 's', origin: 'v1', tags: [ownerTag] })];
  const [record] = recordsIn(hostOf(sampleVg({ lvs })), new Set(['vg1']));
  assert.deepEqual([record?.kind, record?.sourceId], ['snapshot', 'v1']);
});

test('a time that is none is not told', () => {
  const lvs = [ours('v', tagOf('created', 'yesterday'))];
  const [record] = recordsIn(hostOf(sampleVg({ lvs })), new Set(['vg1']));
  assert.equal(record?.createdMs, undefined);
});
