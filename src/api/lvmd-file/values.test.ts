import assert from 'node:assert/strict';
import test from 'node:test';
import {
  kib,
  oneClass,
  plainClass,
  readSilently,
  refusesEach,
  thinClass,
} from '../../../test/samples/lvmd-files.ts';
import { GiB, noBytes, times } from '../../base/bytes.ts';
import type { LvmdDeviceClass } from './spec.ts';

/** What Go's decoder makes of a value counts, however strange. */
const gib = (count: number) => ({ spareBytes: times(GiB, count) });
const size = (stripeSizeBytes: LvmdDeviceClass['spareBytes']) => ({ stripe: 2, stripeSizeBytes });

const read: readonly (readonly [lines: readonly string[], means: Partial<LvmdDeviceClass>])[] = [
  [[], {}],
  [['default: true'], { isDefault: true }],
  [['default: yes'], { isDefault: true }],
  [['default: On'], { isDefault: true }],
  [['default: no'], {}],
  [['default: null'], {}],
  [['DEFAULT: true'], { isDefault: true }],
  [['spare-gb: 0'], { spareBytes: noBytes }],
  [['spare-gb: 25'], gib(25)],
  [['spare-gb: null'], gib(10)],
  [['spare-gb: ~'], gib(10)],
  [['spare-gb:'], gib(10)],
  [['spare-gb: 0x10'], gib(16)],
  [['spare-gb: 010'], gib(8)],
  [['spare-gb: 0o10'], gib(8)],
  [['spare-gb: 0b11'], gib(3)],
  [['spare-gb: 08'], gib(8)],
  [['spare-gb: 1_000'], gib(1000)],
  [['spare-gb: +5'], gib(5)],
  [['spare-gb: -0'], { spareBytes: noBytes }],
  [['spare-gb: 10.0'], gib(10)],
  [['spare-gb: 1e3'], gib(1000)],
  [['spare-gb: !!int "7"'], gib(7)],
  [['Spare-GB: 3'], gib(3)],
  [['spare-gb: 8589934592'], gib(2 ** 33)],
  [['stripe: 2'], { stripe: 2 }],
  [['stripe: null'], {}],
  [['stripe: 128'], { stripe: 128 }],
  [['stripe: 2', 'stripe-size: 64'], size(kib(64))],
  [['stripe: 2', 'stripe-size: "64"'], size(kib(64))],
  [['stripe: 2', 'stripe-size: 64k'], size(kib(64))],
  [['stripe: 2', 'stripe-size: 1M'], size(kib(1024))],
  [['stripe: 2', 'stripe-size: 4G'], size(kib(4 * 1024 * 1024))],
  [['stripe: 2', 'stripe-size: 8192b'], size(kib(8))],
  [['stripe: 2', 'stripe-size: 16s'], size(kib(8))],
  [['stripe: 2', 'stripe-size: ""'], { stripe: 2 }],
  [['type: thick'], {}],
  [['type: ""'], {}],
  [['type: null'], {}],
  [['thin-pool: null'], {}],
  [['lvcreate-options: null'], {}],
  [['lvcreate-options: []'], {}],
  [['lvcreate-options: ["--mirrors=1"]'], { lvcreateOptions: ['--mirrors=1'] }],
  [['lvcreate-options: [-m, 1]'], { lvcreateOptions: ['-m', '1'] }],
  [
    ['lvcreate-options:', '- --nosync', '- -C', '- y y'],
    { lvcreateOptions: ['--nosync', '-C', 'y y'] },
  ],
  [['overhead-factor: 2'], { overheadFactor: 2 }],
  [['overhead-factor: 1.5'], { overheadFactor: 1.5 }],
  [['overhead-factor: null'], {}],
  [['wipe-policy: discard'], { wipePolicy: 'discard' }],
  [['wipe-policy: zero'], { wipePolicy: 'zero' }],
  [['wipe-policy: full'], { wipePolicy: 'full' }],
  [['wipe-policy: null'], {}],
];

for (const [lines, means] of read) {
  test(`lvmd.yaml: reads ${lines.join(', ') || 'a class that says no more than it must'}`, () => {
    const spec = readSilently(oneClass(...lines));
    assert.deepEqual(spec.deviceClasses, [{ ...plainClass, ...means }]);
  });
}

const ratios = [
  ['1', 1],
  ['1.0', 1],
  ['10', 10],
  ['2.5', 2.5],
  ['1e2', 100],
  ['0x10', 16],
  ['1000000', 1_000_000],
] as const;

test('lvmd.yaml: a pool may grow when the file says so', () => {
  const pool = ['name: pool0', 'overprovision-ratio: 1'] as const;
  const growing = readSilently(thinClass(...pool, 'grow: true')).deviceClasses[0]?.target;
  assert.deepEqual(growing, {
    kind: 'thin',
    poolName: 'pool0',
    overprovisionRatio: 1,
    mayGrow: true,
  });
  const still = readSilently(thinClass(...pool, 'grow: false')).deviceClasses[0]?.target;
  assert.deepEqual(still, { kind: 'thin', poolName: 'pool0', overprovisionRatio: 1 });
});

for (const [text, ratio] of ratios) {
  test(`lvmd.yaml: reads the ratio ${text}`, () => {
    const spec = readSilently(thinClass('name: pool0', `overprovision-ratio: ${text}`));
    const target = { kind: 'thin', poolName: 'pool0', overprovisionRatio: ratio } as const;
    assert.deepEqual(spec.deviceClasses, [{ ...plainClass, target }]);
  });
}

const spare = 'write a whole number from 0 to 8589934592 without quotes';
const stripe = 'write a whole number from 1 to 128 without quotes';
const yesNo = 'write true or false without quotes';
const factor = 'write a number from 1 to 1000000 without quotes';
const stripeSize = 'write a number and one of k m g t p e b s, such as 64k';
const policy = 'write one of discard, zero, full';
const type = 'write thin or thick, or leave it out for thick';

/** A key, what stands there, how it is shown, and what is said. */
const wrong: readonly (readonly [key: string, value: string, shown: string, remedy: string])[] = [
  ['spare-gb', '-5', '-5', spare],
  ['spare-gb', '-0.0', '-0.0', spare],
  ['spare-gb', '1.5', '1.5', spare],
  ['spare-gb', '"10"', '"10"', spare],
  ['spare-gb', '!!str 10', '"10"', spare],
  ['spare-gb', '10G', '"10G"', spare],
  ['spare-gb', '8589934593', '8589934593', spare],
  ['spare-gb', '9007199254740993', '9007199254740993', spare],
  ['spare-gb', '18446744073709551616', '18446744073709551616', spare],
  ['spare-gb', '1e400', '"1e400"', spare],
  ['spare-gb', '.inf', '.inf', spare],
  ['spare-gb', '.nan', '.nan', spare],
  ['spare-gb', 'yes', 'yes', spare],
  ['spare-gb', '[10]', 'a list', spare],
  ['spare-gb', '{gb: 10}', 'a mapping', spare],
  ['stripe', '0', '0', stripe],
  ['stripe', '129', '129', stripe],
  ['stripe', '-1', '-1', stripe],
  ['stripe', '2.5', '2.5', stripe],
  ['stripe', 'true', 'true', stripe],
  ['stripe', '"2"', '"2"', stripe],
  ['stripe-size', '4gib', '"4gib"', stripeSize],
  ['stripe-size', 'k', '"k"', stripeSize],
  ['stripe-size', '"64 k"', '"64 k"', stripeSize],
  ['stripe-size', '-64', '-64', stripeSize],
  ['stripe-size', '[64]', 'a list', 'write a text'],
  ['default', '"true"', '"true"', yesNo],
  ['default', '1', '1', yesNo],
  ['default', 'tRue', '"tRue"', yesNo],
  ['default', '[]', 'a list', yesNo],
  ['type', 'THIN', '"THIN"', type],
  ['type', 'linear', '"linear"', type],
  ['type', '{}', 'a mapping', 'write a text'],
  ['thin-pool', 'pool0', '"pool0"', 'write a mapping of keys to values'],
  ['thin-pool', '[]', 'a list', 'write a mapping of keys to values'],
  ['lvcreate-options', '--mirrors=1', '"--mirrors=1"', 'write a list'],
  ['lvcreate-options', '{m: 1}', 'a mapping', 'write a list'],
  ['overhead-factor', '0.5', '0.5', factor],
  ['overhead-factor', '0', '0', factor],
  ['overhead-factor', '-2', '-2', factor],
  ['overhead-factor', '"2"', '"2"', factor],
  ['overhead-factor', '.inf', '.inf', factor],
  ['overhead-factor', '1e300', '1e300', factor],
  ['wipe-policy', 'shred', '"shred"', policy],
  ['wipe-policy', 'Zero', '"Zero"', policy],
];

refusesEach(
  wrong.map(([key, value, shown, remedy]) => [
    `${key}: ${value}`,
    oneClass(`${key}: ${value}`),
    `4: device-classes[0].${key} is ${shown}: ${remedy}`,
  ]),
);

const ratio = 'write a number from 1 to 1000000';
const wrongRatios = [
  ['0.5', '0.5'],
  ['0', '0'],
  ['-1', '-1'],
  ['"10"', '"10"'],
  ['yes', 'yes'],
  ['.inf', '.inf'],
  ['.nan', '.nan'],
  ['1e7', '1e7'],
] as const;

refusesEach([
  ...wrongRatios.map(
    ([value, shown]) =>
      [
        `overprovision-ratio: ${value}`,
        thinClass('name: pool0', `overprovision-ratio: ${value}`),
        `7: device-classes[0].thin-pool.overprovision-ratio is ${shown}: ${ratio} without quotes`,
      ] as const,
  ),
  [
    'a pool without a ratio',
    thinClass('name: pool0'),
    `6: device-classes[0].thin-pool.overprovision-ratio is missing: ${ratio}`,
  ],
  [
    'a ratio that is null',
    thinClass('name: pool0', 'overprovision-ratio: null'),
    `7: device-classes[0].thin-pool.overprovision-ratio is null: ${ratio}`,
  ],
  [
    'a ratio in words, even where the pool is not used',
    oneClass('thin-pool:', '  name: pool0', '  overprovision-ratio: much'),
    '6: device-classes[0].thin-pool.overprovision-ratio is "much": write a number without quotes',
  ],
  [
    'an option that is a list',
    oneClass('lvcreate-options:', '- --nosync', '- [-m, 1]'),
    '6: device-classes[0].lvcreate-options[1] is a list: write a text',
  ],
]);
