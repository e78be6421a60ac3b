import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { FailureCode } from '../../src/base/failures.ts';
import { type DriverTrouble, ExpansionWorld, gib, Killed } from './expansion-world.ts';

type Act =
  | { readonly kind: 'request' | 'limit'; readonly gib: number }
  | { readonly kind: 'fail'; readonly as: FailureCode | DriverTrouble }
  | { readonly kind: 'kill'; readonly after: number }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'meddle'; readonly label: number }
  | { readonly kind: 'work' | 'restart' | 'hold' | 'release' }
  | { readonly kind: 'kubelet' | 'kubelet-begins' | 'kubelet-cannot' };

const sizes = fc.integer({ min: 9, max: 60 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('request' as const), gib: sizes }) },
  fc.record({ kind: fc.constant('limit' as const), gib: sizes }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      as: fc.constantFrom<FailureCode | DriverTrouble>(
        ...(['CommandFailed', 'InsufficientCapacityToExpand', 'ThinPoolFull'] as const),
        ...(['LvmLocked', 'StaleView', 'GrowUnsupported', 'VolumeNotFound'] as const),
        ...(['grown-unheard', 'unheard', 'short'] as const),
      ),
    }),
  },
  fc.record({ kind: fc.constant('kill' as const), after: fc.integer({ min: 1, max: 6 }) }),
  fc.record({
    kind: fc.constant('time' as const),
    ms: fc.constantFrom(1, 1_000, 60_000, 300_000),
  }),
  fc.record({ kind: fc.constant('meddle' as const), label: fc.nat(3) }),
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('work' as const) }) },
  fc.record({
    kind: fc.constantFrom(
      ...(['restart', 'hold', 'release'] as const),
      ...(['kubelet', 'kubelet-begins', 'kubelet-cannot'] as const),
    ),
  }),
);

/** What may never be is checked by the world with every write. */
async function carryOut(world: ExpansionWorld, next: Act): Promise<void> {
  switch (next.kind) {
    case 'request':
      world.request(gib(next.gib));
      return;
    case 'limit':
      world.limitBytes = gib(next.gib);
      return;
    case 'fail':
      world.failures.push(next.as);
      return;
    case 'kill':
      world.killAfter = next.after;
      return;
    case 'time':
      world.nowMs += next.ms;
      return;
    case 'meddle':
      // In the middle of what we do.
      world.meddlers.push(() => world.meddle({ metadata: { labels: { l: `${next.label}` } } }));
      return;
    case 'work':
      await work(world);
      return;
    case 'restart':
      world.restart();
      return;
    case 'hold':
    case 'release':
      world.isCacheHeld = next.kind === 'hold';
      return;
    case 'kubelet':
      world.kubelet();
      return;
    case 'kubelet-begins':
      world.kubeletBegins();
      return;
    case 'kubelet-cannot':
      world.kubeletCannot();
  }
}

async function work(world: ExpansionWorld): Promise<void> {
  try {
    await world.work();
  } catch (error) {
    if (!(error instanceof Killed)) throw error;
    world.restart();
  }
}

for (const isOld of [false, true]) {
  const where = isOld ? 'an old server' : 'a new server';
  test(`whatever happens on ${where}, nothing shrinks and the claim gets what it asks`, async () => {
    const story = fc.record({ isBlock: fc.boolean(), acts: fc.array(act, { maxLength: 40 }) });
    const property = fc.asyncProperty(story, async ({ isBlock, acts }) => {
      const world = new ExpansionWorld({ isOld, isBlock });
      for (const next of acts) await carryOut(world, next);
      world.failures.length = 0;
      world.meddlers.length = 0;
      world.isCacheHeld = false;
      world.killAfter = Number.POSITIVE_INFINITY;
      world.limitBytes = gib(100);
      await world.settle(40);
      const { request, capacity, volume, status } = world.sizes;
      assert.ok(capacity >= request, `${capacity} of ${request}`);
      assert.equal(volume, capacity);
      assert.equal(status, undefined);
      assert.deepEqual(world.conditionTypes, ['Backup']);
      assert.deepEqual(world.volume.metadata.annotations ?? {}, {});
    });
    await fc.assert(property, { numRuns: 400 });
  });
}
