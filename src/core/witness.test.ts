import assert from 'node:assert/strict';
import test from 'node:test';
import { extents, hostOf, sampleLv, sampleVg } from '../../test/samples/observed.ts';
import type { Bytes } from '../base/bytes.ts';
import type { ObservedLv } from './observed.ts';
import type { VolumeDevice } from './publication/observed.ts';
import type { Step } from './step.ts';
import {
  afterWitnessed,
  canBeWitnessed,
  type Sight,
  type WitnessedStep,
  witnessed,
} from './witness.ts';

const vgUuid = 'aaaaaa-bbbb-cccc-dddd-eeee-ffff-gggggg';
const lvUuid = 'hhhhhh-iiii-jjjj-kkkk-llll-mmmm-nnnnnn';
const otherUuid = 'oooooo-pppp-qqqq-rrrr-ssss-tttt-uuuuuu';
const target = { vg: 'vg1', vgUuid, lv: 'a' };

function device(uuid: string, sizeBytes: Bytes, change: Partial<VolumeDevice> = {}): VolumeDevice {
  const dmUuid = `LVM-${vgUuid.replaceAll('-', '')}${uuid.replaceAll('-', '')}`;
  return {
    path: '/dev/mapper/vg1-a',
    number: '254:1',
    sizeBytes,
    dmUuid,
    isSuspended: false,
    ...change,
  };
}

function sight(change: Partial<Sight>): Sight {
  return { said: '', device: undefined, origin: undefined, ...change };
}

const create: WitnessedStep = {
  kind: 'create-lv',
  ...target,
  layout: { kind: 'linear' },
  sizeBytes: extents(3),
  tags: ['quarry'],
  options: [],
};
const extend: WitnessedStep = { kind: 'extend-lv', ...target, lvUuid, sizeBytes: extents(5) };
const snapshot: WitnessedStep = {
  kind: 'create-thin-snapshot',
  ...target,
  origin: 'o',
  originUuid: otherUuid,
  tags: [],
  isReadOnly: true,
};
const remove = {
  kind: 'remove-lv',
  ...target,
  lvUuid,
  dependents: 'cow-snapshots',
  permit: { deed: 'remove-lv', target: lvUuid },
} as unknown as WitnessedStep;

test('a new volume is known by the device of its group with its size', () => {
  assert.equal(witnessed(create, sight({ device: device(lvUuid, extents(3)) })), lvUuid);
});

test('what is not there, has another size or hangs is no proof', () => {
  const wrong: readonly (VolumeDevice | undefined)[] = [
    undefined,
    device(lvUuid, extents(2)),
    device(lvUuid, extents(3), { isSuspended: true }),
    device(lvUuid, extents(3), { dmUuid: '' }),
    device(lvUuid, extents(3), { dmUuid: `LVM-${'x'.repeat(64)}` }),
  ];
  for (const seen of wrong) assert.equal(witnessed(create, sight({ device: seen })), undefined);
});

test('part of a volume is not the volume', () => {
  const part = device(lvUuid, extents(3));
  const seen = sight({ device: { ...part, dmUuid: `${part.dmUuid}-tpool` } });
  assert.equal(witnessed(create, seen), undefined);
});

test('growth is proven by the size of the very volume, not of one with its name', () => {
  assert.equal(witnessed(extend, sight({ device: device(lvUuid, extents(5)) })), lvUuid);
  assert.equal(witnessed(extend, sight({ device: device(otherUuid, extents(5)) })), undefined);
  assert.equal(witnessed(extend, sight({ device: device(lvUuid, extents(4)) })), undefined);
});

test('a snapshot is proven only while its origin is the one that was meant', () => {
  const seen = { device: device(lvUuid, extents(3)), origin: device(otherUuid, extents(3)) };
  assert.equal(witnessed(snapshot, sight(seen)), lvUuid);
  const swapped = { ...seen, origin: device(lvUuid, extents(3)) };
  assert.equal(witnessed(snapshot, sight(swapped)), undefined);
  assert.equal(witnessed(snapshot, sight({ device: seen.device })), undefined);
});

test('a removal is proven by what lvm says, and by nothing being there', () => {
  const said = '  Logical volume "a" successfully removed.\n';
  assert.equal(witnessed(remove, sight({ said })), lvUuid);
  // A selection that matched nothing ends well too.
  assert.equal(witnessed(remove, sight({})), undefined);
  assert.equal(witnessed(remove, sight({ said: said.replace('"a"', '"ab"') })), undefined);
  assert.equal(witnessed(remove, sight({ said, device: device(lvUuid, extents(3)) })), undefined);
});

test('new tags are proven by what lvm says', () => {
  const said = '  Logical volume vg1/a changed.\n';
  assert.equal(witnessed(retag, sight({ said })), lvUuid);
  assert.equal(witnessed(retag, sight({})), undefined);
  assert.equal(witnessed(retag, sight({ said: '  Logical volume vg1/ab changed.\n' })), undefined);
});

test('steps on groups and pools need a report', () => {
  const pool: Step = { kind: 'extend-thin-pool', ...target, lvUuid, sizeBytes: extents(5) };
  assert.equal(canBeWitnessed(pool), false);
  assert.equal(canBeWitnessed(create), true);
});

const retag: WitnessedStep = {
  kind: 'change-tags',
  ...target,
  lvUuid,
  add: ['new'],
  remove: ['old'],
};

test('tags that a look showed already are not there twice', () => {
  const before = vgOf(lvOf({ tags: ['old', 'kept'] }));
  const once = afterWitnessed(before, retag, lvUuid);
  assert.deepEqual(once.vgs[0]?.lvs[0]?.tags, ['kept', 'new']);
  assert.deepEqual(afterWitnessed(once, retag, lvUuid), once);
});

const lvOf = (change: Partial<ObservedLv>) => sampleLv({ name: 'a', uuid: lvUuid, ...change });
const vgOf = (...lvs: readonly ObservedLv[]) => hostOf(sampleVg({ uuid: vgUuid, lvs }));
const lvsIn = (host: ReturnType<typeof hostOf>) =>
  host.vgs[0]?.lvs.map(({ name, uuid, sizeBytes }) => [name, uuid, sizeBytes]);

test('what was witnessed is added with the identity that was seen', () => {
  const after = afterWitnessed(vgOf(), create, lvUuid);
  assert.deepEqual(lvsIn(after), [['a', lvUuid, extents(3)]]);
});

test('what a look showed already is not added twice', () => {
  const created = vgOf(lvOf({ sizeBytes: extents(3) }));
  assert.equal(afterWitnessed(created, create, lvUuid), created);
  const grown = vgOf(lvOf({ sizeBytes: extents(5), ownSizeBytes: extents(5) }));
  assert.equal(afterWitnessed(grown, extend, lvUuid), grown);
  const gone = vgOf();
  assert.equal(afterWitnessed(gone, extend, lvUuid), gone);
  assert.equal(afterWitnessed(gone, remove, lvUuid), gone);
  assert.deepEqual(lvsIn(afterWitnessed(created, remove, lvUuid)), []);
});
