import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GiB, type Guest, type Lab, startLab } from '../../lab/index.ts';
import { bytes } from '../../src/base/bytes.ts';
import type { ObservedHost, ObservedLv } from '../../src/core/observed.ts';
import { changesOf, lvmRunsOf, Remote } from './remote.ts';

const diskNames = ['a', 'b', 'c', 'd', 'e', 'f'];

const layouts = [
  { name: 'linear', spec: {}, kind: 'linear', columns: 1n },
  { name: 'striped', spec: { striped: { stripes: 2 } }, kind: 'striped', columns: 2n },
  { name: 'raid1', spec: { raid: { type: 'raid1' } }, kind: 'raid1', columns: 1n },
  { name: 'raid1-3', spec: { raid: { type: 'raid1', mirrors: 2 } }, kind: 'raid1', columns: 1n },
  { name: 'raid4', spec: { raid: { type: 'raid4' } }, kind: 'raid4', columns: 2n },
  { name: 'raid5', spec: { raid: { type: 'raid5' } }, kind: 'raid5', columns: 2n },
  { name: 'raid6', spec: { raid: { type: 'raid6' } }, kind: 'raid6', columns: 3n },
  { name: 'raid10', spec: { raid: { type: 'raid10' } }, kind: 'raid10', columns: 2n },
  {
    name: 'thin',
    spec: { thin: { poolName: 'pool', sizePercent: 20, overprovisionRatio: 10 } },
    kind: 'thin',
    columns: 1n,
  },
] as const;

const extent = 4n * 1024n * 1024n;

function rounded(size: bigint, columns: bigint): bigint {
  const unit = extent * columns;
  return ((size + unit - 1n) / unit) * unit;
}

describe('every layout on real LVM', { timeout: 1_800_000 }, () => {
  let lab: Lab;
  let guest: Guest;
  let remote: Remote;
  let node: unknown;

  before(async () => {
    const disks = diskNames.map((name) => ({ name, sizeBytes: GiB }));
    lab = await startLab({ guests: [{ name: 'n1', disks, raid6: true }] });
    guest = lab.guest('n1');
    const paths = await Promise.all(diskNames.map((name) => guest.devicePath(name)));
    node = {
      volumeGroups: [{ name: 'vg', devices: { paths } }],
      deviceClasses: layouts.map(({ name, spec }) => ({ name, volumeGroup: 'vg', ...spec })),
    };
    remote = new Remote(guest);
    await remote.must({ op: 'apply', node });
  });

  after(async () => {
    await lab?.stop();
  });

  test('applying a node file again runs nothing that changes', async () => {
    const { ran } = await remote.must({ op: 'apply', node });
    assert.deepEqual(changesOf(ran), []);
  });

  for (const layout of layouts) {
    test(`${layout.name}: create, expand, snapshot and delete cost one lvm run each`, async (t) => {
      const { name, kind, columns } = layout;
      const request = { name: `v-${name}`, className: name, size: '50M' };
      const cost = new Map<string, readonly string[]>();

      // What is known is new enough, so that an operation needs no look of its own.
      await remote.look();
      const created = await remote.must({ op: 'create', node, request });
      cost.set('create', lvmRunsOf(created.ran));
      assert.equal(lv(await remote.look(), request.name)?.kind, kind);
      assert.equal(size(await remote.look(), request.name), rounded(50_000_000n, columns));

      const again = await remote.must({ op: 'create', node, request });
      assert.deepEqual(changesOf(again.ran), [], 'the same request again changes nothing');

      const larger = { ...request, size: '100M' };
      const expanded = await remote.must({ op: 'create', node, request: larger });
      cost.set('expand', lvmRunsOf(expanded.ran));
      assert.equal(size(await remote.look(), request.name), rounded(100_000_000n, columns));

      const snapshot = { name: `s-${name}`, source: request.name, className: name };
      const snapped = await remote.must({ op: 'snapshot', node, request: snapshot });
      cost.set('snapshot', lvmRunsOf(snapped.ran));
      const taken = lv(await remote.look(), snapshot.name);
      assert.equal(taken?.origin, request.name);
      assert.equal(taken?.isReadOnly, true);

      const removed = await remote.must({ op: 'delete', vg: 'vg', name: snapshot.name });
      cost.set('delete', lvmRunsOf(removed.ran));
      await remote.must({ op: 'delete', vg: 'vg', name: request.name });
      assert.equal(lv(await remote.look(), request.name), undefined);
      assert.equal(lv(await remote.look(), snapshot.name), undefined);

      for (const [operation, runs] of cost) {
        assert.equal(runs.length, 1, `${operation} ran ${runs.join(', ')}`);
      }
      t.diagnostic(
        `${name}: ${[...cost].map(([what, runs]) => `${what} = ${runs.join(' + ')}`).join('; ')}`,
      );
    });

    test(`${layout.name}: a clone holds what its source held`, async () => {
      const { name } = layout;
      const source = `src-${name}`;
      await remote.must({
        op: 'create',
        node,
        request: { name: source, className: name, size: '40M' },
      });
      await guest.sh(
        `dd if=/dev/urandom of=/dev/vg/${source} bs=1M count=36 oflag=direct status=none`,
      );
      const before = await checksum(source);
      const request = { name: `clone-${name}`, source, className: name, size: '80M' };
      await remote.must({ op: 'clone', node, request });
      assert.equal(await checksum(request.name), before);
      const found = lv(await remote.look(), request.name);
      assert.equal(found?.isReadOnly, false);
      assert.equal(lv(await remote.look(), `${request.name}.copy`), undefined);
      await remote.must({ op: 'delete', vg: 'vg', name: request.name });
      await remote.must({ op: 'delete', vg: 'vg', name: source });
    });
  }

  test('a burst of creates shares one refresh', async (t) => {
    const asks = Array.from({ length: 8 }, (_, index) => ({
      op: 'create' as const,
      node,
      request: { name: `burst-${index}`, className: 'linear', size: '8M' },
    }));
    const { ran, value } = await remote.must({ op: 'burst', asks });
    const runs = lvmRunsOf(ran);
    assert.deepEqual(
      (value as { kind: string }[]).map((one) => one.kind),
      asks.map(() => 'settled'),
    );
    assert.equal(runs.filter((run) => run === 'lvcreate').length, asks.length);
    assert.ok(runs.filter((run) => run === 'fullreport').length <= 2, runs.join(', '));
    t.diagnostic(`8 creates at once = ${runs.length} lvm runs`);
    for (const { request } of asks) {
      await remote.must({ op: 'delete', vg: 'vg', name: request.name });
    }
  });

  test('a volume that something holds open is not removed', async () => {
    const request = { name: 'held', className: 'linear', size: '40M' };
    await remote.must({ op: 'create', node, request });
    await guest.sh(
      'mkfs.ext4 -q /dev/vg/held && mkdir -p /tmp/held && mount /dev/vg/held /tmp/held',
    );
    const refused = await remote.ask({ op: 'delete', vg: 'vg', name: 'held' });
    assert.equal(refused.kind, 'blocked');
    assert.equal(refused.code, 'VolumeInUse');
    await guest.sh('umount /tmp/held');
    await remote.must({ op: 'delete', vg: 'vg', name: 'held' });
  });

  test('an origin that got a snapshot behind our back survives its removal', async () => {
    const request = { name: 'origin', className: 'linear', size: '40M' };
    await remote.must({ op: 'create', node, request });
    await guest.sh('lvm lvcreate --yes --snapshot --size 8m --name admins vg/origin');
    const refused = await remote.ask({ op: 'delete', vg: 'vg', name: 'origin' });
    assert.equal(refused.code, 'VolumeHasSnapshots');
    assert.notEqual(lv(await remote.look(), 'origin'), undefined);
    await guest.sh('lvm lvremove --yes vg/admins');
    // Otherwise it is noticed at the latest after limits.foreignChangeNoticedMs.
    await remote.look();
    await remote.must({ op: 'delete', vg: 'vg', name: 'origin' });
  });

  test('a device leaves the group after everything on it was moved away', async () => {
    const request = { name: 'moved', className: 'linear', size: '40M' };
    await remote.must({ op: 'create', node, request });
    await guest.sh('dd if=/dev/urandom of=/dev/vg/moved bs=1M count=36 oflag=direct status=none');
    const before = await checksum('moved');
    const device =
      (await guest.sh('lvm lvs --noheadings -o devices vg/moved')).trim().split('(')[0] ?? '';
    await remote.must({ op: 'release', node, device });
    const vg = (await remote.look()).vgs.find((one) => one.name === 'vg');
    assert.equal(
      vg?.pvs.some((pv) => pv.device === device),
      false,
    );
    assert.equal(await checksum('moved'), before);
    await remote.must({ op: 'delete', vg: 'vg', name: 'moved' });
  });

  test('the group goes when its last volume and pool are gone, and not before', async () => {
    const refused = await remote.ask({ op: 'remove-vg', node });
    assert.equal(refused.code, 'VolumeInUse');
    await remote.must({ op: 'remove-pool', node });
    await remote.must({ op: 'remove-vg', node });
    assert.deepEqual((await remote.look()).vgs, []);
  });

  async function checksum(name: string): Promise<string> {
    return guest.sh(`dd if=/dev/vg/${name} bs=1M count=36 iflag=direct status=none | md5sum`);
  }
});

function lv(node: ObservedHost, name: string): ObservedLv | undefined {
  return node.vgs.flatMap((vg) => vg.lvs).find((one) => one.name === name);
}

function size(node: ObservedHost, name: string): bigint {
  return bytes(BigInt(lv(node, name)?.sizeBytes ?? 0));
}
