import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GiB, type Guest, type Lab, startLab } from '../../lab/index.ts';
import type { Ask } from '../host/protocol.ts';
import { changesOf, Remote } from '../host/remote.ts';
import {
  groupName,
  nodeFile,
  type Scenario,
  scenarios,
  unsettled,
  volumesOf,
} from '../host/scenarios.ts';

/**
 * The power goes in the middle of a command, every other time with every write that was not
 * flushed. After the restart the same request must find or finish its work, and what
 * was there before must be there still.
 */
const fractions = [0.15, 0.5, 0.85];

const cutNames = [
  'create linear',
  'create raid1',
  'create thin',
  'expand linear',
  'expand thin',
  'snapshot linear',
  'snapshot thin',
  'delete linear',
  'delete thin',
];

describe('power cut in the middle of a command', { timeout: 1_800_000 }, () => {
  let lab: Lab;
  let guest: Guest;
  let node: unknown;
  let cuts = 0;
  let tornOff = 0;

  before(async () => {
    const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: GiB }));
    lab = await startLab({ guests: [{ name: 'n1', disks }] });
    guest = lab.guest('n1');
    node = nodeFile(await Promise.all(['a', 'b', 'c'].map((name) => guest.devicePath(name))));
  });

  after(async () => {
    await lab?.stop();
  });

  for (const [index, what] of ['vgcreate', 'thin pool creation'].entries()) {
    test(`${what}: group and pool are made in the end`, async (t) => {
      for (const fraction of fractions) {
        const remote = new Remote(guest);
        if (index === 1) {
          const noPool = { ...(node as object), deviceClasses: [] };
          await remote.must({ op: 'apply', node: noPool });
        }
        await remote.close();
        await cutDuring({ op: 'apply', node }, fraction, index === 0 ? 150 : 600);
        const revived = new Remote(guest);
        await revived.must({ op: 'recover' });
        await revived.must({ op: 'apply', node });
        const [vg] = (await revived.look()).vgs;
        assert.equal(vg?.pvs.length, 3);
        // Nothing beside it: what lvm makes on the way, without a name or a tag, is gone, too.
        assert.deepEqual(
          vg?.lvs.map((lv) => [lv.kind, lv.name]),
          [['thin-pool', 'pool']],
        );
        await revived.must({ op: 'remove-pool', node });
        await revived.must({ op: 'remove-vg', node });
        await revived.close();
      }
      t.diagnostic(`${cuts} cuts so far, ${tornOff} before the command had ended`);
    });
  }

  test('a volume with data is made, to be there through everything that follows', async () => {
    const remote = new Remote(guest);
    await remote.must({ op: 'apply', node });
    const request = { name: 'keep', className: 'linear', size: '16Mi' };
    await remote.must({ op: 'create', node, request });
    await remote.close();
    await guest.sh(
      `head -c 16M /dev/zero | tr '\\0' q | dd of=/dev/vg/keep bs=1M conv=fsync status=none`,
    );
  });

  for (const name of cutNames) {
    test(`${name} comes out right`, async (t) => {
      const scenario = scenarios(node).find((one) => one.name === name);
      assert.ok(scenario !== undefined);
      const durationMs = await measure(scenario);
      for (const fraction of fractions) await surviveCut(scenario, fraction, durationMs);
      t.diagnostic(`${cuts} cuts so far, ${tornOff} before the command had ended`);
    });
  }

  async function measure(scenario: Scenario): Promise<number> {
    const remote = new Remote(guest);
    for (const ask of scenario.before) await remote.must(ask);
    const { ran } = await remote.must(scenario.ask);
    await cleanUp(remote);
    return changesOf(ran)[0]?.durationMs ?? 100;
  }

  async function surviveCut(scenario: Scenario, fraction: number, durationMs: number) {
    const prepare = new Remote(guest);
    for (const ask of scenario.before) await prepare.must(ask);
    await prepare.close();
    await guest.sh('sync');
    await cutDuring(scenario.ask, fraction, durationMs);
    const remote = new Remote(guest);
    await remote.must({ op: 'recover' });
    await activate(remote, scenario);
    await remote.must(scenario.ask);
    const host = await remote.look();
    const label = `${scenario.name}, cut at ${fraction}`;
    assert.deepEqual(volumesOf(host), { ...scenario.volumes, keep: 16 }, label);
    assert.deepEqual(unsettled(host), [], label);
    const kept = await guest.sh(
      `dd if=/dev/vg/keep bs=1M count=16 iflag=direct status=none | tr -d q | wc -c`,
    );
    assert.equal(kept.trim(), '0', `${label}: what was flushed must be there`);
    await cleanUp(remote);
  }

  /** Asking for what should be there again activates it, as an agent does after a boot. */
  async function activate(remote: Remote, scenario: Scenario): Promise<void> {
    await remote.must({ op: 'apply', node });
    const keep = { name: 'keep', className: 'linear', size: '16Mi' };
    await remote.must({ op: 'create', node, request: keep });
    const isDeletion = scenario.ask.op === 'delete';
    if (!isDeletion) for (const ask of scenario.before) await remote.must(ask);
  }

  /** Starts the request and cuts the power at a fraction of the time its first change takes. */
  async function cutDuring(ask: Ask, fraction: number, durationMs: number): Promise<void> {
    let hasStarted: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      hasStarted = resolve;
    });
    const remote = new Remote(guest, { onStarted: () => hasStarted() });
    let hasEnded = false;
    const work = remote.ask(ask).then(
      () => {
        hasEnded = true;
      },
      () => undefined,
    );
    await started;
    await sleep(durationMs * fraction);
    cuts += 1;
    if (!hasEnded) tornOff += 1;
    await guest.cutPower({ loseUnflushed: cuts % 2 === 1 });
    await work;
    await guest.start();
  }

  async function cleanUp(remote: Remote): Promise<void> {
    for (const name of ['s', 'c', 'v']) await remote.must({ op: 'delete', vg: groupName, name });
    await remote.close();
  }
});
