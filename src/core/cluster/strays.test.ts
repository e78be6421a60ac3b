import assert from 'node:assert/strict';
import test from 'node:test';
import { sampleLv, sampleVg } from '../../../test/samples/observed.ts';
import { limits } from '../../base/limits.ts';
import { findStray, strayAnnotation, straysIn, strayText, toldStrays } from './strays.ts';

const uid = '11111111-2222-3333-4444-555555555555';
const other = '99999999-2222-3333-4444-555555555555';

function node(name: string, text?: string) {
  const annotations = text === undefined ? {} : { [strayAnnotation]: text };
  return { metadata: { name, uid: name, resourceVersion: '1', annotations } };
}

const hostOf = (...lvs: readonly ReturnType<typeof sampleLv>[]) => ({
  vgs: [sampleVg({ name: 'data', lvs }), sampleVg({ name: 'theirs', lvs })],
  orphanPvs: [],
});
const groups = new Set(['data']);
const object = (id: string, status = {}) => ({
  metadata: { name: 'pvc', uid: id, resourceVersion: '1' },
  spec: { name: 'pvc', nodeName: 'n1', size: '1Gi' },
  status,
});

test('strays have our tags, or the name that TopoLVM gives, and no object in our groups', () => {
  const host = hostOf(
    sampleLv({ name: other, tags: [] }),
    sampleLv({ name: uid }),
    sampleLv({ name: 'root', tags: [] }),
    sampleLv({ name: `${uid}-helper`, tags: ['quarry', 'quarry.role=copy-source'] }),
  );
  assert.deepEqual(straysIn(host, groups, []), [
    { place: `data/${uid}`, id: uid, isOurs: true },
    { place: `data/${other}`, id: other, isOurs: false },
  ]);
  assert.deepEqual(straysIn(host, groups, [object(uid), object('new', { volumeID: other })]), []);
});

test('a Node names so many, and says that there are more', () => {
  const many = Array.from({ length: limits.strayNamesMax + 2 }, (_, index) => ({
    ...{ place: `data/v${index}`, id: `v${index}`, isOurs: index > 0 },
  }));
  const told = toldStrays(node('n1', strayText(many) ?? ''));
  assert.deepEqual(
    [told.ours.length, told.others.length, told.hasMore],
    [limits.strayNamesMax - 1, 1, true],
  );
  assert.equal(strayText([]), null);
});

test('where an LV may still be is told by the node that names it, or cannot tell', () => {
  const text = strayText([{ place: `data/${uid}`, id: uid, isOurs: true }]) ?? '';
  const cut = JSON.stringify({ ours: [], others: [], more: 1 });
  const there = { kind: 'there', node: 'n2', place: `data/${uid}` };
  assert.deepEqual(findStray(uid, [node('n1', cut), node('n2', text)]), there);
  assert.deepEqual(findStray(other, [node('n1', cut)]), { kind: 'unknown', node: 'n1' });
  assert.deepEqual(findStray(other, [node('n1', 'no JSON')]), { kind: 'unknown', node: 'n1' });
  assert.equal(findStray(other, [node('n1'), node('n2', text)]), undefined);
});
