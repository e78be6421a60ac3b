import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { learn, type Reference, repeat } from './fates.ts';
import type { Answer } from './protocol.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import { RpcStage } from './stage.ts';

/**
 * The power goes in the middle of a call, and right after its answer. Every other time in the
 * middle, and always after an answer, everything is lost that was not flushed: what the driver
 * answered must be there all the same, also the answers to what came before.
 */
const moments = [0.25, 0.6, 'answered'] as const;

describe('power cut in the middle of a call', { timeout: 2_400_000 }, () => {
  let stage: RpcStage;
  const count = { cuts: 0, before: 0 };

  before(async () => {
    stage = await RpcStage.open();
  });

  after(async () => {
    await stage?.lab.stop();
  });

  for (const scenario of scenarios) {
    test(`${scenario.name} comes out right, whenever the power went`, async (t) => {
      const reference = await learn(stage, scenario);
      for (const moment of moments) {
        try {
          await survive(scenario, reference, moment);
        } catch (error) {
          // What went wrong here must not be in the way of the others.
          await stage.lab.stop();
          stage = await RpcStage.open();
          throw error;
        }
      }
      t.diagnostic(`${count.cuts} cuts so far, ${count.before} before the answer`);
    });
  }

  async function survive(
    scenario: Scenario,
    reference: Reference,
    moment: (typeof moments)[number],
  ): Promise<void> {
    const loseUnflushed = moment === 'answered' || count.cuts % 2 === 0;
    // Not every host activates its volumes when it boots.
    const isActivated = Math.floor(count.cuts / 2) % 2 === 0;
    count.cuts += 1;
    const how = `${loseUnflushed ? 'unflushed lost' : 'kept'}, ${isActivated ? '' : 'in'}active`;
    const why = `${scenario.name}, cut at ${moment} (${how})`;
    await stage.before(scenario);
    let told: Answer | undefined;
    const call = stage.ask(scenario.ask).then(
      (answer) => {
        told = answer;
      },
      () => undefined,
    );
    await (moment === 'answered' ? call : sleep(reference.ms * moment));
    const hasAnswered = told !== undefined;
    if (!hasAnswered) count.before += 1;
    await stage.guest.cutPower({ loseUnflushed });
    await call;
    await stage.guest.start();
    // A thin volume that lvm has noted and its pool does not know yet is in nobody's way.
    if (isActivated) await stage.guest.sh('lvm vgchange --activate y data || true');
    await stage.live();
    for (const request of scenario.afterBoot ?? []) await stage.must(request, why);
    await repeat(stage, scenario, reference, why, { told, beforeCheck: activate });
  }

  async function activate(): Promise<void> {
    await stage.guest.sh('lvm vgchange --activate y data');
  }
});
