import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { learn, survive } from './fates.ts';
import type { Death } from './protocol.ts';
import { scenarios } from './scenarios.ts';
import { RpcStage } from './stage.ts';

/** Every call of the table is killed at every program it starts, in the chosen ways. */
export function killEverywhere(waysAt: (program: number) => readonly Death['when'][]): void {
  describe('the driver killed at every step of every call', { timeout: 2_400_000 }, () => {
    let stage: RpcStage;
    const count = { programs: 0, kills: 0, torn: 0 };

    before(async () => {
      stage = await RpcStage.open();
    });

    after(async () => {
      await stage?.lab.stop();
    });

    for (const scenario of scenarios) {
      test(`${scenario.name} comes out right, wherever the driver died`, async (t) => {
        const reference = await learn(stage, scenario);
        const { runs } = reference;
        assert.ok(runs.length > 0, 'a call that changes something starts a program');
        for (const [index, { ms }] of runs.entries()) {
          count.programs += 1;
          for (const when of waysAt(count.programs)) {
            const death = { when, nth: index + 1, delayMs: ms / 2 };
            if (await survive(stage, scenario, death, reference)) count.torn += 1;
            count.kills += 1;
          }
        }
        const { programs, kills, torn } = count;
        t.diagnostic(`${programs} programs, ${kills} kills so far, ${torn} in a program's middle`);
      });
    }
  });
}
