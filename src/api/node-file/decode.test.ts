import assert from 'node:assert/strict';
import test from 'node:test';
import { withClass } from '../../../test/samples/mistakes.ts';
import { GiB, KiB, noBytes } from '../../base/bytes.ts';
import { show } from '../../base/show.ts';
import { type Problem, showProblem } from '../decode.ts';
import type { NodeSpec } from '../node-spec.ts';
import { decodeNodeFile } from './decode.ts';

function specOf(file: unknown): NodeSpec {
  const decoded = decodeNodeFile(file);
  assert.ok(decoded.kind === 'node', show(decoded));
  return decoded.spec;
}

function problemsOf(file: unknown): readonly Problem[] {
  const decoded = decodeNodeFile(file);
  assert.equal(decoded.kind, 'problems', 'the mistake was not found');
  return decoded.kind === 'problems' ? decoded.problems : [];
}

const thin = { poolName: 'pool0', overprovisionRatio: 10 };

test('a full file is read field by field', () => {
  const spec = specOf({
    volumeGroups: [
      {
        name: 'vg1',
        devices: {
          paths: ['/dev/sdb'],
          optionalPaths: ['/dev/disk/by-id/c'],
          forceWipe: true,
        },
      },
      { name: 'data', managed: false },
      { name: 'rest', devices: 'any' },
    ],
    deviceClasses: [
      {
        name: 'fast',
        volumeGroup: 'vg1',
        default: true,
        thin: { ...thin, sizePercent: 80, chunkSize: '128Ki', metadataSize: '1Gi' },
      },
      {
        name: 'safe',
        volumeGroup: 'data',
        spare: '10Gi',
        raid: { type: 'raid10', mirrors: 1, stripes: 2, stripeSize: '64Ki' },
        lvcreateOptions: ['--nosync'],
      },
      { name: 'wide', volumeGroup: 'data', striped: { stripes: 4 } },
      { name: 'plain', volumeGroup: 'rest' },
    ],
  });
  const common = { isDefault: false, spareBytes: noBytes, lvcreateOptions: [] };
  assert.deepEqual(spec, {
    volumeGroups: [
      {
        name: 'vg1',
        ownership: 'managed',
        devices: {
          kind: 'paths',
          required: ['/dev/sdb'],
          optional: ['/dev/disk/by-id/c'],
          forceWipe: true,
        },
      },
      {
        name: 'data',
        ownership: 'unmanaged',
        devices: { kind: 'paths', required: [], optional: [], forceWipe: false },
      },
      { name: 'rest', ownership: 'managed', devices: { kind: 'any', isDynamic: true } },
    ],
    deviceClasses: [
      {
        ...common,
        name: 'fast',
        volumeGroup: 'vg1',
        isDefault: true,
        layout: {
          kind: 'thin',
          poolName: 'pool0',
          sizePercent: 80,
          overprovisionRatio: 10,
          chunkSizeBytes: 128n * KiB,
          metadataSizeBytes: GiB,
        },
      },
      {
        name: 'safe',
        volumeGroup: 'data',
        isDefault: false,
        spareBytes: 10n * GiB,
        lvcreateOptions: ['--nosync'],
        layout: { kind: 'raid10', mirrors: 1, stripes: 2, stripeSizeBytes: 64n * KiB },
      },
      { ...common, name: 'wide', volumeGroup: 'data', layout: { kind: 'striped', stripes: 4 } },
      { ...common, name: 'plain', volumeGroup: 'rest', layout: { kind: 'linear' } },
    ],
  });
});

const accepted: readonly (readonly [title: string, file: object])[] = [
  ['nothing at all', {}],
  ['an empty key, which is no value', withClass({ thin: null, spare: null, raid: null })],
  ['empty counts of a RAID', withClass({ raid: { type: 'raid5', stripes: null, mirrors: null } })],
  ['a ratio that is no whole number', withClass({ thin: { ...thin, overprovisionRatio: 1.5 } })],
  ['the largest percentage', withClass({ thin: { ...thin, sizePercent: 100 } })],
  ['a raid6 of three stripes', withClass({ raid: { type: 'raid6', stripes: 3 } })],
  ['a class name of 63 characters', withClass({ name: 'a'.repeat(63) })],
  ['two classes in one pool', withClass({ thin }, { thin: { ...thin, overprovisionRatio: 2 } })],
];

for (const [title, file] of accepted) {
  test(`accepts ${title}`, () => {
    specOf(file);
  });
}

test('all mistakes are told at once', () => {
  const problems = problemsOf({
    volumeGroups: [{ name: '-', devices: { paths: ['sdb'], optionalPaths: ['/dev/sdc'] } }],
    deviceClasses: [{ name: 'a', volumeGroup: 'vg1', thin: { poolName: '' }, color: 'red' }],
    extra: 1,
  });
  assert.deepEqual(
    problems.map((problem) => problem.field),
    [
      'volumeGroups[0].name',
      'volumeGroups[0].devices.paths[0]',
      'deviceClasses[0].thin.poolName',
      'deviceClasses[0].thin.overprovisionRatio',
      'deviceClasses[0].color',
      'extra',
      'deviceClasses[0].volumeGroup',
    ],
  );
});

test('a problem shows what stands there, or that nothing does', () => {
  assert.equal(
    showProblem({ field: 'a.b', value: 'x y', remedy: 'write 1' }),
    'a.b is "x y": write 1',
  );
  assert.equal(
    showProblem({ field: 'a', value: undefined, remedy: 'write 1' }),
    'a is missing: write 1',
  );
});
