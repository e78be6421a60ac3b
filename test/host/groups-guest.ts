import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { GroupControllerDefinition } from '../../src/csi/generated/csi.ts';
import { answered, GuestDriver, type NewVolume, patience } from './guest-driver.ts';

/**
 * Runs in a guest with a volume group `data`, a pool and an lvmd.yaml: somebody writes a counter to
 * three volumes in turn while group snapshots are taken of them, and the driver is killed.
 */
const kills = Number(process.argv[2] ?? '6');
let frozenAtDeath = 0;
let leftFrozen = 0;
const driver = new GuestDriver();
await driver.mustStart();

const volumes: readonly NewVolume[] = [
  { name: 'db', in: 'thin', use: 'ext4', mib: 64 },
  { name: 'log', in: 'thin', use: 'xfs', mib: 320 },
  { name: 'thick', in: 'thick', use: 'ext4', mib: 64 },
];

const ids: string[] = [];
for (const volume of volumes) {
  const id = await driver.made(volume);
  await answered(driver.publish(id, `/pods/${volume.name}`, volume.use));
  ids.push(id);
}
// Written over in place: a file that is emptied first would have moments without a number.
const writer = spawn('sh', [
  '-c',
  'i=0; while :; do i=$((i+1)); for v in db log thick; do echo $i 1<> /pods/$v/n; done; done',
]);

try {
  const group = await must({ name: 'g0', sourceVolumeIds: ids });
  const snapshots = group.groupSnapshot?.snapshots ?? [];
  const counters: number[] = [];
  for (const [index, volume] of volumes.entries()) {
    const snapshot = snapshots.find(({ sourceVolumeId }) => sourceVolumeId === ids[index]);
    counters.push(await counterIn(volume, snapshot?.snapshotId ?? ''));
  }
  await removeGroup(group.groupSnapshot?.groupSnapshotId ?? '');
  for (let kill = 0; kill < kills; kill += 1) frozenAtDeath += await killDuring(kill);
  const unknown = { name: 'x', sourceVolumeIds: [...ids, 'no'] };
  const refused = await take(unknown);
  assert.ok(refused.kind === 'failed');
  writer.kill('SIGKILL');
  for (const [index, { name }] of volumes.entries())
    await driver.discard(ids[index] ?? '', `/pods/${name}`);
  const left = execFileSync('lvm', ['lvs', '--noheadings', '-o', 'lv_name', 'data']).toString();
  console.log(
    JSON.stringify({
      ...{ counters, frozenAtDeath, leftFrozen, kills },
      ...{ left: left.trim(), refused: refused.code },
    }),
  );
} finally {
  writer.kill('SIGKILL');
  await driver.end('SIGKILL');
}
process.exit(0);

/**
 * Kills the driver at some moment of the call; every other time with all it started, as a container
 * is killed. Who writes goes on, then when we live again, and the same request succeeds.
 */
async function killDuring(nth: number): Promise<number> {
  const request = { name: `k${nth}`, sourceVolumeIds: ids };
  const call = take(request);
  for (let tries = 0; tries < 1_000 && !isHeldFrozen(); tries += 1) await sleep(10);
  await sleep(nth * 100);
  const isFrozen = isHeldFrozen();
  const isWhole = nth % 2 === 1;
  if (isWhole) {
    driver.signal('SIGSTOP');
    spawnSync('pkill', ['-KILL', '-f', 'quarry-freeze']);
  }
  await driver.end('SIGKILL');
  await call;
  if (!isWhole) await goesOn();
  else if (await isStill()) leftFrozen += 1;
  await driver.mustStart();
  await goesOn();
  const { groupSnapshot } = await must(request);
  assert.equal(groupSnapshot?.snapshots.length, ids.length);
  assert.equal(groupSnapshot?.readyToUse, true);
  const listed = await answered(driver.controller('listSnapshots', {}));
  assert.equal(listed.entries.length, ids.length, 'nothing of the cut-off call is left');
  await removeGroup(groupSnapshot?.groupSnapshotId ?? '');
  return isFrozen ? 1 : 0;
}

async function goesOn(): Promise<void> {
  const before = readFileSync('/pods/db/n', 'utf8');
  for (let tries = 0; readFileSync('/pods/db/n', 'utf8') === before; tries += 1) {
    assert.ok(tries < 100, 'a file system stays frozen');
    await sleep(100);
  }
}

async function isStill(): Promise<boolean> {
  const before = readFileSync('/pods/db/n', 'utf8');
  await sleep(1_000);
  return readFileSync('/pods/db/n', 'utf8') === before;
}

function isHeldFrozen(): boolean {
  return spawnSync('pgrep', ['-f', 'quarry-freeze']).status === 0;
}

async function counterIn(volume: NewVolume, snapshotId: string): Promise<number> {
  const name = `${volume.name}-copy`;
  const copy = await driver.made({ ...volume, name, from: { snapshotId } });
  const path = `/pods/${name}`;
  await answered(driver.publish(copy, path, volume.use));
  const counter = Number(readFileSync(`${path}/n`, 'utf8'));
  await driver.discard(copy, path);
  return counter;
}

async function removeGroup(groupSnapshotId: string): Promise<void> {
  const request = { groupSnapshotId };
  const method = 'deleteVolumeGroupSnapshot';
  await answered(driver.csi.call(GroupControllerDefinition, method, request, patience));
}

type GroupRequest = { readonly name: string; readonly sourceVolumeIds: readonly string[] };

function take(request: GroupRequest) {
  const method = 'createVolumeGroupSnapshot';
  return driver.csi.call(GroupControllerDefinition, method, request, patience);
}

function must(request: GroupRequest) {
  return answered(take(request));
}
