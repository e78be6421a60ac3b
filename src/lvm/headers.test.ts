import assert from 'node:assert/strict';
import test from 'node:test';
import { isHalfMade } from './headers.ts';

/** `lvm pvck --dump headers` of lvm2 2.03.31, after a power cut in our vgcreate. */
const halfMade = `  label_header at 512
  label_header.id LABELONE
  pv_header at 544
  pv_header.device_size 1073741824
  pv_header.disk_locn[2] at 616 # location of metadata area
  pv_header.disk_locn[2].offset 4096
  pv_header.disk_locn[2].size 17821696
  pv_header_extension.version 2
  pv_header_extension.flags 1
  mda_header_1 at 4096 # metadata area
  mda_header_1.checksum 0x11fa071c
  mda_header_1.version 1
  mda_header_1.start 4096
  mda_header_1.size 17821696
  mda_header_1.raw_locn[0] at 4136 # commit
  mda_header_1.raw_locn[0].offset 0
  mda_header_1.raw_locn[0].size 0
  mda_header_1.raw_locn[0].checksum 0x0
  mda_header_1.raw_locn[0].flags 0x0
  mda_header_1.raw_locn[1] at 4160 # precommit
  mda_header_1.raw_locn[1].offset 0
  mda_header_1.raw_locn[1].size 0
  mda_header_1.raw_locn[1].checksum 0x0
  mda_header_1.raw_locn[1].flags 0x0
`;

test('a device on which our vgcreate was cut off is known by its empty metadata area', () => {
  assert.equal(isHalfMade(halfMade), true);
});

const others: readonly (readonly [name: string, from: string, to: string])[] = [
  ['metadata was committed', 'raw_locn[0].offset 0', 'raw_locn[0].offset 1536'],
  ['metadata was prepared', 'raw_locn[1].size 0', 'raw_locn[1].size 900'],
  ['the area is ignored', 'raw_locn[0].flags 0x0', 'raw_locn[0].flags 0x1'],
  ['the area has another size', 'mda_header_1.size 17821696', 'mda_header_1.size 1044480'],
  ['there is no area', 'mda_header_1.size 17821696', 'nothing 1'],
  ['there is a second area', 'mda_header_1.version 1', 'mda_header_2.size 17821696'],
];

for (const [name, from, to] of others) {
  test(`a device is somebody's when ${name}`, () => {
    assert.ok(halfMade.includes(from));
    assert.equal(isHalfMade(halfMade.replace(from, to)), false);
  });
}

test('headers that cannot be read prove nothing', () => {
  assert.equal(isHalfMade(''), false);
  assert.equal(isHalfMade('garbage'), false);
});
