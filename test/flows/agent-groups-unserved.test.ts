import assert from 'node:assert/strict';
import test from 'node:test';
import { decodeLvmdFile } from '../../src/api/lvmd-file/decode.ts';
import { GroupScene } from './agent-groups-scene.ts';

const on = (disk: string) => ({ deviceSelector: { paths: [`/dev/${disk}`] } });
const badPool = { thinPoolConfig: { name: 'my pool', overprovisionRatio: 10 } };
const leave = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

function classesIn({ lvmd = '' }: GroupScene): readonly string[] {
  const decoded = decodeLvmdFile({ file: 'lvmd.yaml', text: lvmd, mayBeEmpty: true });
  assert.ok(decoded.kind === 'lvmd', lvmd);
  return decoded.spec.deviceClasses.map(({ name }) => name);
}

test('a class that lvmd.yaml cannot take keeps no other from being served or from leaving', async () => {
  const scene = new GroupScene();
  scene.group('vg3', on('sdb'));
  scene.start();
  await scene.until('ready', () => scene.isReady('vg3'));
  scene.group('vg1', { ...on('sdc'), ...badPool });
  await scene.until('told', () => scene.told('vg1')?.status === 'Failed');
  assert.match(scene.told('vg1')?.reason ?? '', /^thin pool vg1\/my pool: InvalidName: "my pool"/);
  const why = /^lvmd\.yaml: vg1 is left out of .*device-classes\[1\]\.thin-pool\.name is "my pool"/;
  assert.ok(scene.log.some(({ message }) => why.test(message)));
  scene.group('vg2', on('sda'));
  await scene.until('ready', () => scene.isReady('vg2'));
  assert.ok(scene.isReady('vg3'));
  assert.deepEqual(classesIn(scene), ['vg3', 'vg2']);
  scene.change('vg3', leave);
  await scene.until('gone', () => scene.object('vg3') === undefined);
  assert.equal(scene.stage.world.vg('vg3'), undefined);
  assert.deepEqual(classesIn(scene), ['vg2']);
  scene.change('vg1', leave);
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(classesIn(scene), ['vg2']);
});

test('a class whose group an administrator serves by another name is left out alone', async () => {
  const scene = new GroupScene();
  scene.lvmd = 'device-classes: [{name: ssd, volume-group: vg1}]';
  scene.group('vg1', on('sdb'));
  scene.group('vg2', on('sdc'));
  scene.start();
  await scene.until('ready', () => scene.isReady('vg2'));
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /^vg1 is left out of lvmd.yaml.*volume-group is/);
  assert.deepEqual(classesIn(scene), ['ssd', 'vg2']);
});

test('a class that is served stays as it was where what it shall become is wrong', async () => {
  const scene = new GroupScene();
  const thin = (overprovisionRatio: number) => ({
    ...{ ...on('sdb'), thinPoolConfig: { name: 'pool', overprovisionRatio } },
  });
  scene.group('vg1', thin(10));
  scene.group('vg2', on('sdc'));
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1') && scene.isReady('vg2'));
  scene.change('vg1', { spec: thin(2_000_000) });
  await scene.until('told', () => scene.told('vg1')?.status === 'Degraded');
  assert.match(scene.told('vg1')?.reason ?? '', /overprovision-ratio is 2000000: write a number/);
  assert.match(scene.lvmd ?? '', /overprovision-ratio: 10\n/);
  await scene.settle(40_000);
  assert.ok(scene.isReady('vg2'));
  scene.change('vg1', { spec: thin(20) });
  await scene.until('ready', () => scene.isReady('vg1'));
  assert.match(scene.lvmd ?? '', /overprovision-ratio: 20\n/);
});

test('in a file that somebody broke a class stays that stands in it, and one that does not goes', async () => {
  const scene = new GroupScene();
  scene.group('vg1', on('sdb'));
  scene.group('vg2', on('sdc'));
  scene.start();
  await scene.until('ready', () => scene.isReady('vg1') && scene.isReady('vg2'));
  const broken = 'device-classes: [{name: vg1, volume-group: vg1}, {name: mine}]';
  scene.lvmd = broken;
  scene.change('vg1', leave);
  scene.change('vg2', leave);
  await scene.until('gone', () => scene.object('vg2') === undefined);
  await scene.settle(40_000);
  assert.match(scene.told('vg1')?.reason ?? '', /lvmd\.yaml is left as it is.*volume-group/);
  assert.notEqual(scene.stage.world.vg('vg1'), undefined);
  assert.equal(scene.lvmd, broken);
  scene.lvmd = 'device-classes: [{name: vg1, volume-group: vg1}]';
  await scene.until('gone', () => scene.object('vg1') === undefined);
  assert.deepEqual(classesIn(scene), []);
});
