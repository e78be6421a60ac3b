import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import test from 'node:test';
import { IdentityDefinition } from '../../src/csi/generated/csi.ts';
import { LVServiceDefinition } from '../../src/csi/generated/lvmd.ts';
import { makeDevices } from '../world/devices.ts';
import { StandaloneScene, thick, thin } from './standalone-scene.ts';

const broken = 'device-classes: [';

for (const [how, edit] of [
  ['written over', 'write'],
  ['replaced by a rename', 'replace'],
  ['swapped behind a link', 'swap'],
] as const) {
  test(`a file that is ${how} takes effect in place`, async (t) => {
    const scene = await StandaloneScene.begin(t);
    await scene[edit](scene.config(thick));
    await scene.start();
    const client = scene.client(t);
    assert.match(await scene.make(client, 'u1', 'thin'), /^NOT_FOUND/);
    await scene[edit](scene.config(thick, thin));
    await scene.until(() => scene.classes().length === 2);
    assert.equal(await scene.make(client, 'u1', 'thin'), 'made', 'on the same connection');
    await scene[edit](broken);
    await scene.until(() => scene.standalone.configuration.state.state === 'stale');
    assert.equal(await scene.make(client, 'u2', 'thin'), 'made');
    await scene[edit](scene.config(thin));
    await scene.until(() => scene.standalone.configuration.state.state === 'good');
    assert.deepEqual(scene.classes(), ['thin']);
  });
}

test('a bad edit is told once, and what was good stays in force', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  scene.log.length = 0;
  await scene.write(scene.config(thick, '- {name: new, volume-group: nowhere}'));
  await scene.until(() => scene.standalone.configuration.state.state === 'stale');
  for (let nth = 0; nth < 3; nth += 1) await scene.standalone.engine.observe();
  await scene.standalone.configuration.reread();
  const told = scene.log.filter(({ message }) => message.includes('cannot be used'));
  assert.equal(told.length, 1);
  assert.match(
    String(told[0]?.['problems']),
    /lvmd.yaml:4: .*"nowhere": there is no such volume group/,
  );
  assert.deepEqual(scene.classes(), ['thick']);
  const { problems } = scene.standalone.configuration.state;
  assert.equal(problems.length, 1);
});

test('a group that somebody creates later is taken up without another edit', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  const late = '- {name: late, volume-group: late, spare-gb: 0}';
  await scene.write(scene.config(thick, late));
  await scene.until(() => scene.standalone.configuration.state.state === 'stale');
  const { world } = scene.stage;
  const [spare] = makeDevices([{ path: '/dev/sdx', sizeBytes: 1n << 30n }], world.chance);
  assert.ok(spare !== undefined);
  world.machine.devices.push(spare);
  world.admin.run('lvm', 'vgcreate', '--yes', 'late', '/dev/sdx');
  await scene.standalone.engine.observe();
  await scene.until(() => scene.standalone.configuration.state.state === 'good');
  assert.equal(await scene.make(scene.client(t), 'u1', 'late'), 'made');
});

test('where nothing is used a bad file stops the start, all of it told, and no socket appears', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(
    scene.config(
      '- {name: a, volume-group: nowhere, spare-gb: x}',
      '- {name: b, volume-group: none}',
    ),
  );
  await assert.rejects(scene.start(), {
    code: 'InvalidConfiguration',
    message:
      /nothing is served yet:\n {2}.*:3: .*spare-gb.*\n {2}.*"nowhere": there is no such.*\n {2}.*:4: .*"none": there is no such/,
  });
  assert.equal(existsSync(scene.path('csi.sock')), false);
  await rm(scene.file);
  await assert.rejects(scene.start(), { message: /the file is missing: write it/ });
});

test('with volumes in use a broken file changes nothing, across restarts', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick, thin));
  await scene.start();
  assert.equal(await scene.make(scene.client(t), 'u1', 'thick'), 'made');
  await scene.write(broken);
  for (let life = 0; life < 2; life += 1) {
    await scene.start();
    assert.deepEqual(scene.classes(), ['thick', 'thin']);
    assert.equal(scene.standalone.configuration.state.state, 'stale');
    assert.equal(await scene.make(scene.client(t), `life-${life}`, 'thin'), 'made');
  }
  await scene.write(scene.config(thick));
  await scene.start();
  assert.deepEqual(scene.classes(), ['thick', 'thin'], 'thin is kept for its volumes');
});

test('a class that leaves the file keeps its volumes, takes no new ones, and goes with its last', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick, thin));
  await scene.start();
  const client = scene.client(t);
  assert.equal(await scene.make(client, 'u1', 'thin'), 'made');
  await scene.write(scene.config(thick));
  await scene.until(() => scene.standalone.configuration.state.refused.length === 1);
  assert.match(await scene.make(client, 'u2', 'thin'), /^RESOURCE_EXHAUSTED DeviceClassRefused/);
  await scene.start();
  assert.deepEqual(await scene.names(scene.client(t), 'thin'), ['u1'], 'also in the next life');
  const request = { name: 'u1', deviceClass: 'thin' };
  const patience = { timeoutMs: 10_000 };
  const gone = await scene.client(t).call(LVServiceDefinition, 'removeLV', request, patience);
  assert.equal(gone.kind, 'response');
  await scene.until(() => scene.classes().length === 1);
});

test('a new socket-name is served before the old one goes, and a bad one changes nothing', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  const client = scene.client(t);
  assert.equal(await scene.make(client, 'u1', 'thick'), 'made');
  await scene.write(scene.configOn('moved.sock', thick));
  await scene.until(
    () => existsSync(scene.path('moved.sock')) && !existsSync(scene.path('lvmd.sock')),
  );
  assert.deepEqual(await scene.names(scene.client(t, 'moved.sock'), 'thick'), ['u1']);
  await scene.write(scene.configOn('csi.sock', thick));
  await scene.until(() => scene.log.some(({ message }) => message.startsWith('lvmd stays on')));
  assert.deepEqual(await scene.names(scene.client(t, 'moved.sock'), 'thick'), ['u1']);
});

test('what is kept for the next life is private to root and complete', async (t) => {
  const scene = await StandaloneScene.begin(t);
  const text = scene.config(thick);
  await scene.write(text);
  await scene.start();
  const stored = JSON.parse(
    readFileSync(scene.path('state/configuration.json'), 'utf8'),
  ) as unknown;
  assert.deepEqual(stored, { text, retired: [] });
});

test('a state directory that cannot be used is told, and stops nothing', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await writeFile(scene.path('state'), 'no directory');
  await scene.start();
  assert.ok(scene.log.some(({ message }) => message.includes('last good configuration')));
  assert.deepEqual(scene.classes(), ['thick']);
});

test('the version is the same on the socket, in the metrics and under /status', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.version = '4.5.6-x';
  await scene.write(scene.config(thick));
  await scene.start();
  const client = scene.client(t, 'csi.sock');
  const info = await client.call(IdentityDefinition, 'getPluginInfo', {}, { timeoutMs: 10_000 });
  assert.ok(info.kind === 'response');
  assert.equal(info.response.vendorVersion, '4.5.6-x');
  assert.match(await scene.page('/metrics'), /^quarry_build_info\{version="4\.5\.6-x"\} 1$/m);
  assert.match(await scene.page('/status'), /"version": "4\.5\.6-x"/);
});
