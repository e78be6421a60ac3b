import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainDisks } from './devices.ts';
import { type Strand, strandsOf } from './model.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

/** Where real LVM put every extent when the same commands were run on three disks of 1 GiB. */
test('extents lie where LVM puts them, before and after a device is emptied', () => {
  const world = fakeWorld({ seed: 1, devices: plainDisks(3) });
  const lvm = (line: string) => world.admin.run('lvm', ...line.split(' '));
  lvm('vgcreate --metadatasize 16777216b vg1 /dev/sda /dev/sdb /dev/sdc');
  lvm('lvcreate --yes --type thin-pool --size 100m --poolmetadatasize 8m --name pool vg1');
  lvm('lvcreate --yes --type linear --size 100m --name lin vg1');
  lvm('lvcreate --yes --snapshot --size 24m --name lins vg1/lin');
  lvm('lvcreate --yes --snapshot --size 216m --name linb vg1/lin');
  lvm('lvcreate --yes --type raid1 --mirrors 1 --size 100m --name r1 vg1');
  lvm('lvcreate --yes --type striped --stripes 2 --size 100m --name s2 vg1');
  lvm('lvextend --size 200m vg1/s2');
  lvm('lvextend --size 904m vg1/lins');
  lvm('lvextend --poolmetadatasize 12m vg1/pool');
  lvm('lvextend --size 200m vg1/pool');
  assert.deepEqual(places(world), {
    lin: '25@a27',
    linb: '26@a58',
    lins: '6@a52 20@a135',
    lvol0_pmspare: '2@a0 1@a155',
    pool_tdata: '25@a2 25@a156',
    pool_tmeta: '3@c0',
    r1_rimage_0: '25@a85',
    r1_rimage_1: '25@b1',
    r1_rmeta_0: '1@a84',
    r1_rmeta_1: '1@b0',
    s2: '50@a110,b26',
  });
  lvm('lvchange --activate n vg1/lin');
  lvm('lvextend --size 200m vg1/lin');
  lvm('lvremove --yes vg1/lins');
  lvm('lvremove --yes vg1/r1');
  lvm('pvmove --interval 1 /dev/sda');
  assert.deepEqual(places(world), {
    lin: '25@b0 25@b51',
    linb: '26@b76',
    lvol0_pmspare: '2@c28 1@b25',
    pool_tdata: '50@b102',
    pool_tmeta: '3@c0',
    s2: '50@c3,b26',
  });
});

test('a RAID never has two parts on one device, not even in different stretches', () => {
  const world = fakeWorld({ seed: 1, devices: plainDisks(3) });
  const lvm = (line: string) => world.admin.run('lvm', ...line.split(' '));
  lvm('vgcreate --metadatasize 16777216b vg1 /dev/sda /dev/sdb /dev/sdc');
  lvm('lvcreate --yes --type linear --size 604m --name fa vg1 /dev/sda');
  lvm('lvcreate --yes --type linear --size 204m --name fc vg1 /dev/sdc');
  assert.throws(
    () => lvm('lvcreate --yes --type raid1 --mirrors 1 --size 960m --name r1 vg1'),
    /LV vg1\/r1_rimage_1 using PV \/dev\/sdb is not redundant/,
  );
});

function places(world: FakeWorld): Readonly<Record<string, string>> {
  const vg = world.vg('vg1');
  assert.ok(vg !== undefined);
  const named = vg.lvs.flatMap((lv) =>
    strandsOf(lv).map(({ suffix, strand }) => [`${lv.name}${suffix}`, placeOf(strand)] as const),
  );
  const spare = vg.spare === undefined ? [] : [['lvol0_pmspare', placeOf(vg.spare)] as const];
  return Object.fromEntries([...named, ...spare].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function placeOf({ segments }: Strand): string {
  return segments
    .map(({ length, areas }) => {
      const at = areas.map(({ pv, extent }) => `${pv.device.at(-1)}${extent}`);
      return `${length}@${at.join(',')}`;
    })
    .join(' ');
}
