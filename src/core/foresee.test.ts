import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertRest } from '../../test/samples/decisions.ts';
import { extents, hostOf, sampleVg, thickClass, vgWithFree } from '../../test/samples/observed.ts';
import { sampleSteps } from '../../test/samples/steps.ts';
import { limits } from '../base/limits.ts';
import { foreseeSteps } from './foresee.ts';
import type { ObservedHost } from './observed.ts';
import { next } from './step.ts';
import { isBlocked } from './usable-vg.ts';
import { desiredVolume } from './volume/desired.ts';
import { planVolume } from './volume/plan.ts';

function desiredOf(name: string) {
  const request = { name, className: '', sizeBytes: extents(1) };
  const desired = desiredVolume(request, [thickClass({ vg: 'vg1' })]);
  assert.ok(!isBlocked(desired));
  return desired;
}

test('all steps of a plan are foreseen without running any', () => {
  const plan = (host: ObservedHost) => {
    const [first] = ['a', 'b'].map((name) => planVolume(desiredOf(name), host));
    const second = planVolume(desiredOf('b'), host);
    return first?.kind === 'step' ? first : second;
  };
  const { steps, end, host } = foreseeSteps(hostOf(vgWithFree([10])), plan);
  assert.deepEqual(
    steps.map((step) => step.kind === 'create-lv' && step.lv),
    ['a', 'b'],
  );
  assertRest(end);
  assert.equal(host.vgs[0]?.freeBytes, extents(8));
});

test('a plan that never rests is foreseen only so far', () => {
  const { steps, end } = foreseeSteps(hostOf(sampleVg()), () => next(sampleSteps['change-tags']));
  assert.equal(steps.length, limits.passesMax);
  assert.equal(end.kind, 'step');
});
