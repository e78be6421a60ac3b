import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import test from 'node:test';
import { StandaloneScene, thick } from './standalone-scene.ts';

const wrong = '- {name: a, volume-group: nowhere, spare-gb: x}';

test('a file that cannot be read is told, and the host is asked for nothing', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.lacks = ['dmsetup', 'lvm'];
  await scene.write('device-classes: [');
  await assert.rejects(scene.start(), {
    code: 'InvalidConfiguration',
    message: /lvmd\.yaml cannot be used, and nothing is served yet:\n {2}.*lvmd\.yaml:\d+: /,
  });
  await rm(scene.file);
  await assert.rejects(scene.start(), { message: /the file is missing: write it/ });
  assert.deepEqual(scene.asked, []);
});

test('without a device mapper all that is wrong with the file is told, and what the host lacks', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.lacks = ['dmsetup'];
  await scene.write(scene.config(wrong));
  await assert.rejects(scene.start(), {
    code: 'InvalidConfiguration',
    message: /:3: .*spare-gb.*\n {2}.*"nowhere": there is no such volume group/,
  });
  assert.deepEqual(scene.asked, ['lvm'], 'for the groups alone');
  assert.equal(existsSync(scene.path('csi.sock')), false);
});

test('where nothing of the host can be asked the file is judged by itself', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.lacks = ['dmsetup', 'lvm'];
  await scene.write(scene.config(wrong));
  await assert.rejects(scene.start(), ({ code, message }) => {
    assert.equal(code, 'InvalidConfiguration');
    assert.match(message, /:3: .*spare-gb/);
    assert.doesNotMatch(message, /device-mapper/);
    return true;
  });
  // One class is right: only the host could tell if it has volumes that need it.
  await scene.write(scene.config(thick, wrong));
  await assert.rejects(scene.start(), {
    code: 'InvalidConfiguration',
    message: /:4: .*spare-gb.*\n {2}this host cannot be used either: .*device-mapper/,
  });
});

test('a group that is missing is told before a device mapper that is', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.lacks = ['dmsetup'];
  await scene.write(scene.config('- {name: a, volume-group: nowhere}'));
  await assert.rejects(scene.start(), {
    code: 'InvalidConfiguration',
    message: /"nowhere": there is no such volume group.*\n {2}this host cannot.*device-mapper/,
  });
});

test('with a good file what the host lacks is the failure', async (t) => {
  const scene = await StandaloneScene.begin(t);
  scene.lacks = ['dmsetup'];
  await scene.write(scene.config(thick));
  await assert.rejects(scene.start(), {
    code: 'DeviceMapperMissing',
    message: /^dmsetup .*device-mapper/,
  });
  await assert.rejects(scene.start(), (error: Error) => !error.message.includes('lvmd.yaml'));
});

test('where volumes are served a bad file is told, but the host decides about the exit code', async (t) => {
  const scene = await StandaloneScene.begin(t);
  await scene.write(scene.config(thick));
  await scene.start();
  assert.equal(await scene.make(scene.client(t), 'u1', 'thick'), 'made');
  await scene.write('device-classes: [');
  scene.lacks = ['dmsetup', 'lvm'];
  await assert.rejects(scene.start(), {
    code: 'DeviceMapperMissing',
    message: /lvmd\.yaml:\d+: .*\n {2}this host cannot be used either: .*device-mapper/,
  });
  scene.lacks = [];
  await scene.start();
  assert.deepEqual(scene.classes(), ['thick']);
});
