import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import {
  fileSystem,
  holds,
  mountOf,
  nodeOf,
  none,
  ourFileSystem,
  seen,
  targetPath,
  wanted,
} from '../../../test/samples/publications.ts';
import { bytes } from '../../base/bytes.ts';
import { show } from '../../base/show.ts';
import type { ObservedLv } from '../observed.ts';
import { ownerTag, pendingTag, tagOf } from '../tags.ts';
import type { ObservedPublication } from './observed.ts';
import { planPublication, rootMode } from './plan.ts';
import type { PublicationStep } from './step.ts';

const signatures = fc.constantFrom(none, holds('ext4'), holds('xfs'), {
  kind: 'unknown',
  why: 'it hangs',
} as const);

const fileSystems = fc.constantFrom(
  undefined,
  { kind: 'none' } as const,
  { kind: 'unknown', why: 'EIO' } as const,
  ...['ext4', 'xfs', 'btrfs'].flatMap((type) => [ourFileSystem(type), fileSystem({ type })]),
  ourFileSystem('xfs', true),
  fileSystem({ type: 'xfs', isUnfinished: true }),
  fileSystem({ growsToBytes: bytes(2n ** 30n) }),
);

const mounts = fc.subarray([
  mountOf({ owner: { kind: 'other' } }),
  mountOf({ owner: { kind: 'gone' } }),
  mountOf(),
  mountOf({ isReadOnly: true }),
  mountOf({ fsType: 'xfs', isReadOnly: true, isFileSystemReadOnly: true }),
  nodeOf(),
]);

const lvs: fc.Arbitrary<Partial<ObservedLv>> = fc.record({
  tags: fc.subarray([ownerTag, pendingTag, tagOf('source', 's')]),
  isReadOnly: fc.boolean(),
  kind: fc.constantFrom('linear', 'thin'),
  dataPercent: fc.constantFrom(undefined, 0, 0.01, 40),
});

const observations: fc.Arbitrary<ObservedPublication> = fc
  .record({
    lv: lvs,
    here: mounts,
    elsewhere: mounts.map((found) => found.map((mount) => ({ ...mount, mountPoint: '/b' }))),
    kind: fc.constantFrom('absent', 'directory', 'file', 'device', 'other', 'unreadable'),
    mode: fc.constantFrom(0o755, rootMode),
    isReportFresh: fc.boolean(),
    fileSystem: fileSystems,
    probes: fc.option(
      fc.record({
        signatures: fc.tuple(signatures, signatures),
        exclusiveOpen: fc.constantFrom('free', 'busy', 'unknown'),
      }),
      { nil: undefined },
    ),
    done: fc.record({ isFormatted: fc.boolean(), hasTriedToGrow: fc.boolean() }),
  })
  .map(({ lv, kind, mode, ...given }) =>
    seen(lv, { ...given, target: { path: targetPath, kind, mode, sizeBytes: bytes(0n) } }),
  );

const wishes = fc
  .record({
    access: fc.constantFrom(
      { kind: 'block', zeroFirst: true } as const,
      { kind: 'block' } as const,
      ...['ext4', 'xfs', 'btrfs'].map((fsType) => ({ kind: 'mount', fsType, flags: [] }) as const),
    ),
    isReadOnly: fc.boolean(),
  })
  .map(wanted);

/** Every step that any plan may take from here. */
function check(rule: (step: PublicationStep, observed: ObservedPublication) => boolean): void {
  fc.assert(
    fc.property(wishes, observations, (desired, observed) => {
      const decision = planPublication(desired, observed);
      if (decision.kind !== 'step') return;
      assert.ok(rule(decision.step, observed), show(decision.step));
    }),
    { numRuns: 4000 },
  );
}

function lvOf(observed: ObservedPublication): ObservedLv {
  const lv = observed.host.vgs[0]?.lvs.find(({ name }) => name === 'v1');
  assert.ok(lv !== undefined);
  return lv;
}

test('no volume is formatted that may hold data or that anybody uses', () => {
  check((step, observed) => {
    if (step.kind !== 'format-lv') return true;
    const { tags, kind, dataPercent } = lvOf(observed);
    const isNew = tags.includes(pendingTag) || (kind === 'thin' && dataPercent === 0);
    const isFree = observed.here.length + observed.elsewhere.length === 0;
    const { fileSystem: found, probes } = observed;
    const isOurs =
      found?.kind === 'found' &&
      found.isUnfinished &&
      found.uuid === step.fsUuid &&
      found.type === step.fsType;
    const isClear = probes?.signatures.every(
      (probe) =>
        probe.kind === 'none' ||
        (isOurs && probe.kind === 'found' && probe.types.every((type) => type === step.fsType)),
    );
    const isSafe = found?.kind === 'none' || isOurs;
    return isNew && isFree && isClear === true && isSafe && probes?.exclusiveOpen === 'free';
  });
});

test('no volume is zeroed on which two probes did not find nothing', () => {
  check((step, observed) => {
    if (step.kind !== 'in-group' || step.want !== 'zero') return true;
    const { tags } = lvOf(observed);
    const isClear = observed.probes?.signatures.every((probe) => probe.kind === 'none');
    return isClear === true && tags.includes(pendingTag) && tags.includes(ownerTag);
  });
});

test('nothing is ever mounted on top of something', () => {
  check((step, observed) => {
    const isMount = step.kind === 'mount' || step.kind === 'bind';
    return !isMount || observed.here.length === 0;
  });
});

test('nothing is zeroed and no UUID is changed while it is used', () => {
  check((step, { elsewhere, here }) => {
    const isUse = (step.kind === 'in-group' && step.want === 'zero') || step.kind === 'renew-uuid';
    return !isUse || [...here, ...elsewhere].every((mount) => mount.isNode);
  });
});

test('a volume is marked as used before it is shown raw', () => {
  check((step, observed) => step.kind !== 'bind' || !lvOf(observed).tags.includes(pendingTag));
});

test('what is wanted read-only is never shown writable, except to open what we just made', () => {
  fc.assert(
    fc.property(wishes, observations, (desired, observed) => {
      const decision = planPublication(desired, observed);
      if (!desired.isReadOnly || decision.kind !== 'step') return;
      const { step } = decision;
      if (step.kind !== 'mount' && step.kind !== 'bind') return;
      assert.ok(step.isReadOnly || lvOf(observed).tags.includes(pendingTag));
    }),
    { numRuns: 4000 },
  );
});
