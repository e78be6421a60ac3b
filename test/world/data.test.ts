import assert from 'node:assert/strict';
import { test } from 'node:test';
import { plainDisks } from './devices.ts';
import type { Lv } from './model.ts';
import { lvFields } from './reports/fields.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

const mib = 1024 ** 2;

test('thin snapshots share blocks until one side is written', () => {
  const world = withPool('40m');
  const t1 = thin(world, 't1', '100m');
  assert.equal(world.write(t1, 0, 8 * mib), undefined);
  assert.equal(field(world, 'pool', 'data_percent'), '20.00');
  lvm(world, 'lvcreate --yes --snapshot --name s1 --setactivationskip n vg1/t1');
  const s1 = lv(world, 's1');
  assert.equal(field(world, 'pool', 'data_percent'), '20.00');
  assert.equal(field(world, 's1', 'data_percent'), '8.00');
  assert.equal(world.holdsSame(s1, t1), true);
  world.write(t1, 0, 4 * mib);
  assert.equal(field(world, 'pool', 'data_percent'), '30.00');
  assert.equal(world.holdsSame(s1, t1), false);
  world.write(t1, 0, 4 * mib);
  assert.equal(field(world, 'pool', 'data_percent'), '30.00');
  lvm(world, 'lvremove --yes vg1/s1');
  assert.equal(field(world, 'pool', 'data_percent'), '20.00');
});

test('a full pool refuses writes and says so until it is grown', () => {
  const world = withPool('40m');
  const t1 = thin(world, 't1', '100m');
  assert.equal(world.write(t1, 0, 40 * mib), undefined);
  assert.equal(field(world, 'pool', 'lv_health_status'), '');
  assert.equal(world.write(t1, 40 * mib, mib), 'No space left on device');
  assert.equal(field(world, 'pool', 'lv_health_status'), 'out_of_data');
  assert.equal(field(world, 'pool', 'lv_attr'), 'twi-aotzD-');
  lvm(world, 'lvextend --size 80m vg1/pool');
  assert.equal(field(world, 'pool', 'lv_health_status'), '');
  assert.equal(world.write(t1, 40 * mib, mib), undefined);
});

test('a copy-on-write snapshot keeps what its origin held, until it overflows', () => {
  const world = withGroup();
  lvm(world, 'lvcreate --yes --type linear --size 40m --name o vg1');
  const origin = lv(world, 'o');
  world.write(origin, 0, 2 * mib);
  lvm(world, 'lvcreate --yes --snapshot --size 4m --name s --permission r vg1/o');
  const snapshot = lv(world, 's');
  assert.equal(field(world, 's', 'data_percent'), '0.00');
  world.write(origin, 0, mib);
  assert.equal(world.holdsSame(snapshot, origin), false);
  assert.equal(field(world, 's', 'lv_attr'), 'sri-a-s---');
  world.write(origin, 4 * mib, 20 * mib);
  assert.equal(field(world, 's', 'lv_attr'), 'sri-I-s---');
  assert.equal(field(world, 's', 'data_percent'), '100.00');
});

test('dd copies data, holes and file systems from a snapshot', () => {
  const world = withGroup();
  lvm(world, 'lvcreate --yes --type linear --size 40m --name o vg1');
  world.admin.mkfs('/dev/vg1/o', 'xfs');
  world.write(lv(world, 'o'), 8 * mib, 4 * mib);
  lvm(world, 'lvcreate --yes --snapshot --size 40m --name s --permission r vg1/o');
  lvm(world, 'lvcreate --yes --type linear --size 40m --name c vg1');
  world.write(lv(world, 'c'), 20 * mib, mib);
  const copy = (from: number, length: number) =>
    world.admin.run(
      ...['dd', 'if=/dev/mapper/vg1-s', 'of=/dev/mapper/vg1-c', 'bs=4M'],
      ...[`skip=${from * mib}`, `seek=${from * mib}`, `count=${length * mib}`],
    );
  copy(0, 10);
  assert.equal(world.holdsSame(lv(world, 's'), lv(world, 'c')), false);
  copy(10, 30);
  assert.equal(world.holdsSame(lv(world, 's'), lv(world, 'c')), true);
  assert.deepEqual(
    lv(world, 'c').content.signatures.map(({ type }) => type),
    ['xfs'],
  );
});

test('what is destroyed is remembered with what it held', () => {
  const world = withGroup();
  world.admin.mkfs('/dev/sdc');
  world.admin.run('wipefs', '--all', '/dev/sdc');
  lvm(world, 'lvcreate --yes --type linear --size 40m --name empty --addtag quarry vg1');
  lvm(world, 'lvremove --yes vg1/empty');
  assert.deepEqual(
    world.destroyed.map(({ deed, what, heldData, tags }) => ({ deed, what, heldData, tags })),
    [
      { deed: 'wipefs', what: '/dev/sdc', heldData: true, tags: [] },
      { deed: 'lvremove', what: 'vg1/empty', heldData: false, tags: ['quarry'] },
    ],
  );
});

test('a volume that is mounted is neither removed nor put to sleep', () => {
  const world = withGroup();
  lvm(world, 'lvcreate --yes --type linear --size 40m --name v vg1');
  world.admin.mount('/dev/vg1/v', '/mnt');
  assert.throws(() => lvm(world, 'lvremove --yes vg1/v'), /contains a filesystem in use/);
  assert.throws(() => lvm(world, 'lvchange --activate n vg1/v'), /in use/);
  world.admin.unmount('/mnt');
  lvm(world, 'lvremove --yes vg1/v');
});

function withGroup(): FakeWorld {
  const world = fakeWorld({ seed: 5, devices: plainDisks(3) });
  lvm(world, 'vgcreate --metadatasize 16777216b vg1 /dev/sda /dev/sdb');
  return world;
}

function withPool(size: string): FakeWorld {
  const world = withGroup();
  const options = '--chunksize 128k --poolmetadatasize 4m --name pool vg1';
  lvm(world, `lvcreate --yes --type thin-pool --size ${size} ${options}`);
  return world;
}

function thin(world: FakeWorld, name: string, size: string): Lv {
  lvm(world, `lvcreate --yes --type thin --virtualsize ${size} --thinpool pool --name ${name} vg1`);
  return lv(world, name);
}

function lv(world: FakeWorld, name: string): Lv {
  const found = world.lv('vg1', name);
  assert.ok(found !== undefined, `there is no ${name}`);
  return found;
}

function field(world: FakeWorld, name: string, key: string): string {
  return lvFields[key]?.(world.machine, lv(world, name)) ?? '';
}

function lvm(world: FakeWorld, line: string): void {
  world.admin.run('lvm', ...line.split(' '));
}
