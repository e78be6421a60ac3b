import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';
import { SocketClient } from '../../src/csi/client.ts';
import {
  ControllerDefinition,
  GroupControllerDefinition,
  VolumeCapability_AccessMode_Mode as Mode,
  NodeDefinition,
} from '../../src/csi/generated/csi.ts';

/**
 * Runs in a guest with a volume group `data`, a pool and an lvmd.yaml: somebody writes a counter to
 * three volumes in turn while group snapshots are taken of them, and the driver is killed.
 */
const socket = '/run/topolvm/csi.sock';
const patience = { timeoutMs: 120_000 };
const kills = Number(process.argv[2] ?? '6');
let frozenAtDeath = 0;
let leftFrozen = 0;
let driver = await startDriver();
let client = new SocketClient(socket);

const volumes = [
  { name: 'db', className: 'thin', fsType: 'ext4', bytes: 64n * 1024n ** 2n },
  { name: 'log', className: 'thin', fsType: 'xfs', bytes: 320n * 1024n ** 2n },
  { name: 'thick', className: 'thick', fsType: 'ext4', bytes: 64n * 1024n ** 2n },
] as const;
type Kind = (typeof volumes)[number];

const ids: string[] = [];
for (const volume of volumes) {
  const id = await create(volume, volume.name);
  await publish(id, volume.fsType, `/pods/${volume.name}`);
  ids.push(id);
}
const writer = spawn('sh', [
  '-c',
  'i=0; while :; do i=$((i+1)); for v in db log thick; do echo $i > /pods/$v/n; done; done',
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
    await discard(ids[index] ?? '', `/pods/${name}`);
  const left = execFileSync('lvm', ['lvs', '--noheadings', '-o', 'lv_name', 'data']).toString();
  console.log(
    JSON.stringify({
      ...{ counters, frozenAtDeath, leftFrozen, kills },
      ...{ left: left.trim(), refused: refused.code },
    }),
  );
} finally {
  writer.kill('SIGKILL');
  driver.kill('SIGKILL');
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
    driver.kill('SIGSTOP');
    spawnSync('pkill', ['-KILL', '-f', 'quarry-freeze']);
  }
  driver.kill('SIGKILL');
  await once(driver, 'close');
  await call;
  client.close();
  if (!isWhole) await goesOn();
  else if (await isStill()) leftFrozen += 1;
  driver = await startDriver();
  client = new SocketClient(socket);
  await goesOn();
  const { groupSnapshot } = await must(request);
  assert.equal(groupSnapshot?.snapshots.length, ids.length);
  assert.equal(groupSnapshot?.readyToUse, true);
  const listed = await client.call(ControllerDefinition, 'listSnapshots', {}, patience);
  assert.ok(listed.kind === 'response');
  assert.equal(listed.response.entries.length, ids.length, 'nothing of the cut-off call is left');
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

async function counterIn(volume: Kind, snapshotId: string): Promise<number> {
  const copy = await create(volume, `${volume.name}-copy`, snapshotId);
  const path = `/pods/${volume.name}-copy`;
  await publish(copy, volume.fsType, path);
  const counter = Number(readFileSync(`${path}/n`, 'utf8'));
  await discard(copy, path);
  return counter;
}

async function create(volume: Kind, name: string, snapshotId?: string): Promise<string> {
  const { response } = await answered(
    client.call(
      ControllerDefinition,
      'createVolume',
      {
        name,
        capacityRange: { requiredBytes: volume.bytes },
        volumeCapabilities: [capability(volume.fsType)],
        parameters: new Map([['topolvm.io/device-class', volume.className]]),
        ...(snapshotId === undefined
          ? {}
          : { volumeContentSource: { type: { $case: 'snapshot', value: { snapshotId } } } }),
      },
      patience,
    ),
  );
  return response.volume?.volumeId ?? '';
}

async function publish(volumeId: string, fsType: string, targetPath: string): Promise<void> {
  const volumeCapability = capability(fsType);
  const request = { volumeId, targetPath, volumeCapability };
  await answered(client.call(NodeDefinition, 'nodePublishVolume', request, patience));
}

async function discard(volumeId: string, targetPath: string): Promise<void> {
  const shown = { volumeId, targetPath };
  await answered(client.call(NodeDefinition, 'nodeUnpublishVolume', shown, patience));
  await answered(client.call(ControllerDefinition, 'deleteVolume', { volumeId }, patience));
}

async function removeGroup(groupSnapshotId: string): Promise<void> {
  const request = { groupSnapshotId };
  const call = client.call(
    GroupControllerDefinition,
    'deleteVolumeGroupSnapshot',
    request,
    patience,
  );
  await answered(call);
}

type GroupRequest = { readonly name: string; readonly sourceVolumeIds: readonly string[] };

function take(request: GroupRequest) {
  return client.call(GroupControllerDefinition, 'createVolumeGroupSnapshot', request, patience);
}

async function must(request: GroupRequest) {
  return (await answered(take(request))).response;
}

async function answered<T extends { readonly kind: string }>(call: Promise<T>) {
  const result = await call;
  assert.equal(result.kind, 'response', inspect(result));
  return result as Extract<T, { kind: 'response' }>;
}

function capability(fsType: string) {
  return {
    accessType: { $case: 'mount', value: { fsType } },
    accessMode: { mode: Mode.SINGLE_NODE_WRITER },
  } as const;
}

async function startDriver(): Promise<ChildProcess> {
  const args = ['standalone', '--csi-socket', socket, '--metrics-address', '127.0.0.1:0'];
  const child = spawn('/quarry/bin/quarry', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  for (let tries = 0; tries < 300; tries += 1) {
    if (existsSync(socket)) {
      const probe = new SocketClient(socket);
      const { kind } = await probe.call(
        ControllerDefinition,
        'getCapacity',
        {},
        { timeoutMs: 2_000 },
      );
      probe.close();
      if (kind === 'response') return child;
    }
    await sleep(100);
  }
  throw new Error('the driver did not start');
}
