import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GiB, type Guest, type Lab, startLab } from '../../lab/index.ts';
import type { Death } from './protocol.ts';
import { changesOf, DriverEnded, Remote } from './remote.ts';
import {
  groupName,
  nodeFile,
  type Scenario,
  scenarios,
  unsettled,
  volumesOf,
} from './scenarios.ts';

/** Our process is killed around every command that changes anything, and started again. */
describe('the process killed between any two steps', { timeout: 1_800_000 }, () => {
  let lab: Lab;
  let guest: Guest;
  let node: unknown;
  let points = 0;

  before(async () => {
    const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: GiB }));
    lab = await startLab({ guests: [{ name: 'n1', disks }] });
    guest = lab.guest('n1');
    node = nodeFile(await Promise.all(['a', 'b', 'c'].map((name) => guest.devicePath(name))));
  });

  after(async () => {
    await lab?.stop();
  });

  test('volume group and thin pool are made in the end, wherever the process died', async (t) => {
    const deaths = everyDeath(2);
    for (const death of deaths) {
      await dieOnce(death, async (remote) => void (await remote.must({ op: 'apply', node })));
      const remote = new Remote(guest);
      await remote.must({ op: 'recover' });
      await remote.must({ op: 'apply', node });
      const [vg] = (await remote.look()).vgs;
      assert.equal(vg?.pvs.length, 3, show(death));
      assert.deepEqual(
        vg?.lvs.map((lv) => lv.kind),
        ['thin-pool'],
        show(death),
      );
      await remote.must({ op: 'remove-pool', node });
      await remote.must({ op: 'remove-vg', node });
      await remote.close();
    }
    points += deaths.length;
    t.diagnostic(`${deaths.length} points`);
    const remote = new Remote(guest);
    await remote.must({ op: 'apply', node });
    await remote.close();
  });

  // The list does not depend on the devices; only their paths are filled in later.
  for (const { name } of scenarios(undefined)) {
    test(`${name} comes out right, wherever the process died`, async (t) => {
      const scenario = scenarios(node).find((one) => one.name === name);
      assert.ok(scenario !== undefined);
      const { before: earlier, own } = await countChanges(scenario);
      const deaths = everyDeath(own);
      for (const death of deaths) await survive(scenario, death, earlier);
      points += deaths.length;
      t.diagnostic(`${deaths.length} points, ${points} so far`);
    });
  }

  /** How many changes come before the request, and how many it takes. */
  async function countChanges(scenario: Scenario) {
    const remote = new Remote(guest);
    let before = 0;
    for (const ask of scenario.before) before += changesOf((await remote.must(ask)).ran).length;
    const { ran } = await remote.must(scenario.ask);
    await cleanUp(remote);
    return { before, own: changesOf(ran).length };
  }

  async function survive(scenario: Scenario, death: Death, before: number): Promise<void> {
    await dieOnce({ ...death, count: before + death.count }, async (remote) => {
      for (const ask of scenario.before) await remote.must(ask);
      if (scenario.same !== undefined) await fill(scenario.same[0]);
      await remote.must(scenario.ask);
    });
    const remote = new Remote(guest);
    await remote.must({ op: 'recover' });
    await remote.must(scenario.ask);
    const host = await remote.look();
    assert.deepEqual(volumesOf(host), scenario.volumes, show(death));
    assert.deepEqual(unsettled(host), [], show(death));
    if (scenario.same !== undefined) {
      const [one, other] = scenario.same;
      assert.equal(await checksum(other), await checksum(one), `${show(death)}: data`);
    }
    await cleanUp(remote);
  }

  async function dieOnce(death: Death, work: (remote: Remote) => Promise<void>): Promise<void> {
    const remote = new Remote(guest, { death });
    await assert.rejects(work(remote), DriverEnded, `${show(death)}: it must die`);
    await remote.ended;
  }

  /** Snapshots first: an origin with snapshots is not removed. */
  async function cleanUp(remote: Remote): Promise<void> {
    for (const name of ['s', 'c', 'v']) await remote.must({ op: 'delete', vg: groupName, name });
    assert.deepEqual(volumesOf(await remote.look()), {});
    await remote.close();
  }

  async function fill(name: string): Promise<void> {
    await guest.sh(`dd if=/dev/urandom of=/dev/vg/${name} bs=1M count=32 oflag=direct status=none`);
  }

  async function checksum(name: string): Promise<string> {
    return guest.sh(`dd if=/dev/vg/${name} bs=1M count=32 iflag=direct status=none | md5sum`);
  }
});

function everyDeath(count: number): readonly Death[] {
  return Array.from({ length: count }, (_, index) => index + 1).flatMap((nth) =>
    (['before', 'during', 'after'] as const).map((when) => ({ when, count: nth })),
  );
}

function show(death: Death): string {
  return `killed ${death.when} change ${death.count}`;
}
