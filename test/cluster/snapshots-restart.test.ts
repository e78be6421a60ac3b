import assert from 'node:assert/strict';
import test from 'node:test';
import { snapshotMarks as marks } from '../../src/core/cluster/snapshot-content-marks.ts';
import { snapshotter } from '../../src/operator/snapshotter.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { annotationsOf, type BookFault, type Parts, SnapshotWorld } from './snapshots-world.ts';

const { contents } = collections;
const driver = ({ cluster, kinds }: Parts) => [snapshotter(cluster, kinds)];

function worldWith(policy: string, faults: readonly BookFault[]): SnapshotWorld {
  const world = new SnapshotWorld();
  world.book.faults.push(...faults);
  world.put(contents, {
    metadata: { name: 'c1', finalizers: [marks.finalizer] },
    spec: {
      ...{ deletionPolicy: policy, driver: 'topolvm.io', volumeSnapshotClassName: 'fast' },
      source: { volumeHandle: 'vol-1' },
      volumeSnapshotRef: { namespace: 'app', name: 'snap', uid: 'u1' },
    },
  });
  return world;
}

/** Dies after each effect in turn, until a life was long enough for all of them. */
async function atEveryPoint(
  make: () => SnapshotWorld,
  story: (world: SnapshotWorld) => Promise<void>,
  check: (world: SnapshotWorld, effects: number) => void,
): Promise<number> {
  for (let effects = 1; effects < 40; effects += 1) {
    const world = make();
    world.start(driver, effects);
    await world.pass(500);
    await story(world);
    await world.pass(5_000);
    const { isDead } = world.life;
    if (isDead) {
      world.start(driver);
      await world.pass(400_000);
    }
    check(world, effects);
    world.stop();
    if (!isDead) return effects;
  }
  throw new Error('it does not end');
}

test('trap 1: killed after any effect of a creation, there is one snapshot and it is told', async () => {
  const lives = await atEveryPoint(
    () => worldWith('Delete', []),
    async () => undefined,
    (world, effects) => {
      const views = [...world.book.views.values()];
      assert.deepEqual(
        views.map(({ name }) => name),
        ['snapshot-u1'],
        `after ${effects}`,
      );
      const content = world.content('c1');
      assert.equal(content?.status?.snapshotHandle, views[0]?.id);
      assert.equal(content?.status?.readyToUse, true);
      assert.equal(annotationsOf(content)[marks.beingCreated], undefined);
    },
  );
  assert.ok(lives >= 4, `${lives}`);
});

const givingUp = async (world: SnapshotWorld) => {
  const metadata = { annotations: { [marks.beingDeleted]: 'yes' } };
  await world.edit(contents, 'c1', { metadata });
  await world.remove(contents, 'c1');
};

test('trap 3: killed after any effect of creation and deletion, nothing is left', async () => {
  const lives = await atEveryPoint(
    () => worldWith('Delete', []),
    givingUp,
    (world, effects) => {
      assert.equal(world.book.views.size, 0, `after ${effects}`);
      assert.equal(world.content('c1'), undefined, `after ${effects}`);
    },
  );
  assert.ok(lives >= 7, `${lives}`);
});

test('killed after any effect of a creation that fails unclearly, nothing is left in the end', async () => {
  await atEveryPoint(
    () => worldWith('Delete', [{ code: 'NodeSilent', isMade: true }, { code: 'NodeSilent' }]),
    givingUp,
    (world, effects) => {
      assert.equal(world.book.views.size, 0, `after ${effects}`);
      assert.equal(world.content('c1'), undefined, `after ${effects}`);
    },
  );
});

test('killed after any effect, what is retained is kept', async () => {
  await atEveryPoint(
    () => worldWith('Retain', []),
    async (world) => {
      // It is given up after it was made, also by a second life.
      if (world.book.views.size > 0) await givingUp(world);
    },
    (world, effects) => assert.equal(world.book.views.size, 1, `after ${effects}`),
  );
});

test('an answer that is lost changes nothing in the end', async () => {
  for (let effect = 1; effect < 5; effect += 1) {
    const world = worldWith('Delete', []);
    world.start(driver);
    world.life.loses = effect;
    await world.pass(60_000);
    assert.equal(world.content('c1')?.status?.readyToUse, true, `effect ${effect}`);
    assert.equal(annotationsOf(world.content('c1'))[marks.beingCreated], undefined);
    assert.equal(world.book.views.size, 1);
    world.stop();
  }
});
