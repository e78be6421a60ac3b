import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { DiskFault } from '../../lab/index.ts';
import { Chance } from '../world/chance.ts';
import { settled } from './calm.ts';
import { type FaultKind, faultKinds } from './fault-kinds.ts';
import { Snapshots } from './snapshots.ts';
import { E2eStage } from './stage.ts';
import { type Operation, VolumeLife } from './volume-life.ts';
import { untilDone } from './volume-sights.ts';

/** Chooses the moments. They are steps of an operation, so a run of the same seed is much alike. */
const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
const node = 'n1';

describe(`faults at every station (SEED=${seed})`, { timeout: 3_000_000 }, () => {
  let stage: E2eStage;
  let snapshots: Snapshots;

  before(async () => {
    stage = await E2eStage.open();
    snapshots = await Snapshots.open(stage);
  });

  after(async () => {
    await snapshots?.close();
    await stage?.close();
  });

  // Each life meets other faults at its stations, and all of them together every pair.
  for (const number of faultKinds.keys()) {
    test(`life ${number + 1} of volumes that a fault meets at each station`, async (t) => {
      const chance = new Chance(seed + number);
      const life = new VolumeLife(stage, snapshots, node, `life-${number + 1}`);
      for (const [station, operation] of life.operations.entries()) {
        const fault = faultKinds[(number + station) % faultKinds.length] as FaultKind;
        let isOver = false;
        await t.test(`${fault.name} in the middle of ${operation.name}`, async (cell) => {
          await play(cell, { stage, operation, fault, chance: chance.fork() });
          isOver = true;
        });
        // The next operation needs what this one left.
        if (!isOver) return;
      }
    });
  }
});

type Cell = {
  readonly stage: E2eStage;
  readonly operation: Operation;
  readonly fault: FaultKind;
  readonly chance: Chance;
};

async function play(t: TestContext, cell: Cell): Promise<void> {
  const { stage, operation, chance } = cell;
  await settled(stage);
  await operation.prepare?.();
  const fault = await cell.fault.arm(stage, node, chance);
  const { all } = await operation.look();
  // The last steps may all come at once.
  let moment = chance.between(1, all - 2);
  for (;;) {
    const startedMs = performance.now();
    const done = await interrupted(cell, moment, () => fault.strike());
    const isMet = done < all;
    if (isMet) t.diagnostic(`SEED=${seed}: ${fault.what} after ${done} of ${all} steps`);
    if (isMet) await fault.heal();
    await operation.isDone();
    await stage.audit();
    t.diagnostic(`at rest after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
    if (isMet) return;
    assert.ok(moment > 1, `${operation.name} is always over before the fault comes`);
    t.diagnostic(`${operation.name} was over before the fault came: once more`);
    await operation.again();
    moment = 1;
  }
}

/** The fault strikes when so much is done. What was over before is left as it is. */
async function interrupted(
  { stage, operation }: Cell,
  moment: number,
  strike: () => Promise<void>,
): Promise<number> {
  await setDisks(stage, { kind: 'slow', delayMs: 20 });
  try {
    const look = () => operation.look();
    const { all } = await look();
    const [done] = await Promise.all([untilDone(look, moment), operation.begin()]);
    if (done < all) await strike();
    return done;
  } finally {
    await setDisks(stage, { kind: 'none' });
  }
}

/** Slow disks give every operation a middle that can be met. */
async function setDisks(stage: E2eStage, fault: DiskFault): Promise<void> {
  for (const disk of ['a', 'b']) await stage.cluster.node(node).setDiskFault(disk, fault);
}
