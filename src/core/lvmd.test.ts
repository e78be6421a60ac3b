import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { kib, plainClass, plainSpec } from '../../test/samples/lvmd-files.ts';
import { vgWithFree } from '../../test/samples/observed.ts';
import type { LvmdDeviceClass } from '../api/lvmd-file/spec.ts';
import { GiB, times } from '../base/bytes.ts';
import { capacityOf } from './capacity.ts';
import { type DeviceClass, withOptionClass } from './device-class.ts';
import { checkLayout, type Layout, layouts } from './layouts.ts';
import { lvmdDeviceClasses } from './lvmd.ts';
import { isBlocked } from './usable-vg.ts';

const raidOptions = { name: 'raid', options: ['--type', 'raid1', '-m', '1', '--nosync'] };
const thin = { kind: 'thin', poolName: 'pool0', overprovisionRatio: 5 } as const;

function classOf(given: Partial<LvmdDeviceClass>): DeviceClass {
  const deviceClasses = [{ ...plainClass, ...given }];
  const [found] = lvmdDeviceClasses({
    ...plainSpec,
    deviceClasses,
    lvcreateOptionClasses: [raidOptions],
  });
  assert.ok(found !== undefined);
  return found;
}

const stripeSizeBytes = kib(64);
const rows: readonly (readonly [given: Partial<LvmdDeviceClass>, Layout])[] = [
  [{}, { kind: 'linear' }],
  [{ stripe: 1 }, { kind: 'linear' }],
  [{ stripe: 2 }, { kind: 'striped', stripes: 2, stripeSizeBytes }],
  [
    { stripe: 3, stripeSizeBytes: kib(8) },
    { kind: 'striped', stripes: 3, stripeSizeBytes: kib(8) },
  ],
  [{ stripeSizeBytes: kib(8) }, { kind: 'linear' }],
  [{ lvcreateOptions: ['--mirrors=1'] }, { kind: 'raid1', mirrors: 1 }],
  [
    { stripe: 2, lvcreateOptions: ['-m', '1'] },
    { kind: 'raid10', stripes: 2, mirrors: 1, stripeSizeBytes },
  ],
  [{ lvcreateOptions: ['--type=raid6'] }, { kind: 'raid6', stripes: 3, stripeSizeBytes }],
  [
    { target: thin, stripe: 2 },
    { kind: 'thin', pool: 'pool0' },
  ],
];

for (const [given, layout] of rows) {
  test(`a class of lvmd.yaml becomes ${layout.kind}, with nothing left over`, () => {
    const found = classOf(given);
    assert.deepEqual(found.layout, layout);
    assert.deepEqual(found.lvcreateOptions, []);
    assert.equal(checkLayout(found.layout), undefined);
  });
}

test('everything else of a class is kept', () => {
  const found = classOf({
    isDefault: true,
    spareBytes: times(GiB, 3),
    target: { ...thin, mayGrow: true },
    overheadFactor: 1.5,
    wipePolicy: 'full',
    lvcreateOptions: ['-y', '--readahead=none'],
  });
  assert.deepEqual(found, {
    name: 'ssd',
    vg: 'vg1',
    isDefault: true,
    layout: { kind: 'thin', pool: 'pool0' },
    lvcreateOptions: ['--readahead=none'],
    spareBytes: times(GiB, 3),
    overprovisionRatio: 5,
    overheadFactor: 1.5,
    growsPool: true,
    optionClasses: [
      {
        name: 'raid',
        layout: { kind: 'thin', pool: 'pool0' },
        lvcreateOptions: raidOptions.options,
      },
    ],
    wipePolicy: 'full',
  });
});

test('a claim’s option class replaces stripes and options, and with them what a class can do', () => {
  const deviceClass = classOf({ stripe: 2, lvcreateOptions: ['--readahead=none'] });
  const found = withOptionClass(deviceClass, 'raid');
  assert.ok(!isBlocked(found));
  assert.deepEqual(found.layout, { kind: 'raid1', mirrors: 1 });
  assert.deepEqual(found.lvcreateOptions, ['--nosync']);
  assert.equal(layouts[found.layout.kind].survivesDeviceLoss, 1);
});

test('a mirror in the options halves what a class can give', () => {
  const vg = vgWithFree([5000, 5000]);
  const given = { spareBytes: times(GiB, 0) };
  const plain = capacityOf(classOf(given), vg);
  const mirrored = capacityOf(classOf({ ...given, lvcreateOptions: ['-m1'] }), vg);
  assert.equal(mirrored.availableBytes * 2n, plain.availableBytes);
});

test('whatever the options, a class can be asked for its capacity', () => {
  const word = fc.oneof(
    fc.constantFrom('-i', '-m', '-I', '--type', '--stripes=2', '-m1', '-i3', '--type=raid10', '-y'),
    fc.constantFrom(
      'raid1',
      'raid5',
      'raid6',
      'linear',
      'striped',
      '0',
      '1',
      '2',
      '64',
      '128',
      '999',
    ),
    fc.string({ maxLength: 5 }),
  );
  const stripe = fc.option(fc.integer({ min: 1, max: 128 }), { nil: undefined });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 8 }), stripe, (lvcreateOptions, given) => {
      const stripes = given === undefined ? {} : { stripe: given };
      const { layout, lvcreateOptions: rest } = classOf({ lvcreateOptions, ...stripes });
      assert.ok(rest.every((option) => lvcreateOptions.includes(option)));
      const { availableBytes } = capacityOf(
        classOf({ lvcreateOptions, ...stripes }),
        vgWithFree([100]),
      );
      assert.ok(availableBytes >= 0n && layout.kind !== 'thin');
    }),
  );
});
