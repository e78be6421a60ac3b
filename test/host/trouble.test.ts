import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MiB } from '../../lab/index.ts';
import { type TroubleDriver, until } from './trouble-driver.ts';
import { sentencesOf } from './trouble-guide.ts';
import { allBad, type Scene, startScene } from './trouble-scene.ts';

/** What docs/guides/trouble.md tells, on real LVM with real disks. */
let scene: Scene;
let driver: TroubleDriver;

before(async () => {
  scene = await startScene();
  ({ driver } = scene);
});

after(() => scene?.stop());

const writesBad = { kind: 'failing', requests: ['write', 'flush'] } as const;
const well = { kind: 'none' } as const;

test('a full thin pool takes nothing new, keeps what it has, and room heals it', async () => {
  const kept = await scene.filled('kept', 'thin');
  const raw = await driver.create('raw', 'thin', 32);
  const big = await driver.create('big', 'thin', 300);
  await driver.must({ op: 'publish', id: raw, path: '/pods/raw', isBlock: true });
  await driver.must({ op: 'publish', id: big, path: '/pods/big', isBlock: true });
  // The kernel's own patience of a minute is enough for a person, not for a busy machine.
  await scene.sh('echo 300 >/sys/module/dm_thin_pool/parameters/no_space_timeout');
  const words = ['if=/dev/zero', 'of=/pods/big', 'bs=1M', 'count=200', 'oflag=direct'];
  const load = scene.guest.spawn(['dd', ...words], { timeoutMs: 240_000 });
  const isFull = async () => (await driver.metric('topolvm_thinpool_data_percent', 'thin')) === 100;
  await until(isFull, 'the driver notices a full pool by itself');
  const full = /the thin pool thin\/pool is full: data 100 %, metadata [\d.]+ % of at most 95 %\./;
  const created = { op: 'create', name: 'more', in: 'thin', mib: 32 } as const;
  const cloned = { op: 'clone', name: 'copy', in: 'thin', from: kept } as const;
  await driver.refused(created, 'RESOURCE_EXHAUSTED', full);
  await driver.refused(cloned, 'RESOURCE_EXHAUSTED', full);
  await driver.refused({ op: 'expand', id: kept, mib: 80 }, 'OUT_OF_RANGE', full);
  await driver.refused({ op: 'snapshot', name: 'snap', id: kept }, 'OUT_OF_RANGE', full);
  assert.equal(await driver.capacityMib('thin'), 0);
  for (const id of [kept, big]) assert.match(await driver.condition(id), /data 100 % full/);
  await driver.must({ op: 'unpublish', id: raw, path: '/pods/raw' });
  await driver.must({ op: 'publish', id: raw, path: '/pods/raw-again', isBlock: true });
  assert.deepEqual(await scene.volumesIn('thin'), [kept, raw, big].toSorted());

  await scene.sh('lvextend --size +128m thin/pool');
  assert.equal((await load.result).exitCode, 0, 'writes that waited are done');
  await driver.look();
  await driver.must(created);
  assert.equal((await driver.must({ op: 'expand', id: kept, mib: 80 })).mib, 80);
  await driver.must({ op: 'grow', id: kept, path: '/pods/kept' });
  await scene.holds(kept, 'kept');
  assert.equal(await driver.condition(kept), '');
  await driver.must({ op: 'unpublish', id: big, path: '/pods/big' });
  await driver.must({ op: 'delete', id: big });
  await driver.look();
  assert.ok((await driver.metric('topolvm_thinpool_data_percent', 'thin')) < 50);
});

test('a pool that may grow does so before it is full, and no further', async () => {
  const id = await driver.create('growing', 'grows', 300);
  await driver.must({ op: 'publish', id, path: '/pods/growing', isBlock: true });
  await scene.sh('dd if=/dev/zero of=/pods/growing bs=1M count=90 oflag=direct');
  const grown = async () =>
    (await driver.metric('topolvm_thinpool_size_bytes', 'grows')) > 100 * Number(MiB);
  await until(grown, 'the pool grows');
  // It waits for its turn after all that grows the pool.
  await driver.create('beside', 'grows', 32);
  await driver.look();
  const percent = await driver.metric('topolvm_thinpool_data_percent', 'grows');
  assert.ok(percent > 50 && percent < 75, `${percent} % of what it is now`);
});

test('a full volume group refuses with figures, keeps its spare, and nothing is half made', async () => {
  const first = await driver.create('first', 'room', 600);
  // A snapshot of what nobody has used yet would need more.
  await driver.must({ op: 'publish', id: first, path: '/pods/first' });
  await driver.must({ op: 'unpublish', id: first, path: '/pods/first' });
  const second = { op: 'create', name: 'second', in: 'room', mib: 600 } as const;
  await driver.refused(
    second,
    'RESOURCE_EXHAUSTED',
    /^InsufficientCapacity: room can give a linear volume of at most 420 MiB \(1 GiB kept spare\), not 600 MiB/,
  );
  const filler = await driver.create('filler', 'room', 400);
  assert.equal(await driver.capacityMib('room'), 20);
  await driver.refused(
    { op: 'expand', id: first, mib: 700 },
    'OUT_OF_RANGE',
    /needs 25 more extents on 1 device\(s\), and room has 5 \(1 GiB kept spare\)/,
  );
  await driver.refused(
    { op: 'snapshot', name: 'first-snap', id: first },
    'OUT_OF_RANGE',
    /needs 120 MiB for changes but room has 20 MiB \(1 GiB kept spare\)/,
  );
  await driver.refused(
    { op: 'clone', name: 'first-copy', in: 'room', from: first },
    'RESOURCE_EXHAUSTED',
    /room has 5 \(1 GiB kept spare\)/,
  );
  assert.deepEqual(await scene.volumesIn('room'), [first, filler].toSorted());

  await scene.guest.addDisk({ name: 'r2', sizeBytes: 1024n * MiB });
  await scene.sh(`vgextend --quiet room ${await scene.guest.devicePath('r2')}`);
  await driver.look();
  const { id = '' } = await driver.must(second);
  assert.deepEqual(await scene.volumesIn('room'), [first, filler, id].toSorted());
  // Nobody told the driver that somebody else takes all that is left: LVM itself says no.
  await driver.must({ op: 'delete', id });
  await scene.sh('lvcreate --quiet --yes --extents 100%FREE --name theirs room');
  await driver.refused(second, 'RESOURCE_EXHAUSTED', /^InsufficientCapacity: /);
  assert.deepEqual(await scene.volumesIn('room'), [first, filler, 'theirs'].toSorted());
});

test('a pulled disk takes its own volumes away and no others, and gives them back', async () => {
  const here = await scene.filledOn('p1', 'here');
  const idle = await scene.filledOn('p1', 'idle');
  const gone = await scene.filledOn('p2', 'gone');
  const away = await scene.filledOn('p2', 'away');
  await scene.hide(idle, 'idle');
  await scene.hide(away, 'away');
  await scene.guest.pullDisk('p2');
  // Before anybody looked: a refusal stands on a look of its own.
  await driver.refused(
    { op: 'publish', id: away, path: '/pods/away' },
    'UNAVAILABLE',
    /^VolumeUnhealthy: disks\/\S+ is partial: a device it lies on is missing\./,
  );
  await driver.look();
  const missing = /^VolumeGroupPartial: the volume group disks misses the device\(s\) \S+ \(\S+\)/;
  await driver.refused({ op: 'create', name: 'new', in: 'disks', mib: 40 }, 'UNAVAILABLE', missing);
  await driver.refused({ op: 'expand', id: here, mib: 80 }, 'UNAVAILABLE', missing);
  await driver.refused({ op: 'snapshot', name: 'hs', id: here }, 'UNAVAILABLE', missing);
  await driver.refused({ op: 'delete', id: away }, 'UNAVAILABLE', /is left alone: a device of it/);
  assert.equal(await driver.capacityMib('disks'), 0);
  const { conditions = {} } = await driver.must({ op: 'list' });
  assert.deepEqual([conditions[here], conditions[idle]], ['', '']);
  for (const id of [gone, away])
    assert.match(conditions[id] ?? '', /a device it lies on is missing/);
  const { condition } = await driver.must({ op: 'stats', id: gone, path: '/pods/gone' });
  assert.match(condition ?? '', /a device it lies on is missing/);
  await scene.holds(idle, 'idle');
  await scene.hide(idle, 'idle');
  await scene.hide(gone, 'gone');

  await scene.guest.plugDisk('p2');
  await driver.look();
  assert.equal(await driver.condition(away), '');
  await driver.refused(
    { op: 'publish', id: away, path: '/pods/away' },
    'UNAVAILABLE',
    /^DeviceFailed: disks\/(\S+): it cannot be read: .*; if its disk was away and is back, `lvchange --refresh disks\/\1` is enough\./,
  );
  await scene.sh('vgchange --refresh disks');
  await scene.holds(away, 'away');
  await scene.holds(gone, 'gone');
  await scene.holds(here, 'here');
  const more = await driver.create('new', 'disks', 40);
  await driver.must({ op: 'delete', id: more });
  for (const [id, name] of [
    [away, 'away'],
    [gone, 'gone'],
    [here, 'here'],
  ] as const)
    await scene.hide(id, name);
});

test('a disk that was away while its group was changed is taken in by hand', async () => {
  const lost = await scene.filledOn('p2', 'lost');
  const other = await scene.filledOn('p1', 'other');
  await scene.hide(lost, 'lost');
  await scene.hide(other, 'other');
  await scene.guest.pullDisk('p2');
  await driver.look();
  await driver.must({ op: 'delete', id: other });
  assert.ok(!(await scene.volumesIn('disks')).includes(other));
  await scene.guest.plugDisk('p2');
  await driver.look();
  const device = await scene.guest.devicePath('p2');
  const back = new RegExp(`${device} is back: \`vgextend --restoremissing disks ${device}\` takes`);
  const created = { op: 'create', name: 'after', in: 'disks', mib: 40 } as const;
  await driver.refused(created, 'UNAVAILABLE', back);
  await driver.refused({ op: 'publish', id: lost, path: '/pods/lost' }, 'UNAVAILABLE', back);
  await scene.sh(`vgextend --restoremissing disks ${device} && vgchange --refresh disks`);
  await driver.look();
  await driver.must(created);
  await scene.holds(lost, 'lost');
  await scene.hide(lost, 'lost');
});

test('a failing disk fails what lies on it, in words that name it', async () => {
  const used = await scene.filledOn('p2', 'used');
  await scene.hide(used, 'used');
  await scene.guest.setDiskFault('p2', writesBad);
  const device = await scene.guest.devicePath('p2');
  const created = { op: 'create', name: 'unlucky', in: 'disks', mib: 40 } as const;
  await driver.refused(
    created,
    'UNAVAILABLE',
    new RegExp(`^DeviceFailed: ${device} cannot be flushed: EIO: i/o error`),
  );
  await scene.guest.setDiskFault('p2', allBad);
  const shown = { op: 'publish', id: used, path: '/pods/used' } as const;
  await driver.refused(shown, 'UNAVAILABLE', /is partial: a device it lies on is missing\./);
  assert.match(await driver.condition(used), /a device it lies on is missing/);
  await driver.refused(created, 'UNAVAILABLE', /^VolumeGroupPartial: /);

  await scene.guest.setDiskFault('p2', well);
  await scene.sh('pvscan --cache >/dev/null');
  await driver.look();
  assert.equal(await driver.condition(used), '');
  await scene.holds(used, 'used');
  await scene.hide(used, 'used');
  const { id = '' } = await driver.must(created);
  assert.ok((await scene.volumesIn('disks')).includes(id));
});

test('a mirror with a failing disk is shown, read and written, and says how it is', async () => {
  const id = await scene.filled('mirrored', 'mirror');
  const health = () => driver.metric('lvms_raid_health_status', 'mirror');
  await driver.look();
  assert.equal(await health(), 0);
  await scene.failsCopy('mirrored');
  await driver.look();
  assert.match(await driver.condition(id), /a device it lies on is missing/);
  assert.equal(await health(), 1);
  await scene.hide(id, 'mirrored');
  await scene.holds(id, 'mirrored');
  assert.equal(await scene.sh('cat /pods/mirrored/more'), 'more\n');
  const created = { op: 'create', name: 'second-mirror', in: 'mirror', mib: 40 } as const;
  await driver.refused(created, 'UNAVAILABLE', /^VolumeGroupPartial: the volume group mirror/);

  await scene.guest.setDiskFault('m2', well);
  await scene.sh('pvscan --cache >/dev/null');
  await driver.look();
  assert.match(
    await driver.condition(id),
    /a part of its RAID was written off; lvchange --refresh/,
  );
  await scene.sh('lvchange --refresh mirror');
  const isWell = async () => {
    await driver.look();
    return (await driver.condition(id)) === '';
  };
  await until(isWell, 'the copies are in step');
  assert.equal(await health(), 0);
  await driver.must(created);
});

test('a disk that is missing at the start: its class is refused, others are served', async () => {
  const id = await scene.filled('alone', 'single');
  await scene.hide(id, 'alone');
  await driver.must({ op: 'stop' });
  await scene.guest.pullDisk('s1');
  await driver.must({ op: 'start' });
  const refusedClass = () => driver.metric('quarry_device_class_refused', 'single');
  assert.equal(await refusedClass(), 1);
  const created = { op: 'create', name: 'beside-alone', in: 'single', mib: 40 } as const;
  const noGroup = /^VolumeGroupMissing: there is no volume group single on this node\./;
  await driver.refused(created, 'UNAVAILABLE', noGroup);
  const unread = /^VolumeGroupMissing: the volume \S+ may be in single, which cannot be read\./;
  await driver.refused({ op: 'publish', id, path: '/pods/alone' }, 'UNAVAILABLE', unread);
  await driver.refused({ op: 'delete', id }, 'UNAVAILABLE', unread);
  await driver.refused({ op: 'expand', id, mib: 80 }, 'UNAVAILABLE', unread);
  await driver.refused({ op: 'snapshot', name: 'of-alone', id }, 'UNAVAILABLE', unread);
  const cloned = { op: 'clone', name: 'from-alone', in: 'admin', from: id } as const;
  await driver.refused(cloned, 'UNAVAILABLE', unread);
  await scene.hide(id, 'alone');
  assert.ok(!(await driver.list()).includes(id));
  const listed = await scene.sh('/quarry/bin/quarry volume list 2>&1 >/dev/null; echo "code $?"');
  assert.match(listed, /^quarry: VolumeGroupMissing: single is not here, .*\n.*\ncode 1\n$/);
  const elsewhere = await driver.create('elsewhere', 'admin', 40);
  await driver.must({ op: 'delete', id: elsewhere });

  await scene.guest.plugDisk('s1');
  await scene.sh('vgchange --refresh single');
  await driver.look();
  await until(async () => (await refusedClass()) === -1, 'the class is served again');
  assert.ok((await driver.list()).includes(id));
  await scene.holds(id, 'alone');
  await driver.must(created);
});

test('a disk is replaced under volumes in use, well or dead', async () => {
  const moved = await scene.filled('moved', 'single');
  const mirrored = await scene.filled('repaired', 'mirror');
  for (const name of ['s2', 'm3']) await scene.guest.addDisk({ name, sizeBytes: 512n * MiB });
  const path = (disk: string) => scene.guest.devicePath(disk);
  const [old, next, third] = [await path('s1'), await path('s2'), await path('m3')];
  await scene.sh(
    `set -e
    vgextend single ${next}
    pvmove --interval 1 ${old} ${next}
    vgreduce single ${old}`,
  );
  await scene.guest.pullDisk('s1');
  await scene.failsCopy('repaired');
  await scene.sh(
    `set -e
    vgextend mirror ${third}
    for name in $(lvs --noheadings --options lv_name mirror); do
      lvconvert --yes --repair mirror/$name
    done
    vgreduce --removemissing mirror`,
  );
  await driver.look();
  for (const [id, name] of [
    [moved, 'moved'],
    [mirrored, 'repaired'],
  ] as const) {
    await scene.hide(id, name);
    await scene.holds(id, name);
  }
  const isWell = async () => {
    await driver.look();
    return (await driver.condition(mirrored)) === '' && (await driver.condition(moved)) === '';
  };
  await until(isWell, 'the new copies are in step');
  for (const where of ['single', 'mirror']) await driver.create(`new in ${where}`, where, 40);
});

test('a disk whose label is gone: the rest of the group is served, and can be made whole', async () => {
  const stays = await scene.filledOn('p1', 'stays');
  const lost = await scene.filledOn('p2', 'wiped');
  await scene.hide(stays, 'stays');
  await scene.hide(lost, 'wiped');
  await driver.must({ op: 'stop' });
  const device = await scene.guest.devicePath('p2');
  await scene.sh(`vgchange --quiet --activate n disks && pvremove --quiet -ff --yes ${device}`);
  await driver.must({ op: 'start' });
  const created = { op: 'create', name: 'on-the-rest', in: 'disks', mib: 40 } as const;
  await driver.refused(created, 'UNAVAILABLE', /^VolumeGroupPartial: the volume group disks/);
  const shown = { op: 'publish', id: lost, path: '/pods/wiped' } as const;
  await driver.refused(shown, 'UNAVAILABLE', /is partial: a device it lies on is missing\./);
  await scene.holds(stays, 'stays');

  await scene.sh('vgreduce --removemissing --force disks');
  await driver.look();
  await driver.refused(shown, 'NOT_FOUND', /^VolumeNotFound: there is no volume /);
  await driver.must({ op: 'delete', id: lost });
  await driver.must(created);
  await scene.holds(stays, 'stays');
});

test("somebody else's volume in our group is served and never touched", async () => {
  const before = await driver.capacityMib('admin');
  await scene.sh('lvcreate --quiet --yes --size 100m --name foreign admin');
  await driver.look();
  assert.equal(await driver.capacityMib('admin'), before - 100);
  assert.ok(!(await driver.list()).includes('foreign'));
  const shown = { op: 'publish', id: 'foreign', path: '/pods/foreign' } as const;
  await driver.refused(
    shown,
    'FAILED_PRECONDITION',
    /^VolumeHoldsData: admin\/foreign carries no pending mark, so it holds data, but no ext4 is found on it/,
  );
  await scene.sh(
    `set -e
    mkfs.ext4 -q /dev/admin/foreign
    mount --mkdir /dev/admin/foreign /mnt/foreign
    echo foreign >/mnt/foreign/file
    umount /mnt/foreign`,
  );
  await scene.holds('foreign', 'foreign');
  await driver.must({ op: 'stats', id: 'foreign', path: '/pods/foreign' });
  const notOurs = /^NotOurs: admin\/foreign was not made by this driver\./;
  await driver.refused({ op: 'delete', id: 'foreign' }, 'FAILED_PRECONDITION', notOurs);
  await scene.hide('foreign', 'foreign');
  await driver.refused({ op: 'delete', id: 'foreign' }, 'FAILED_PRECONDITION', notOurs);
  await driver.refused({ op: 'expand', id: 'foreign', mib: 200 }, 'NOT_FOUND', /no volume foreign/);
  await driver.refused({ op: 'snapshot', name: 't', id: 'foreign' }, 'NOT_FOUND', /volume foreign/);
  const left = await scene.sh('lvs --noheadings --units m --options lv_size,lv_tags admin/foreign');
  assert.equal(left.trim(), '100.00m');
});

test('a volume that an administrator removed is gone for all calls, and its name is free', async () => {
  const mounted = await scene.filled('mounted', 'admin');
  const raw = await driver.create('raw-shown', 'admin', 40);
  await driver.must({ op: 'publish', id: raw, path: '/pods/raw-shown', isBlock: true });
  const idle = await scene.filled('idle-too', 'admin');
  await scene.hide(idle, 'idle-too');
  await scene.sh(`umount /pods/mounted && lvremove --quiet --yes admin/${mounted} admin/${raw}`);
  // No look yet: what is answered does not stand on an old report.
  const gone = /there is no volume |is not shown at/;
  await driver.refused({ op: 'stats', id: mounted, path: '/pods/mounted' }, 'NOT_FOUND', gone);
  await driver.refused({ op: 'stats', id: raw, path: '/pods/raw-shown' }, 'NOT_FOUND', gone);
  await driver.refused({ op: 'publish', id: raw, path: '/pods/again' }, 'NOT_FOUND', gone);
  await driver.look();
  const listed = await driver.list();
  assert.deepEqual(
    [mounted, raw, idle].map((id) => listed.includes(id)),
    [false, false, true],
  );
  await driver.refused({ op: 'get', id: raw }, 'NOT_FOUND', /^VolumeNotFound: there is no volume/);
  await scene.hide(mounted, 'mounted');
  await scene.hide(raw, 'raw-shown');
  assert.equal(await scene.sh('ls -d /pods/mounted /pods/raw-shown 2>/dev/null || true'), '');
  for (const id of [mounted, raw]) await driver.must({ op: 'delete', id });
  const again = await driver.create('raw-shown', 'admin', 40);
  assert.notEqual(again, raw);
  await driver.must({ op: 'delete', id: again });

  const dm = `admin-${idle.replaceAll('-', '--')}`;
  await scene.sh(`dmsetup remove ${dm}`);
  await scene.holds(idle, 'idle-too');
  await scene.hide(idle, 'idle-too');
  await scene.sh(`lvremove --quiet --yes admin/${idle}`);
  await driver.must({ op: 'delete', id: idle });
});

test('a volume that grew in the books of lvm only is as large as it is told to be', async () => {
  const id = await scene.filled('half-grown', 'admin');
  const dm = `admin-${id.replaceAll('-', '--')}`;
  const growInBooks = async (mib: number) => {
    await scene.sh(
      `set -e
      dmsetup table ${dm} >/tmp/before
      lvextend --quiet --size ${mib}m admin/${id}
      dmsetup reload ${dm} /tmp/before
      dmsetup resume ${dm}`,
    );
    await driver.look();
  };
  const shownMib = async () =>
    Number(await scene.sh(`blockdev --getsize64 /dev/mapper/${dm}`)) / Number(MiB);
  await growInBooks(100);
  assert.equal((await driver.must({ op: 'expand', id, mib: 100 })).mib, 100);
  assert.equal(await shownMib(), 100);
  await driver.must({ op: 'grow', id, path: '/pods/half-grown' });
  await growInBooks(140);
  await scene.hide(id, 'half-grown');
  await scene.holds(id, 'half-grown');
  assert.equal(await shownMib(), 140);
  await scene.hide(id, 'half-grown');
  await driver.must({ op: 'delete', id });
});

test('a renamed group is away, with nothing lost or made twice, until it has its name again', async () => {
  const shown = await scene.filled('shown', 'moves');
  const idle = await scene.filled('unshown', 'moves');
  await scene.hide(idle, 'unshown');
  const volumes = await scene.volumesIn('moves');
  const same = { op: 'create', name: 'unshown', in: 'moves', mib: 40 } as const;
  const noGroup = /^VolumeGroupMissing: there is no volume group moves on this node\./;
  const unread = /^VolumeGroupMissing: the volume \S+ may be in moves, which cannot be read\./;
  const isAway = async () => {
    await driver.refused(same, 'UNAVAILABLE', noGroup);
    await driver.refused({ op: 'publish', id: idle, path: '/pods/x' }, 'UNAVAILABLE', unread);
    await driver.refused({ op: 'expand', id: idle, mib: 80 }, 'UNAVAILABLE', unread);
    await driver.refused({ op: 'delete', id: idle }, 'UNAVAILABLE', unread);
    const isRefused = async () =>
      (await driver.metric('quarry_device_class_refused', 'moves')) === 1;
    await until(isRefused, 'the class is refused');
  };
  await scene.sh('vgrename --quiet moves moved');
  await driver.look();
  await isAway();
  assert.equal(await scene.sh('cat /pods/shown/file'), 'shown\n');
  await scene.hide(shown, 'shown');
  assert.deepEqual(await scene.volumesIn('moved'), volumes);
  await driver.must({ op: 'stop' });
  await driver.must({ op: 'start' });
  await isAway();

  const file = '/etc/topolvm/lvmd.yaml';
  await scene.sh(`sed -i 's/volume-group: moves/volume-group: moved/' ${file}`);
  await until(async () => (await driver.list()).includes(idle), 'the new name is in force');
  await scene.holds(idle, 'unshown');
  await scene.hide(idle, 'unshown');
  await scene.sh('vgrename --quiet moved moves');
  await driver.look();
  assert.ok(!(await driver.list()).includes(idle));
  await scene.sh(`sed -i 's/volume-group: moved/volume-group: moves/' ${file}`);
  await until(async () => (await driver.list()).includes(idle), 'the old name is in force');
  await scene.holds(shown, 'shown');
  await scene.holds(idle, 'unshown');
  assert.equal((await driver.must(same)).id, idle);
  assert.deepEqual(await scene.volumesIn('moves'), volumes);
});

test('every sentence of the guide was said', () => {
  const said = [...driver.said];
  const unsaid = [...sentencesOf()].filter(
    ([, pattern]) => !said.some((text) => pattern.test(text)),
  );
  assert.deepEqual(
    unsaid.map(([line]) => line),
    [],
  );
});
