import assert from 'node:assert/strict';
import test from 'node:test';
import { kib } from '../../../test/samples/lvmd-files.ts';
import type { LayoutSpec } from '../node-spec.ts';
import { readThickOptions, readThinOptions } from './lvcreate-options.ts';

const linear = { kind: 'linear' } as const;
const mirrored = { kind: 'raid1', mirrors: 1 } as const;
const two = { kind: 'striped', stripes: 2 } as const;

/** The options in one text, what becomes of them, and what is left for lvcreate. */
type Row = readonly [options: string, layout: LayoutSpec, rest?: string];

const rows: readonly Row[] = [
  ['', linear],
  ['--alloc anywhere', linear, '--alloc anywhere'],
  ['-C y -r auto --addtag a', linear, '-C y -r auto --addtag a'],
  ['--mirrors=1', mirrored],
  ['--mirrors 1', mirrored],
  ['--mirrors=+1', mirrored],
  ['-m1', mirrored],
  ['-m 2 --nosync', { kind: 'raid1', mirrors: 2 }, '--nosync'],
  ['-m 0', linear],
  ['--type raid1', mirrored],
  ['--type=raid1 -m 1', mirrored],
  ['--type raid1 -m1 -i1 -I64', mirrored],
  ['--type mirror -m1', mirrored],
  ['--type linear', linear],
  ['--type linear -i1', linear],
  ['-i 2', two],
  ['-i2', two],
  ['--stripes=2', two],
  ['-i 1', linear],
  ['-i 1 -I 64', linear],
  ['--type striped -i 2', two],
  ['--type striped', { kind: 'striped', stripes: 1 }],
  ['--type raid0', two],
  ['--type raid0_meta -i 3', { kind: 'striped', stripes: 3 }],
  ['-i2 -I64', { ...two, stripeSizeBytes: kib(64) }],
  ['-i2 -I 128k', { ...two, stripeSizeBytes: kib(128) }],
  ['-i2 --stripesize=1m', { ...two, stripeSizeBytes: kib(1024) }],
  ['-i2 --stripe-size 8192b', { ...two, stripeSizeBytes: kib(8) }],
  ['--type raid4', { kind: 'raid4', stripes: 2 }],
  ['--type raid5', { kind: 'raid5', stripes: 2 }],
  ['--type raid5 -i 3 -I 16', { kind: 'raid5', stripes: 3, stripeSizeBytes: kib(16) }],
  ['--type raid5_ls -i2', { kind: 'raid5', stripes: 2 }],
  ['--type raid6', { kind: 'raid6', stripes: 3 }],
  ['--type raid6_nc -i 4', { kind: 'raid6', stripes: 4 }],
  ['--type raid10', { kind: 'raid10', stripes: 2, mirrors: 1 }],
  ['--type raid10 -m1 -i4', { kind: 'raid10', stripes: 4, mirrors: 1 }],
  ['-m1 -i2', { kind: 'raid10', stripes: 2, mirrors: 1 }],
  ['--nosync --type raid1 --regionsize 1m', mirrored, '--nosync --regionsize 1m'],
  ['-y -W y -Zy --zero n --yes --nosync', linear, '--nosync'],
];

for (const [options, layout, rest = ''] of rows) {
  test(`lvcreate ${options || 'alone'} makes ${layout.kind}`, () => {
    const read = readThickOptions(options === '' ? [] : options.split(' '));
    assert.deepEqual(read.layout, layout);
    assert.equal(read.rest.join(' '), rest);
  });
}

const contradictions = [
  '--type vdo',
  '--type thin',
  '--type RAID1',
  '--type raid1 --type raid1',
  '-m1 -m1',
  '-m x',
  '-m -1',
  '-m 11',
  '-i 0',
  '-i 129',
  '-I 64',
  '-i2 -I much',
  '--type linear -m1',
  '--type linear -i2',
  '--type striped -i2 -m1',
  '--type raid1 -m0',
  '--type raid1 -i2',
  '--type raid5 -m1',
  '--type raid5 -i1',
  '--type raid6 -i2',
  '--type raid10 -i1',
  '--type raid10 -m2',
];

for (const options of contradictions) {
  test(`lvcreate gets ${options} as it stands, to refuse it`, () => {
    const tokens = ['--nosync', ...options.split(' ')];
    const read = readThickOptions(tokens);
    assert.deepEqual(read.rest, tokens);
    assert.deepEqual(
      read.remarks.map(({ index }) => index),
      [1],
    );
  });
}

test('an option that misses its value goes to lvcreate as it stands', () => {
  assert.deepEqual(readThickOptions(['--type']).rest, ['--type']);
});

test('the stripes of a class and its options add up', () => {
  const keys = { stripe: 2, stripeSizeBytes: kib(64) };
  const layoutOf = (...options: string[]) => readThickOptions(options, keys).layout;
  assert.deepEqual(layoutOf(), { ...two, stripeSizeBytes: kib(64) });
  assert.deepEqual(layoutOf('--mirrors=1'), {
    ...{ kind: 'raid10', stripes: 2, mirrors: 1 },
    stripeSizeBytes: kib(64),
  });
  assert.equal(layoutOf('--type', 'raid5').kind, 'raid5');
  assert.deepEqual(layoutOf('-i', '3'), layoutOf(), 'lvm refuses what is given twice');
  assert.deepEqual(readThickOptions([], { stripeSizeBytes: kib(64) }).layout, linear);
});

test('in a pool the options stay, but for what every lvcreate of ours says', () => {
  const options = ['-y', '-Wy', '--wipesignatures', 'n', '-Zn', '--type', 'raid1', '-kn'];
  assert.deepEqual(readThinOptions(options), ['-Zn', '--type', 'raid1', '-kn']);
});
