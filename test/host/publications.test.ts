import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GiB, type Guest, type Lab, startLab } from '../../lab/index.ts';
import { pendingTag } from '../../src/core/tags.ts';
import type { Answer, Death, PublicationAsk } from './protocol.ts';
import { changesOf, DriverEnded, lvmRunsOf, Remote } from './remote.ts';
import { groupName } from './scenarios.ts';

const path = '/run/kubelet/pods/p 1/mount';
const second = '/run/kubelet/pods/p2/mount';

const kinds = [
  { name: 'ext4', size: '64Mi', larger: '128Mi' },
  { name: 'xfs', size: '304Mi', larger: '400Mi' },
  { name: 'btrfs', size: '128Mi', larger: '300Mi' },
] as const;

describe('volumes shown at paths, on real LVM', { timeout: 600_000 }, () => {
  let lab: Lab;
  let guest: Guest;
  let remote: Remote;
  let node: unknown;

  before(async () => {
    const disks = ['a', 'b'].map((name) => ({ name, sizeBytes: 2n * GiB }));
    lab = await startLab({ guests: [{ name: 'n1', disks }] });
    guest = lab.guest('n1');
    const volumeGroup = groupName;
    const thin = { poolName: 'pool', sizePercent: 30, overprovisionRatio: 10 };
    const paths = await Promise.all(['a', 'b'].map((name) => guest.devicePath(name)));
    node = {
      volumeGroups: [{ name: groupName, devices: { paths } }],
      deviceClasses: [
        { name: 'linear', volumeGroup },
        { name: 'thin', volumeGroup, thin },
      ],
    };
    remote = new Remote(guest);
    await remote.must({ op: 'apply', node });
  });

  after(async () => {
    await lab?.stop();
  });

  for (const { name: fsType, size, larger } of kinds) {
    test(`${fsType}: a volume is made, used, shown twice, grown and taken away`, async (t) => {
      const volume = `v-${fsType}`;
      await create(volume, 'linear', size);
      // What is known is new enough, so that the publication needs no look of its own.
      await remote.look();
      const first = await publish({ volume, path, fsType });
      t.diagnostic(`first publish of ${fsType}: ${commands(first)}`);
      assert.deepEqual(lvmRunsOf(first.ran), ['lvchange']);
      assert.equal(await isPending(volume), false);
      assert.match(await guest.sh(`stat -c %a '${path}'`), /^2777$/m);
      await guest.sh(`echo kept > '${path}/file'`);
      const again = await publish({ volume, path, fsType });
      assert.deepEqual(again.ran, []);
      assert.equal(await countAt(path), 1);

      const readOnly = { volume, path: second, fsType, isReadOnly: true };
      await publish(readOnly);
      assert.equal((await guest.run(['touch', `${second}/x`])).exitCode, 1);
      assert.match(await guest.sh(`cat ${second}/file`), /kept/);
      await unpublish(volume, second);

      const before = await totalBytes(volume);
      await create(volume, 'linear', larger);
      const grown = await remote.must({ op: 'grow', volume, path });
      t.diagnostic(`growing ${fsType}: ${commands(grown)}`);
      assert.ok((await totalBytes(volume)) > before);
      assert.deepEqual((await remote.must({ op: 'grow', volume, path })).ran, []);

      await unpublish(volume, path);
      const later = await publish({ volume, path, fsType });
      t.diagnostic(`later publish of ${fsType}: ${commands(later)}`);
      assert.equal(changesOf(later.ran).length, 2, 'the directory and the mount');
      assert.match(await guest.sh(`cat '${path}/file'`), /kept/);
      await unpublish(volume, path);
      await unpublish(volume, path);
      assert.equal((await guest.run(['test', '-e', path])).exitCode, 1);
      await remote.must({ op: 'delete', vg: groupName, name: volume });
    });

    test(`${fsType}: a clone is mounted beside its source`, async () => {
      const [volume, copy] = [`s-${fsType}`, `c-${fsType}`];
      await create(volume, 'thin', size);
      await publish({ volume, path, fsType });
      await guest.sh(`echo kept > '${path}/file' && sync`);
      const request = { name: copy, source: volume, className: 'thin', size: larger };
      await remote.must({ op: 'clone', node, request });
      await publish({ volume: copy, path: second, fsType });
      assert.match(await guest.sh(`cat ${second}/file`), /kept/);
      await guest.sh(`echo other > ${second}/file && sync`);
      assert.match(await guest.sh(`cat '${path}/file'`), /kept/);
      const { usage } = (await remote.must({ op: 'stats', volume: copy, path: second })).value as {
        usage: { totalBytes: number };
      };
      assert.ok(usage.totalBytes > (await totalBytes(volume)), 'it grew when it was mounted');
      await unpublish(copy, second);
      await publish({ volume: copy, path: second, fsType });
      assert.match(await guest.sh(`cat ${second}/file`), /other/);
      await unpublish(copy, second);
      await unpublish(volume, path);
      for (const name of [copy, volume]) await remote.must({ op: 'delete', vg: groupName, name });
    });
  }

  test('what is on a volume is never formatted, and said', async () => {
    await create('taken', 'linear', '64Mi');
    await guest.sh('mkfs.ext4 -q /dev/vg/taken');
    const pending = await ask({ volume: 'taken', path, fsType: 'ext4' });
    assert.equal(pending.code, 'VolumeHoldsData', pending.message);
    assert.match(pending.message ?? '', /ext4/);
    await guest.sh('lvchange --deltag quarry.pending vg/taken');
    await remote.look();
    const other = await ask({ volume: 'taken', path, fsType: 'xfs' });
    assert.equal(other.code, 'FileSystemDiffers', other.message);
    await guest.sh('wipefs --all /dev/vg/taken');
    const empty = await ask({ volume: 'taken', path, fsType: 'ext4' });
    assert.equal(empty.code, 'VolumeHoldsData', empty.message);
    await remote.must({ op: 'delete', vg: groupName, name: 'taken' });
    await guest.sh('lvcreate --yes --virtualsize 64m --thinpool pool --name theirs vg');
    await remote.look();
    await publish({ volume: 'theirs', path, fsType: 'ext4' });
    await unpublish('theirs', path);
    await guest.sh('lvremove --yes vg/theirs');
    await remote.look();
  });

  test('a busy path stays until it is let go, and stacked mounts all go', async () => {
    await create('busy', 'linear', '64Mi');
    await publish({ volume: 'busy', path, fsType: 'ext4' });
    await guest.sh(`cd '${path}' && (sleep 600 >/dev/null 2>&1 & echo $! > /run/sleeper)`);
    const busy = await remote.ask({ op: 'unpublish', volume: 'busy', path });
    assert.equal(busy.code, 'PublicationInUse', busy.message);
    await guest.sh('kill $(cat /run/sleeper)');
    await guest.sh(`mount /dev/vg/busy '${path}'; mount /dev/dm-* '${path}' 2>/dev/null || true`);
    assert.ok((await countAt(path)) > 1);
    const again = await publish({ volume: 'busy', path, fsType: 'ext4' });
    assert.deepEqual(changesOf(again.ran), []);
    await unpublish('busy', path);
    assert.equal(await countAt(path), 0);
    await guest.sh(`mkdir -p '${path}' && mount --types tmpfs none '${path}'`);
    assert.equal((await ask({ volume: 'busy', path, fsType: 'ext4' })).code, 'TargetTaken');
    const theirs = await remote.ask({ op: 'unpublish', volume: 'busy', path });
    assert.equal(theirs.code, 'TargetTaken');
    await guest.sh(`umount '${path}' && touch '${path}/left'`);
    const full = await remote.ask({ op: 'unpublish', volume: 'busy', path });
    assert.equal(full.code, 'TargetTaken', full.message);
    await guest.sh(`rm '${path}/left'`);
    await unpublish('busy', path);
    await remote.must({ op: 'delete', vg: groupName, name: 'busy' });
  });

  test('a new raw volume shows zeroes, and is shown once however often it is asked for', async () => {
    await create('old', 'linear', '64Mi');
    await guest.sh('dd if=/dev/urandom of=/dev/vg/old bs=1M count=64 oflag=direct status=none');
    await remote.must({ op: 'delete', vg: groupName, name: 'old' });
    await create('raw', 'linear', '64Mi');
    const request = { volume: 'raw', path, zeroFirst: true };
    await publish(request);
    assert.equal(await isPending('raw'), false);
    await guest.sh(`test -b '${path}' && cmp --bytes 67108864 '${path}' /dev/zero`);
    await guest.sh(`echo data | dd of='${path}' conv=notrunc status=none`);
    assert.deepEqual(changesOf((await publish(request)).ran), []);
    const [shown] = ((await remote.must({ op: 'mounts' })).value as { isNode: boolean }[]) ?? [];
    assert.equal(shown?.isNode, true);
    assert.equal((await ask({ volume: 'raw', path: second, fsType: 'ext4' })).code, 'VolumeInUse');
    await unpublish('raw', path);
    await publish(request);
    assert.match(await guest.sh(`head -c 4 '${path}'`), /data/);
    await unpublish('raw', path);
    await remote.must({ op: 'delete', vg: groupName, name: 'raw' });
  });

  // Dying before a change is dying after the one before it. Each of these starts two processes.
  for (const { fsType, size, deaths } of [
    {
      fsType: 'ext4',
      size: '64Mi',
      deaths: ['during 1', 'after 1', 'after 2', 'after 3', 'after 4'],
    },
    { fsType: 'btrfs', size: '128Mi', deaths: ['during 1', 'after 1'] },
    { fsType: undefined, size: '64Mi', deaths: ['during 1', 'after 2', 'after 3'] },
  ]) {
    const what = fsType ?? 'a raw volume';
    test(`${what} is shown in the end, wherever the process died`, async () => {
      await remote.close();
      const request = { volume: 'k', path, zeroFirst: true, ...(fsType && { fsType }) };
      for (const death of deaths) await survive(request, deathOf(death), size);
      remote = new Remote(guest);
    });
  }

  async function survive(request: PublicationAsk, death: Death, size: string): Promise<void> {
    const dying = new Remote(guest, { death: { ...death, count: death.count + 1 } });
    const name = request.volume;
    await dying.must({ op: 'create', node, request: { name, className: 'linear', size } });
    const why = `killed ${death.when} change ${death.count}`;
    await assert.rejects(dying.ask({ op: 'publish', request }), DriverEnded, why);
    await dying.ended;
    remote = new Remote(guest);
    await publish(request);
    assert.equal(await countAt(path), 1, why);
    assert.equal(await isPending(name), false, why);
    await unpublish(name, path);
    await remote.must({ op: 'delete', vg: groupName, name });
    await remote.close();
  }

  function create(name: string, className: string, size: string): Promise<Answer> {
    return remote.must({ op: 'create', node, request: { name, className, size } });
  }

  function ask(request: PublicationAsk): Promise<Answer> {
    return remote.ask({ op: 'publish', request });
  }

  /** As kubelet does: what is in the way for a moment is asked for again. */
  async function publish(request: PublicationAsk): Promise<Answer> {
    for (let attempt = 0; ; attempt += 1) {
      const answer = await ask(request);
      if (answer.kind === 'settled') return answer;
      const text = `${answer.kind} ${answer.code}: ${answer.message}`;
      assert.ok(attempt < 20, text);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  async function unpublish(volume: string, at: string): Promise<void> {
    await remote.must({ op: 'unpublish', volume, path: at });
  }

  async function isPending(name: string): Promise<boolean> {
    const lvs = (await remote.look()).vgs.flatMap((vg) => vg.lvs);
    return lvs.find((lv) => lv.name === name)?.tags.includes(pendingTag) === true;
  }

  async function countAt(at: string): Promise<number> {
    const escaped = at.replaceAll(' ', '\\040');
    const lines = await guest.sh(`grep -cF ' ${escaped} ' /proc/1/mountinfo || true`);
    return Number(lines);
  }

  async function totalBytes(volume: string): Promise<number> {
    const { value } = await remote.must({ op: 'stats', volume, path });
    return (value as { usage: { totalBytes: number } }).usage.totalBytes;
  }
});

function commands(answer: Answer): string {
  return answer.ran.map(({ argv }) => (argv[0] === 'lvm' ? `lvm ${argv[1]}` : argv[0])).join(', ');
}

function deathOf(text: string): Death {
  const [when, count] = text.split(' ');
  return { when: when as Death['when'], count: Number(count) };
}
