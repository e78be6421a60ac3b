import assert from 'node:assert/strict';
import test from 'node:test';
import {
  hostOf,
  sampleCow,
  sampleLv,
  samplePool,
  samplePv,
  sampleVg,
} from '../../test/samples/observed.ts';
import { sampleSteps } from '../../test/samples/steps.ts';
import type { ObservedVg } from './observed.ts';
import { foreseen } from './predict.ts';
import { needsLook, staleReason } from './stale.ts';
import { isLong, type Step, type StepKind } from './step.ts';

const lvs = [sampleLv(), samplePool(), sampleCow()];
const pvs = [samplePv(), samplePv({ device: '/dev/sdb' })];
const world = (given: Partial<ObservedVg> = {}) => hostOf(sampleVg({ lvs, pvs, ...given }));
const all = Object.values<Step>(sampleSteps);
const inVg = all.filter((step) => 'vgUuid' in step);

for (const step of all) {
  test(`${step.kind} is not stale while everything is as it was`, () => {
    assert.equal(staleReason(step, world()), undefined);
    assert.equal(needsLook(step), false);
  });
}

for (const step of inVg) {
  test(`${step.kind} is stale when its group is gone or another has its name`, () => {
    assert.match(staleReason(step, hostOf()) ?? '', /vg1 is no longer uuid-vg1/);
    assert.match(staleReason(step, world({ uuid: 'u2' })) ?? '', /vg1 is no longer uuid-vg1/);
  });

  test(`${step.kind} on a group that was only foreseen needs a look first`, () => {
    assert.equal(needsLook({ ...step, vgUuid: foreseen('vg1') }), true);
  });
}

for (const step of all.filter((candidate) => 'lvUuid' in candidate)) {
  test(`${step.kind} is stale when its volume is gone or another has its name`, () => {
    const others = lvs.filter((lv) => lv.name !== step.lv);
    const impostor = sampleLv({ name: step.lv, uuid: 'u2' });
    for (const seen of [others, [...others, impostor]]) {
      const reason = staleReason(step, world({ lvs: seen }));
      assert.match(reason ?? '', new RegExp(`vg1/${step.lv} is no longer uuid-${step.lv}`));
    }
    assert.equal(needsLook({ ...step, lvUuid: foreseen(step.lv) }), true);
  });
}

for (const step of [sampleSteps['create-thin-snapshot'], sampleSteps['create-cow-snapshot']]) {
  test(`${step.kind} is stale when another volume has its origin's name`, () => {
    const reason = staleReason(step, world({ lvs: [sampleLv({ uuid: 'u2' })] }));
    assert.match(reason ?? '', /vg1\/v1 is no longer uuid-v1/);
    assert.equal(needsLook({ ...step, originUuid: foreseen('v1') }), true);
  });
}

test('copying is stale when the snapshot it reads is another by now', () => {
  const step = sampleSteps['copy-range'];
  const seen = [sampleLv(), sampleCow({ uuid: 'u2' })];
  assert.match(staleReason(step, world({ lvs: seen })) ?? '', /vg1\/s1 is no longer uuid-s1/);
  assert.equal(needsLook({ ...step, fromUuid: foreseen('s1') }), true);
});

const makers: readonly (readonly [StepKind, string])[] = [
  ['create-lv', 'v2'],
  ['create-thin-pool', 'pool1'],
  ['create-thin-snapshot', 's2'],
  ['create-cow-snapshot', 's2'],
];

for (const [kind, name] of makers) {
  test(`${kind} is stale when the name is taken, even by a part of another volume`, () => {
    for (const isInternal of [false, true]) {
      const seen = [...lvs, sampleLv({ name, isInternal })];
      const reason = staleReason(sampleSteps[kind], world({ lvs: seen }));
      assert.match(reason ?? '', new RegExp(`vg1/${name} exists by now`));
    }
  });
}

test('a group is not made when its name is taken', () => {
  const host = hostOf(sampleVg({ name: 'vg2' }));
  assert.match(staleReason(sampleSteps['create-vg'], host) ?? '', /vg2 exists by now/);
});

for (const kind of ['evacuate-pv', 'reduce-vg'] as const) {
  test(`${kind} is stale when the device is no longer in the group`, () => {
    const host = world({ pvs: [samplePv({ uuid: 'other' })] });
    assert.match(staleReason(sampleSteps[kind], host) ?? '', /\/dev\/sda is no longer in vg1/);
  });
}

test('only moving, copying and zeroing data is long', () => {
  const long = all.filter(isLong).map((step) => step.kind);
  assert.deepEqual(long.toSorted(), ['copy-range', 'evacuate-pv', 'zero-range']);
});
