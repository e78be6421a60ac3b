import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { assertBlocked } from '../../../test/samples/decisions.ts';
import { thickClass, thinClass } from '../../../test/samples/observed.ts';
import { bytes, GiB } from '../../base/bytes.ts';
import { isBlocked } from '../usable-vg.ts';
import { absentVolume, desiredVolume, type VolumeRequest } from './desired.ts';

const classes = [thickClass(), thinClass({ isDefault: false })];
const ask = (given: Partial<VolumeRequest>) =>
  desiredVolume({ name: 'v1', className: '', sizeBytes: GiB, ...given }, classes);

test('a new volume is marked as ours, pending and of its class by its very creation', () => {
  const desired = ask({ className: 'thin', tags: ['quarry.name=x'] });
  assert.ok(!isBlocked(desired));
  assert.deepEqual(desired.tags, [
    'quarry',
    'quarry.pending',
    'quarry.class=thin',
    'quarry.name=x',
  ]);
  assert.equal(desired.isAdopted, false);
});

test('a volume that its caller prepares never carries the pending mark', () => {
  const desired = ask({ className: 'thin', preparedBy: 'caller' });
  assert.ok(!isBlocked(desired));
  assert.deepEqual(desired.tags, ['quarry', 'quarry.class=thin']);
});

test('a RAID that its caller prepares is marked until it is made, what is made at once is not', () => {
  const layouts = [
    [{ kind: 'raid1', mirrors: 1 }, ['quarry.making']],
    [{ kind: 'raid5', stripes: 2 }, ['quarry.making']],
    [{ kind: 'linear' }, []],
    [{ kind: 'striped', stripes: 2 }, []],
  ] as const;
  for (const [layout, marks] of layouts) {
    const request = { name: 'v1', className: '', sizeBytes: GiB, preparedBy: 'caller' } as const;
    const desired = desiredVolume(request, [thickClass({ layout })]);
    assert.ok(!isBlocked(desired));
    assert.deepEqual(desired.tags, ['quarry', ...marks, 'quarry.class=thick'], layout.kind);
  }
});

test('no class means the default one', () => {
  const desired = ask({ className: '' });
  assert.ok(!isBlocked(desired));
  assert.equal(desired.deviceClass.name, 'thick');
});

test('sizes are rounded up to 4096 bytes, as TopoLVM does', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 2n ** 60n }), (size) => {
      const desired = ask({ sizeBytes: bytes(size) });
      assert.ok(!isBlocked(desired));
      assert.equal(desired.sizeBytes, ((size + 4095n) / 4096n) * 4096n);
    }),
  );
});

test('what makes no sense is refused before anything is looked at', () => {
  assertBlocked(ask({ className: 'fast' }), 'UnknownDeviceClass', /no device class fast.*thick/);
  assertBlocked(ask({ name: '' }), 'InvalidName', /""/);
  assertBlocked(ask({ name: 'a_rimage_0' }), 'InvalidName', /a_rimage_0/);
  assertBlocked(ask({ sizeBytes: bytes(0n) }), 'InvalidSize', /v1 is 0 bytes/);
  const raid6 = thickClass({ layout: { kind: 'raid6', stripes: 2 } });
  const request = { name: 'v1', className: '', sizeBytes: GiB };
  assertBlocked(desiredVolume(request, [raid6]), 'InvalidLayout', /stripes is 2/);
});

test('a volume to be removed is aimed at by UUID where one is known', () => {
  assert.deepEqual(absentVolume('vg1', 'v1', 'u1'), {
    presence: 'absent',
    vg: 'vg1',
    name: 'v1',
    uuid: 'u1',
    isAdopted: false,
  });
  assert.equal(absentVolume('vg1', 'v1').uuid, undefined);
});
