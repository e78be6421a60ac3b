import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GiB, type Guest, type Suite, startLab } from '../../lab/index.ts';
import type { ObservedVg } from '../../src/core/observed.ts';
import { hostNameForMaking } from '../../src/core/thin-pool/making.ts';
import { nameOf } from '../../src/host/run.ts';
import type { Command } from '../../src/lvm/command.ts';
import { Remote } from './remote.ts';
import { nodeFile } from './scenarios.ts';

const administrators = 'lvol7';

for (const suite of ['trixie', 'bookworm'] satisfies Suite[]) {
  test(`${suite}: of a pool that is cut off anywhere in the making nothing is left`, async (t) => {
    const lab = await startLab({
      guests: [{ name: 'n1', suite, disks: [{ name: 'a', sizeBytes: GiB }] }],
    });
    try {
      const guest = lab.guest('n1');
      const node = nodeFile([await guest.devicePath('a')]);
      const remote = new Remote(guest);
      const command = await makingOf(guest, remote, node);
      const left = await killEverywhere(guest, command, async () => {
        const names = volumesOf(await groupOf(remote));
        if (names.length === 0) return '';
        // Of the very size, without a name or a tag, and made at the same time: not ours.
        const size = command.argv[command.argv.indexOf('--poolmetadatasize') + 1];
        await guest.sh(`lvcreate --yes --size ${size} --name ${administrators} vg`);
        await remote.must({ op: 'apply', node });
        assert.deepEqual(volumesOf(await groupOf(remote)), [administrators, 'pool'], names.join());
        await remote.must({ op: 'remove-pool', node });
        assert.deepEqual(volumesOf(await groupOf(remote)), [administrators], names.join());
        await guest.sh(`lvremove --yes vg/${administrators}`);
        return names.join(' ');
      });
      await remote.close();
      t.diagnostic(
        `${left.length} kills, after them: ${[...new Set(left)].toSorted().join(' | ')}`,
      );
      assert.ok(
        left.some((names) => /^(lvol0|pool_metadata0)$/.test(names)),
        left.join(' | '),
      );
    } finally {
      await lab.stop();
    }
  });

  test(`${suite}: a thin volume whose activation is cut off anywhere is active again`, async (t) => {
    const lab = await startLab({
      guests: [{ name: 'n1', suite, disks: [{ name: 'a', sizeBytes: GiB }] }],
    });
    try {
      const guest = lab.guest('n1');
      const node = nodeFile([await guest.devicePath('a')]);
      const remote = new Remote(guest);
      await remote.must({ op: 'apply', node });
      const request = { name: 'db', className: 'thin', size: '32Mi' };
      const asleep = async () => {
        await guest.sh('lvchange --activate n vg/db vg/pool && ! dmsetup ls | grep vg-');
      };
      await remote.must({ op: 'create', node, request });
      await guest.sh('echo kept > /dev/vg/db');
      await asleep();
      const argv = ['lvm', 'lvchange', '--yes', '--activate', 'y', 'vg/db'] as const;
      const command = { argv, effect: 'changes', timeoutMs: 60_000 } as const;
      const left = await killEverywhere(guest, command, async () => {
        const devices = await guest.sh('dmsetup ls | cut -f 1');
        await remote.look();
        await remote.must({ op: 'create', node, request });
        assert.equal(await guest.sh('head -n 1 /dev/vg/db'), 'kept\n');
        await asleep();
        return devices.trim().split('\n').toSorted().join(' ');
      });
      await remote.close();
      t.diagnostic(
        `${left.length} kills, after them: ${[...new Set(left)].toSorted().join(' | ')}`,
      );
      assert.ok(left.includes('vg-pool_tmeta'), left.join(' | '));
    } finally {
      await lab.stop();
    }
  });
}

/** The command that makes the pool, with the mark that it left on the pool it made. */
async function makingOf(guest: Guest, remote: Remote, node: object): Promise<Command> {
  const { ran } = await remote.must({ op: 'apply', node });
  const making = ran.find(({ argv }) => argv[1] === 'lvcreate');
  assert.ok(making !== undefined);
  const hostName = (await guest.sh('lvs --noheadings --options lv_host vg/pool')).trim();
  assert.equal(hostName, hostNameForMaking('pool'));
  await remote.must({ op: 'remove-pool', node });
  return { argv: making.argv as Command['argv'], effect: 'changes', timeoutMs: 60_000, hostName };
}

/** At every third thing that it tells the kernel, until it comes to its end. */
async function killEverywhere(
  guest: Guest,
  command: Command,
  mend: () => Promise<string>,
): Promise<readonly string[]> {
  const left: string[] = [];
  for (let kill = 1; kill < killsMax; kill += 3) {
    const strace = ['strace', '--follow-forks', '-qqq', '--output=/dev/null', '--trace=ioctl'];
    const inject = `--inject=ioctl:signal=KILL:when=${kill}`;
    const { exitCode } = await guest.run([
      ...nameOf(command),
      ...[...strace, inject],
      ...command.argv,
    ]);
    left.push(await mend());
    if (exitCode === 0) return left;
  }
  throw new Error(`it was not made with ${killsMax} calls`);
}

const killsMax = 400;

async function groupOf(remote: Remote): Promise<ObservedVg> {
  const [vg] = (await remote.look()).vgs;
  assert.ok(vg !== undefined);
  return vg;
}

function volumesOf(vg: ObservedVg): readonly string[] {
  return vg.lvs
    .filter((lv) => !lv.isInternal)
    .map((lv) => lv.name)
    .toSorted();
}
