import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { generatedNode, generatedVg } from '../../../test/samples/generated-node.ts';
import {
  extents,
  sampleDevice,
  sampleLv,
  samplePool,
  samplePv,
  sampleThin,
  sampleVg,
} from '../../../test/samples/observed.ts';
import { times } from '../../base/bytes.ts';
import { foreseeNode } from '../foresee.ts';
import type { ObservedNode } from '../observed.ts';
import { inventoryText, readInventory, whatPlansNeed } from './inventory.ts';

const known = new Map([['vg1', 'uuid-vg1']]);
const givenUp = new Set(['vg2']);
const wipes = new Map([['wwn 0x5', { found: ['ext4'], isDone: true }]]);

function nodeOf(changes: Partial<ObservedNode>): ObservedNode {
  return { devices: [], vgs: [], orphanPvs: [], ...changes };
}

function told(node: ObservedNode): string {
  return inventoryText({ node, known, givenUp, wipes }) ?? '';
}

test('what was told is read again', () => {
  fc.assert(
    fc.property(generatedNode, (node) => {
      const read = readInventory(told(node));
      assert.deepEqual(read, { node: whatPlansNeed(node), known, givenUp, wipes });
    }),
  );
});

const wantedGroups = fc.tuple(...['vg1', 'vg2', 'vg3'].map(generatedVg));

test('a plan by what was told has the steps of a plan by what is', () => {
  fc.assert(
    fc.property(generatedNode, wantedGroups, (node, groups) => {
      const wanted = { volumeGroups: groups, thinPools: [] };
      const { node: read } = readInventory(told(node)) ?? { node };
      const [far, near] = [foreseeNode(wanted, read), foreseeNode(wanted, node)];
      assert.deepEqual(far.steps, near.steps);
      // A logical volume that is named as a disk is told of as one that is not there.
      const word = (code: string) => code.replace('NotUsable', 'NotFound');
      const codes = ({ blocks }: typeof far) => blocks.map(({ what, code }) => [what, word(code)]);
      assert.deepEqual(codes(far), codes(near));
    }),
    { numRuns: 500 },
  );
});

const disk = sampleDevice({ path: '/dev/sda', holders: ['/dev/dm-0'] });
const lvDevice = (path: string) => sampleDevice({ path, type: 'lvm' });

test('volumes that come and go change no word, but for the room that they leave', () => {
  const pv = samplePv({ device: '/dev/sda' });
  const pool = samplePool();
  const one = sampleThin({ name: 'one', uuid: 'one' });
  const two = sampleThin({ name: 'two', uuid: 'two' });
  const before = nodeOf({
    devices: [disk, lvDevice('/dev/dm-0')],
    vgs: [sampleVg({ pvs: [pv], lvs: [pool, one] })],
  });
  const after = nodeOf({
    devices: [lvDevice('/dev/dm-1'), { ...disk, holders: ['/dev/dm-1'] }],
    vgs: [
      sampleVg({
        ...{ pvs: [pv], sequence: 9n, metadataFreeBytes: times(extents(1), 1) },
        lvs: [two, { ...pool, dataPercent: 70, metadataPercent: 9, isOpen: true }],
      }),
    ],
  });
  assert.equal(told(after), told(before));
  const less = samplePv({ device: '/dev/sda', freeBytes: extents(1) });
  assert.notEqual(told(nodeOf({ ...after, vgs: [sampleVg({ pvs: [less] })] })), told(after));
});

test('a pod that sees a file system of the node changes no word', () => {
  const mounted = (...mountPoints: readonly string[]) =>
    told(nodeOf({ devices: [sampleDevice({ mountPoints })] }));
  assert.equal(mounted('/var/lib/kubelet/pods/x', '/'), mounted('/'));
  assert.notEqual(mounted('/'), mounted());
});

test('that a group is in use is told, and what others made in it', () => {
  const lvs = [sampleLv(), sampleLv({ name: 'theirs', uuid: 'theirs', tags: [] })];
  const [vg] = whatPlansNeed(nodeOf({ vgs: [sampleVg({ lvs })] })).vgs;
  assert.deepEqual(
    vg?.lvs.map(({ name }) => name),
    ['theirs', 'a volume of the group'],
  );
});

test('what nobody can read is as good as none', () => {
  for (const text of [undefined, '', '{', '[]', '{"version":2}', 'null']) {
    assert.equal(readInventory(text), undefined, String(text));
  }
});

test('a node with more than an annotation can hold tells nothing', () => {
  const devices = Array.from({ length: 2_000 }, (_, index) =>
    sampleDevice({ path: `/dev/sd${index}`, serial: 'x'.repeat(60) }),
  );
  assert.equal(inventoryText({ node: nodeOf({ devices }), known, givenUp, wipes }), undefined);
});
