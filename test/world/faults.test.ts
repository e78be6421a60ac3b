import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperationError } from '../../src/base/failures.ts';
import type { Command, CommandResult } from '../../src/lvm/command.ts';
import { lookHost, lookMapped, probeBlkid, resumeDevice } from '../../src/lvm/looks.ts';
import { parseHost } from '../../src/lvm/report.ts';
import type { FakeHost } from './fake-host.ts';
import { type FakeWorld, fakeWorld } from './world.ts';

const create = change(
  'lvm lvcreate --yes --type linear --wipesignatures y --zero y --size 20m --name v vg1',
);
const extend = change('lvm lvextend --size 40m vg1/v');

test('a command that fails does nothing', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'fail' });
  const failed = await run(world, host, create);
  assert.equal(failed.exitCode, 5);
  assert.notEqual(failed.stderr, '');
  assert.equal(world.lv('vg1', 'v'), undefined);
  assert.equal((await run(world, host, create)).exitCode, 0);
});

test('a slow command takes its time and no more', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'slow', ms: 60_000 });
  const result = await run(world, host, create);
  assert.ok(result.durationMs >= 60_000 && result.durationMs < 61_000);
});

test('an aborted change goes on; only the wait ends', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'slow', ms: 10_000 });
  const patience = new AbortController();
  const running = host.start(create, patience.signal);
  await world.clock.advance(100);
  patience.abort();
  await assert.rejects(
    world.clock.run(running.result),
    (error) => error instanceof OperationError && error.code === 'Cancelled',
  );
  assert.equal(world.lv('vg1', 'v'), undefined);
  await world.clock.run(running.gone);
  assert.notEqual(world.lv('vg1', 'v'), undefined);
});

test('a change that nobody waits for from the start is made all the same', async () => {
  const { world, host } = setUp();
  const running = host.start(create, AbortSignal.abort());
  await assert.rejects(running.result, OperationError);
  await world.clock.run(running.gone);
  assert.notEqual(world.lv('vg1', 'v'), undefined);
});

test('a program that is not there cannot be started', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'absent' });
  const running = host.start(create);
  await assert.rejects(
    running.result,
    (error) => error instanceof OperationError && error.code === 'CommandNotFound',
  );
  await running.gone;
});

test('a look that was killed while it waited for a lock blocks nobody', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'slow', ms: 5_000 });
  const first = host.start(create);
  await world.clock.advance(1);
  const patience = new AbortController();
  const waiting = host.start(lookHost, patience.signal);
  await world.clock.advance(10);
  patience.abort();
  await assert.rejects(world.clock.run(waiting.result), OperationError);
  await world.clock.run(first.gone);
  assert.equal((await run(world, host, extend)).exitCode, 0);
});

test('an aborted look is killed and gone soon', async () => {
  const { world, host } = setUp();
  world.faults.next('fullreport', { kind: 'hang' });
  const patience = new AbortController();
  const running = host.start(lookHost, patience.signal);
  patience.abort();
  await assert.rejects(world.clock.run(running.result), OperationError);
  await world.clock.run(running.gone, 10_000);
});

test('a deadline passes on the fake clock', async () => {
  const { world, host } = setUp();
  world.faults.next('fullreport', { kind: 'hang' });
  const before = world.clock.nowMs();
  await assert.rejects(
    world.clock.run(host.start(lookHost).result),
    (error) => error instanceof OperationError && error.code === 'CommandTimedOut',
  );
  assert.equal(world.clock.nowMs() - before, lookHost.timeoutMs);
});

test('a volume whose activation failed exists, asleep, with its tags', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'mishap', mishap: 'activation-fails' });
  assert.equal((await run(world, host, create)).exitCode, 5);
  const [lv] = (await look(world, host)).vgs[0]?.lvs ?? [];
  assert.equal(lv?.name, 'v');
  assert.equal(lv?.isActive, false);
});

test('a thin pool that was not finished leaves its metadata under its name', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'mishap', mishap: 'left-plain' });
  const words = 'lvm lvcreate --yes --type thin-pool --size 64m --poolmetadatasize 8m';
  const pool = change(`${words} --addtag mine --name pool vg1`);
  assert.equal((await run(world, host, pool)).exitCode, 5);
  const lvs = (await look(world, host)).vgs[0]?.lvs.filter((lv) => !lv.isInternal) ?? [];
  assert.deepEqual(
    lvs.map(({ name, kind, sizeBytes, tags }) => [name, kind, sizeBytes, tags]),
    [['pool', 'linear', 8n * 1024n * 1024n, ['mine']]],
  );
});

test('its spare copy is left without a name, and tells on which host it was made', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'mishap', mishap: 'left-unnamed' });
  const words = 'lvm lvcreate --yes --type thin-pool --size 64m --poolmetadatasize 8m';
  const pool = change(`${words} --addtag mine --name pool vg1`);
  await run(world, host, { ...pool, hostName: 'quarry.pool.pool' });
  const lvs = (await look(world, host)).vgs[0]?.lvs.filter((lv) => !lv.isInternal) ?? [];
  assert.deepEqual(
    lvs.map(({ name, kind, sizeBytes, tags, madeFor }) => [name, kind, sizeBytes, tags, madeFor]),
    [['lvol0', 'linear', 8n * 1024n * 1024n, [], 'pool']],
  );
  assert.equal(world.machine.hostName, 'n1');
});

test('a group that was not finished leaves labelled orphans', async () => {
  const { world, host } = setUp();
  world.faults.next('vgcreate', { kind: 'mishap', mishap: 'dies-after-labels' });
  const command = change('lvm vgcreate --metadatasize 16777216b vg2 /dev/sdc /dev/sdd');
  assert.equal((await run(world, host, command)).exitCode, 5);
  const host2 = await look(world, host);
  assert.deepEqual(
    host2.orphanPvs.map((pv) => pv.device),
    ['/dev/sdc', '/dev/sdd'],
  );
  assert.equal((await run(world, host, command)).exitCode, 0);
});

test('I/O to a volume left suspended waits until it is resumed', async () => {
  const { world, host } = setUp();
  await run(world, host, create);
  world.faults.next('lvextend', { kind: 'killed', when: 'after', mishap: 'left-suspended' });
  const killed = await run(world, host, extend);
  assert.equal(killed.exitCode, undefined);
  assert.equal(killed.signal, 'SIGKILL');
  const suspended = await run(world, host, lookMapped);
  assert.match(suspended.stdout, /^vg1-v:LVM-\w{64}:Suspended$/m);
  const probe = host.start(probeBlkid('/dev/mapper/vg1-v'));
  await world.clock.advance(30_000);
  await run(world, host, resumeDevice('vg1-v'));
  assert.equal((await world.clock.run(probe.result)).exitCode, 2);
  assert.equal(world.lv('vg1', 'v')?.activeExtents, 10);
});

test('a process that dies hears nothing more, and what it started goes on', async () => {
  for (const when of ['before', 'during', 'after'] as const) {
    const { world, host } = setUp();
    world.faults.next('lvcreate', { kind: 'crash', when });
    let isSettled = false;
    void host.start(create).result.finally(() => {
      isSettled = true;
    });
    await world.clock.advance(60_000);
    assert.equal(host.isDead, true, when);
    assert.equal(isSettled, false, when);
    assert.equal(world.lv('vg1', 'v') !== undefined, when !== 'before', when);
    const next = await look(world, world.host());
    assert.equal(next.vgs[0]?.lvs.length, when === 'before' ? 0 : 1);
  }
});

test('a device is emptied while others work; a killed move waits for the next one', async () => {
  const { world, host } = setUp();
  const move = change('lvm pvmove --interval 1 /dev/sda');
  await run(world, host, create);
  world.faults.next('pvmove', { kind: 'killed', when: 'after', mishap: 'left-moving' });
  assert.equal((await run(world, host, move)).signal, 'SIGKILL');
  const refused = await run(world, host, extend);
  assert.match(refused.stderr, /Can't resize locked logical volume vg1\/v\./);
  const moving = host.start(move);
  const other = change('lvm lvcreate --yes --type linear --size 20m --name w vg1');
  assert.equal((await run(world, host, other)).exitCode, 0);
  assert.equal((await world.clock.run(moving.result)).exitCode, 0);
  const [vg] = (await look(world, host)).vgs;
  assert.deepEqual(
    vg?.pvs.map((pv) => Number((pv.sizeBytes - pv.freeBytes) / 4_194_304n)),
    [5, 5],
  );
  assert.equal((await run(world, host, extend)).exitCode, 0);
});

test('a move that is killed says nothing more', async () => {
  const { world, host } = setUp();
  await run(world, host, create);
  const heard: string[] = [];
  const moving = host.start(change('lvm pvmove --interval 1 /dev/sda'), undefined, (text) =>
    heard.push(text),
  );
  for (let waits = 0; heard.length === 0 && waits < 200; waits += 1) await world.clock.advance(100);
  assert.equal(heard.length, 1);
  world.processes.killMoves();
  assert.equal((await world.clock.run(moving.result)).signal, 'SIGKILL');
  await world.clock.advance(60_000);
  assert.equal(heard.length, 1);
});

test('a power cut ends every command with or without its effect, never later', async () => {
  const outcomes = new Set<boolean>();
  for (let seed = 0; seed < 20; seed += 1) {
    const { world, host } = setUp(seed);
    world.faults.next('lvcreate', { kind: 'slow', ms: 10_000 });
    void host.start(create);
    await world.clock.advance(1_000);
    world.cutPower({ autoActivate: false });
    const isThere = world.lv('vg1', 'v') !== undefined;
    outcomes.add(isThere);
    assert.equal(world.lv('vg1', 'v')?.isActive ?? false, false);
    await world.clock.advance(60_000);
    assert.equal(world.lv('vg1', 'v') !== undefined, isThere, `SEED=${seed}`);
    assert.equal((await look(world, world.host())).vgs.length, 1);
  }
  assert.equal(outcomes.size, 2);
});

test('only what was flushed lives through a power cut for certain', async () => {
  const flushed = new Set<number>();
  const unflushed = new Set<number>();
  for (let seed = 0; seed < 20; seed += 1) {
    const world = fakeWorld({ seed, hasVolatileCaches: true });
    const host = world.host();
    const paths = ['/dev/sda', '/dev/sdb'];
    const group = change(`lvm vgcreate --metadatasize 16777216b vg1 ${paths.join(' ')}`);
    await run(world, host, group);
    await world.clock.run(host.flush(paths));
    await run(world, host, create);
    if (seed % 2 === 0) await world.clock.run(host.flush(paths));
    world.cutPower();
    const { vgs } = await look(world, world.host());
    (seed % 2 === 0 ? flushed : unflushed).add(vgs[0]?.lvs.length ?? -1);
  }
  assert.deepEqual([...flushed], [1]);
  assert.equal(unflushed.size, 2);
});

test('changes of one group wait for each other, and reports wait for changes', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'slow', ms: 5_000 });
  const first = host.start(create);
  await world.clock.advance(1);
  const second = host.start(change('lvm lvchange --addtag x vg1/v'));
  const report = host.start(lookHost);
  await world.clock.run(first.gone);
  assert.equal((await world.clock.run(second.result)).exitCode, 0);
  const [lv] = parseHost((await world.clock.run(report.result)).stdout).vgs[0]?.lvs ?? [];
  assert.equal(lv?.name, 'v');
});

test('a report can be cut off or be no report at all', async () => {
  const { world, host } = setUp();
  world.faults.next('fullreport', { kind: 'garbage' });
  const { stdout } = await run(world, host, lookHost);
  assert.throws(() => parseHost(stdout), OperationError);
});

test('a lock that cannot be had is an error with no effect', async () => {
  const { world, host } = setUp();
  world.faults.next('lvcreate', { kind: 'locked' });
  const result = await run(world, host, create);
  assert.equal(result.exitCode, 5);
  assert.match(result.stderr, /Can't get lock for vg1/);
  assert.equal(world.lv('vg1', 'v'), undefined);
});

test('what nobody understands ends with code 3 and is remembered', async () => {
  const { world, host } = setUp();
  const result = await run(world, host, change('mkfs.vfat /dev/sda'));
  assert.equal(result.exitCode, 3);
  assert.deepEqual(world.unknown, ['mkfs.vfat /dev/sda']);
});

function setUp(seed = 1): { readonly world: FakeWorld; readonly host: FakeHost } {
  const world = fakeWorld({ seed });
  world.admin.run(
    ...['lvm', 'vgcreate', '--metadatasize', '16777216b', 'vg1', '/dev/sda', '/dev/sdb'],
  );
  return { world, host: world.host() };
}

function run(world: FakeWorld, host: FakeHost, command: Command): Promise<CommandResult> {
  return world.clock.run(host.start(command).result);
}

async function look(world: FakeWorld, host: FakeHost) {
  return parseHost((await run(world, host, lookHost)).stdout);
}

function change(line: string): Command {
  const argv = line.split(' ') as [string, ...string[]];
  return { argv, effect: 'changes', timeoutMs: 120_000 };
}
