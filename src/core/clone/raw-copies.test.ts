import assert from 'node:assert/strict';
import test from 'node:test';
import { assertRest, follow } from '../../../test/samples/decisions.ts';
import {
  extents,
  hostOf,
  sampleCow,
  sampleLv,
  thickClass,
  vgWithFree,
} from '../../../test/samples/observed.ts';
import type { ObservedLv } from '../observed.ts';
import { ownerTag, rawTag } from '../tags.ts';
import { isBlocked } from '../usable-vg.ts';
import { desiredClone } from './desired.ts';
import { planClone } from './plan.ts';

/** The tags of a finished copy of the last of these. */
function copyOf(extentCount: number, ...lvs: readonly ObservedLv[]): readonly string[] {
  const sizeBytes = extents(extentCount);
  const request = { name: 'c1', source: lvs.at(-1)?.name ?? '', className: '', sizeBytes };
  const desired = desiredClone(request, [{ ...thickClass(), isDefault: true }]);
  assert.ok(!isBlocked(desired));
  const before = hostOf(vgWithFree([1000], { lvs }));
  const { host, end } = follow(before, (view) => planClone(desired, view));
  assertRest(end);
  return host.vgs.flatMap((vg) => vg.lvs).find(({ name }) => name === 'c1')?.tags ?? [];
}

const sizeBytes = extents(10);
const used = (...tags: readonly string[]) => sampleLv({ sizeBytes, ownSizeBytes: sizeBytes, tags });
const raw = used(ownerTag, rawTag);
const snapshot = sampleCow({ sizeBytes, originUuid: raw.uuid });

test('a copy of what was shown raw is noted as raw before it can be grown', () => {
  assert.ok(copyOf(10, raw).includes(rawTag));
  assert.ok(copyOf(12, raw).includes(rawTag), 'a larger one');
  assert.ok(copyOf(10, raw, snapshot).includes(rawTag), 'one of a snapshot');
});

test('a copy of what bears no note of ours has none', () => {
  assert.ok(!copyOf(10, used(ownerTag)).includes(rawTag));
  assert.ok(!copyOf(10, used(rawTag)).includes(rawTag), 'what others write means nothing');
});
