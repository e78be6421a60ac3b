import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { limits } from '../base/limits.ts';
import { DeviceWatch } from './device-watch.ts';

const kindsText =
  'Character devices:\n  1 mem\n\nBlock devices:\n  7 loop\n  8 sd\n253 device-mapper\n';

async function watched(t: TestContext) {
  const root = await mkdtemp(join(tmpdir(), 'quarry-udev-'));
  const [directory, kinds] = [join(root, 'data'), join(root, 'devices')];
  await mkdir(directory);
  await writeFile(kinds, kindsText);
  let told = 0;
  const watch = new DeviceWatch(
    () => {
      told += 1;
    },
    { directory, kinds },
  );
  t.after(async () => {
    watch.stop();
    await rm(root, { recursive: true });
  });
  /** As udev does it: beside, and moved into its place. */
  const note = async (name: string) => {
    await writeFile(join(directory, `.#${name}`), 'S:disk/by-id/x\n');
    await rename(join(directory, `.#${name}`), join(directory, name));
  };
  const until = async (count: number) => {
    for (let turn = 0; told < count && turn < 200; turn += 1) await sleep(50);
    assert.equal(told, count);
  };
  const calm = () => sleep(limits.deviceSettleMs + 300);
  return { directory, watch, note, until, calm, told: () => told };
}

test('a disk that comes or goes is told, once', async (t) => {
  const { directory, watch, note, until } = await watched(t);
  await note('b8:0');
  watch.start();
  await note('b8:16');
  await note('b8:17');
  await until(1);
  await rm(join(directory, 'b8:16'));
  await until(2);
});

test('volumes, loops, and disks that are written to are not told', async (t) => {
  const { watch, note, until, calm, told } = await watched(t);
  await note('b8:0');
  watch.start();
  for (const name of ['b253:4', 'b7:1', 'n2', 'b8:0', '+usb:1']) await note(name);
  await calm();
  assert.equal(told(), 0);
  await note('b8:32');
  await until(1);
});

test('a host without udev is no error', async (t) => {
  const { directory, watch } = await watched(t);
  await rm(directory, { recursive: true });
  watch.start();
  watch.stop();
});
