import assert from 'node:assert/strict';
import test from 'node:test';
import { hostOf, nodeOf, sampleLv, sampleVg } from '../../test/samples/observed.ts';
import { decodeNodeFile } from '../api/node-file/decode.ts';
import { desiredNode } from '../core/node.ts';
import { asDocument } from './output.ts';
import { classTable, hostStatus, volumeTable } from './status.ts';

const decoded = decodeNodeFile({ volumeGroups: [{ name: 'vg1', devices: 'any' }] });
assert.ok(decoded.kind === 'node');
const node = desiredNode(decoded.spec);

test('a class that can give nothing says why', () => {
  const classes = decodeNodeFile({
    volumeGroups: [
      { name: 'vg1', devices: 'any' },
      { name: 'vg2', managed: false },
    ],
    deviceClasses: [
      { name: 'plain', volumeGroup: 'vg1' },
      { name: 'wide', volumeGroup: 'vg1', striped: { stripes: 3 } },
      { name: 'far', volumeGroup: 'vg2' },
      { name: 'thin', volumeGroup: 'vg1', thin: { poolName: 'pool', overprovisionRatio: 2 } },
    ],
  });
  assert.ok(classes.kind === 'node');
  const host = hostOf(sampleVg({ name: 'vg1', lvs: [] }));
  const lines = classTable(desiredNode(classes.spec), host).split('\n');
  const [head = '', ...rows] = lines.map((line) => line.split(/ {2,}/));
  assert.deepEqual(head[4], 'REASON');
  assert.deepEqual(
    rows.map((row) => [row[0], row[2] === '0 B' || row[2] === '-', row[4] ?? '']),
    [
      ['plain', false, ''],
      ['wide', true, 'LayoutNeedsDevices: striped needs 3 devices but vg1 has 1'],
      ['far', true, 'VolumeGroupMissing: there is no volume group vg2 on this node'],
      ['thin', true, 'ThinPoolMissing: there is no thin pool vg1/pool'],
    ],
  );
});

test('programs get sizes as quantities, and nothing that no JSON can hold', () => {
  const classes = decodeNodeFile({
    volumeGroups: [{ name: 'vg1', managed: false }],
    deviceClasses: [{ name: 'plain', volumeGroup: 'vg1', default: true }],
  });
  assert.ok(classes.kind === 'node');
  const lvs = [sampleLv({ name: 'u1', tags: ['quarry', 'quarry.name=db'] })];
  const observed = nodeOf([], { vgs: [sampleVg({ name: 'vg1', lvs })] });
  const told = asDocument('HostStatus', hostStatus(desiredNode(classes.spec), observed), 'json');
  const document = JSON.parse(told) as Record<'groups' | 'classes' | 'volumes', object[]>;
  const fields = (list: readonly object[]) => Object.keys(list[0] ?? {});
  assert.deepEqual(fields(document.groups), ['name', 'state', 'reason', 'size', 'free', 'devices']);
  assert.deepEqual(fields(document.classes), [
    ...['name', 'isDefault', 'layout', 'available', 'largest', 'reason'],
  ]);
  assert.deepEqual(fields(document.volumes), [
    ...['volume', 'name', 'group', 'class', 'kind', 'size', 'source', 'state'],
  ]);
  assert.match((document.groups[0] as { size: string }).size, /^\d+[KMGT]i$/);
});

test('volumes of the driver are shown with their names, sources and marks', () => {
  const lvs = [
    sampleLv({ name: 'u1', tags: ['quarry', 'quarry.name=my!20.db', 'quarry.class=fast'] }),
    sampleLv({
      name: 'u2',
      tags: ['quarry', 'quarry.pending', 'quarry.name=copy', 'quarry.source=u1'],
    }),
    sampleLv({ name: 'u3', isActive: false, tags: ['quarry', 'quarry.pending'] }),
    sampleLv({ name: 'u4', tags: ['quarry', 'quarry.source=gone'] }),
    sampleLv({ name: 'root', tags: [] }),
  ];
  const lines = volumeTable(hostOf(sampleVg({ name: 'vg1', lvs })), node).split('\n');
  const [head = '', ...rows] = lines.map((line) => line.split(/ {2,}/));
  const column = (title: string) => rows.map((row) => row[head.indexOf(title)]);
  assert.deepEqual(column('VOLUME'), ['u1', 'u2', 'u3', 'u4', 'root']);
  assert.deepEqual(column('NAME'), ['my db', 'copy', '-', '-', '-']);
  assert.deepEqual(column('CLASS'), ['fast', '-', '-', '-', '-']);
  assert.deepEqual(column('SOURCE'), ['-', 'u1 (my db)', '-', 'gone', '-']);
  assert.deepEqual(column('STATE'), [
    ...['active', 'active, not yet published', 'inactive, not yet published', 'active'],
    'active, not ours',
  ]);
});
