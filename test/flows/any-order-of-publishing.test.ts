import assert from 'node:assert/strict';
import test from 'node:test';
import type { PublishedVolume } from '../../src/core/publication/desired.ts';
import { pendingTag } from '../../src/core/tags.ts';
import { Chance } from '../world/chance.ts';
import { absence, mounted, PublishingStage, raw, wish } from './publishing.ts';

const paths = ['/p/1', '/p/2', '/p/3'] as const;

/** Requests in any order, repeated, side by side, with faults; then one that must come true. */
for (let seed = 1; seed <= 25; seed += 1) {
  test(`publishing and unpublishing in any order settles (SEED=${seed})`, async () => {
    const chance = new Chance(seed);
    const stage = new PublishingStage({ seed });
    await stage.setUp();
    const volumes = [
      await stage.make('a'),
      await stage.make('b', 'thin'),
      await stage.make('c'),
    ] as const;
    stage.world.faults.rates({ fail: 0.03, killed: 0.03, slow: 0.02, crash: 0.02 });
    for (let round = 0; round < 30; round += 1) {
      const volume = chance.pick(volumes);
      void ask(stage, volume, chance).catch(() => undefined);
      if (chance.happens(0.5)) await stage.world.clock.advance(chance.between(1, 3_000));
      if (chance.happens(0.05)) stage.world.cutPower();
      if (stage.host.isDead) stage.restart();
      checkAlways(stage);
    }
    stage.world.faults.stop();
    await stage.world.clock.advance(1_000_000);
    if (stage.host.isDead) stage.restart();
    await stage.run(stage.engine.recover(['data']));
    for (const volume of volumes) await settle(stage, volume);
    assert.deepEqual(stage.world.unknown, []);
  });
}

function accessOf({ name }: PublishedVolume) {
  return name === 'c' ? { ...raw, zeroFirst: true } : mounted(name === 'a' ? 'ext4' : 'xfs');
}

function ask(stage: PublishingStage, volume: PublishedVolume, chance: Chance): Promise<unknown> {
  const targetPath = chance.pick(paths);
  if (chance.happens(0.4)) return stage.publisher.unpublish(absence(volume, targetPath));
  const isReadOnly = chance.happens(0.2);
  const desired = wish(volume, { targetPath, access: accessOf(volume), isReadOnly });
  return stage.publisher.publish(desired);
}

function checkAlways(stage: PublishingStage): void {
  for (const path of paths) assert.ok(stage.mountsAt(path) <= 1, `${path} is stacked`);
  const made = stage.world.destroyed.filter(({ deed }) => deed === 'mkfs' || deed === 'zeroout');
  for (const one of made) {
    assert.ok(one.tags.includes(pendingTag), `${one.deed} of ${one.what} without its mark`);
    assert.equal(one.wasInUse, false, `${one.deed} of ${one.what} in use`);
  }
}

async function settle(stage: PublishingStage, volume: PublishedVolume): Promise<void> {
  for (const path of paths) await stage.unpublish(volume, path).catch(() => undefined);
  const targetPath = `/last/${volume.name}`;
  const shown = await stage.publish(volume, { targetPath, access: accessOf(volume) });
  assert.equal(shown.kind, 'settled', JSON.stringify(shown));
  assert.equal(stage.mountsAt(targetPath), 1);
  assert.equal(stage.lv(volume.name).tags.includes(pendingTag), false);
  assert.equal((await stage.unpublish(volume, targetPath)).kind, 'settled');
  checkAlways(stage);
}
