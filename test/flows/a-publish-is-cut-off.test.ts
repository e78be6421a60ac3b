import assert from 'node:assert/strict';
import test from 'node:test';
import { pendingTag } from '../../src/core/tags.ts';
import { assertBlocked } from '../samples/decisions.ts';
import type { Fault } from '../world/faults.ts';
import { mounted, PublishingStage, raw, target, wish } from './publishing.ts';

/** Everything a publish changes, one after another. */
const changes = {
  ext4: ['mkfs.ext4', 'make-directory', 'mount', 'change-mode', 'lvchange'],
  xfs: ['mkfs.xfs', 'make-directory', 'mount', 'change-mode', 'lvchange'],
  btrfs: ['mkfs.btrfs', 'make-directory', 'mount', 'change-mode', 'lvchange'],
  raw: ['blkdiscard', 'lvchange', 'make-file', 'mount'],
} as const;

const faults: readonly Fault[] = [
  { kind: 'crash', when: 'before' },
  { kind: 'crash', when: 'during' },
  { kind: 'crash', when: 'after' },
  { kind: 'killed', when: 'before' },
  { kind: 'killed', when: 'after' },
  { kind: 'killed', when: 'after', mishap: 'half-formatted' },
  { kind: 'fail' },
  { kind: 'slow', ms: 300_000 },
];

for (const [name, words] of Object.entries(changes)) {
  test(`${name}: whatever happens to a step, the next request completes it`, async () => {
    for (const word of words) for (const fault of faults) await survive(name, word, fault);
  });
}

async function survive(name: string, word: string, fault: Fault): Promise<void> {
  const why = `${JSON.stringify(fault)} at ${word}`;
  const stage = new PublishingStage();
  await stage.setUp();
  const volume = await stage.make('db');
  const access = name === 'raw' ? { ...raw, zeroFirst: true } : mounted(name);
  stage.world.faults.next(word, fault);
  void stage.publisher.publish(wish(volume, { access })).catch(() => undefined);
  await stage.world.clock.advance(600_000);
  if (stage.host.isDead) stage.restart();
  const shown = await stage.publish(volume, { access });
  assert.equal(shown.kind, 'settled', `${why}: ${JSON.stringify(shown)}`);
  assert.equal(stage.mountsAt(), 1, why);
  assert.equal(stage.lv('db').tags.includes(pendingTag), false, why);
  if (name !== 'raw') assert.equal(stage.lv('db').content.signatures[0]?.rootMode, 0o2777, why);
  const gone = await stage.unpublish(volume);
  assert.equal(gone.kind, 'settled', why);
  assert.equal(stage.mountsAt(), 0, why);
  assert.equal(stage.world.machine.table.paths.has(target), false, why);
  assert.deepEqual(stage.world.unknown, []);
}

test('a power cut at any moment of a first publish loses nothing that was promised', async () => {
  for (let afterMs = 0; afterMs < 2_500; afterMs += 125) {
    const stage = new PublishingStage({ seed: afterMs });
    await stage.setUp();
    const volume = await stage.make('db');
    let isAnswered = false;
    void stage.publisher.publish(wish(volume)).then(
      () => {
        isAnswered = true;
      },
      () => undefined,
    );
    await stage.world.clock.advance(afterMs);
    const wasAnswered = isAnswered;
    if (wasAnswered) stage.world.write(stage.lv('db'), 2 ** 21, 4096);
    const before = stage.lv('db').content;
    stage.world.cutPower();
    stage.restart();
    assert.equal((await stage.publish(volume)).kind, 'settled', `after ${afterMs} ms`);
    if (wasAnswered) assert.equal(stage.lv('db').content, before, 'nothing was written to it');
    assert.equal(stage.mountsAt(), 1);
  }
});

for (const access of [mounted('ext4'), raw]) {
  test(`${access.kind}: what an earlier life is about to show is not shown a second time`, async () => {
    const stage = new PublishingStage();
    await stage.setUp();
    const volume = await stage.make('db');
    const other = await stage.make('other');
    stage.world.faults.next('mount', { kind: 'hang' });
    void stage.publisher.publish(wish(volume, { access }));
    await stage.world.clock.advance(10_000);
    stage.restart();
    // It is waited for, and not for ever.
    await stage.run(stage.engine.recover(['data']));
    assertBlocked(
      await stage.publish(volume, { access }),
      'CommandTimedOut',
      /mount .* still runs/,
    );
    assert.equal((await stage.publish(other, { targetPath: '/other' })).kind, 'settled');
    stage.world.faults.release();
    await stage.world.clock.advance(1_000);
    assert.equal((await stage.publish(volume, { access })).kind, 'settled');
    assert.equal(stage.mountsAt(), 1);
  });
}

test('a caller that goes away stops the wait, not the work, and what has not begun is left', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  const volume = await stage.make('db');
  stage.world.faults.next('mkfs.ext4', { kind: 'slow', ms: 200_000 });
  const first = new AbortController();
  const second = new AbortController();
  const waiting = stage.publisher.publish(wish(volume), first.signal);
  const queued = stage.publisher.publish(wish(volume, { targetPath: '/other' }), second.signal);
  await stage.world.clock.advance(10_000);
  first.abort();
  second.abort();
  await assert.rejects(waiting, { code: 'Cancelled' });
  await assert.rejects(queued, { code: 'Cancelled' });
  assert.equal((await stage.publish(volume)).kind, 'settled');
  assert.equal(stage.mountsAt('/other'), 0);
  assert.equal(stage.world.spawns.get('mkfs.ext4'), 1, 'it was made once');
});

test('a slow mkfs of one volume delays no other', async () => {
  const stage = new PublishingStage();
  await stage.setUp();
  const slow = await stage.make('slow');
  const quick = await stage.make('quick');
  stage.world.faults.next('mkfs.ext4', { kind: 'slow', ms: 600_000 });
  const waiting = stage.publisher.publish(wish(slow));
  await stage.world.clock.advance(2_000);
  const startedMs = stage.world.clock.nowMs();
  const shown = await stage.publish(quick, { targetPath: '/quick' });
  assert.equal(shown.kind, 'settled');
  assert.ok(stage.world.clock.nowMs() - startedMs < 10_000);
  assert.equal((await stage.run(waiting)).kind, 'settled');
});
