import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { GiB, type Guest, type Lab, startLab } from './index.ts';

let lab: Lab;
let guest: Guest;

before(async () => {
  const disks = [
    { name: 'one', sizeBytes: GiB },
    { name: 'two', sizeBytes: GiB },
  ];
  lab = await startLab({ guests: [{ name: 'n1', disks }, { name: 'n2' }] });
  guest = lab.guest('n1');
});

after(() => lab?.stop());

test('a guest tells how a command ended and keeps its streams apart', async () => {
  const result = await guest.run(['sh', '-c', 'cat; echo bad >&2; exit 3'], { stdin: 'grüße\n' });
  assert.equal(result.exitCode, 3);
  assert.equal(result.stdout, 'grüße\n');
  assert.equal(result.stderr, 'bad\n');
});

test('bytes survive the way in and out', async () => {
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => (index * 7) % 256));
  const result = await guest.run(['cat'], { stdin: bytes });
  assert.deepEqual(result.stdoutBytes, bytes);
});

test('commands run at the same time', async () => {
  const started = performance.now();
  await Promise.all(['a', 'b', 'c', 'd'].map(() => guest.run(['sleep', '1'])));
  assert.ok(performance.now() - started < 3000);
});

test('a program that does not exist is an error with its name', async () => {
  await assert.rejects(guest.run(['no-such-program']), /no-such-program ENOENT/);
});

test('a command that takes too long is killed with its children', async () => {
  const script = 'echo begun; sleep 4711 & wait';
  await assert.rejects(guest.run(['sh', '-c', script], { timeoutMs: 500 }), /no end after 500 ms/);
  const left = await guest.run(['pgrep', '-f', 'sleep 4711']);
  assert.equal(left.stdout, '');
});

test('an aborted command ends and says why', async () => {
  const abort = new AbortController();
  setTimeout(() => abort.abort(new Error('changed my mind')), 200);
  const run = guest.run(['sleep', '4712'], { signal: abort.signal });
  await assert.rejects(run, /changed my mind/);
});

test('a daemon left behind does not hold its command back', async () => {
  const result = await guest.run(['sh', '-c', 'setsid sleep 20 & echo done'], { timeoutMs: 5000 });
  assert.equal(result.stdout, 'done\n');
});

test('a running command can be fed, heard and killed', async () => {
  const heard: string[] = [];
  const spawned = guest.spawn(['cat'], { onStdout: (chunk) => heard.push(chunk.toString()) });
  spawned.write('one\n');
  while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  spawned.kill('SIGTERM');
  const result = await spawned.result;
  assert.equal(result.signal, 'SIGTERM');
  assert.equal(heard.join(''), 'one\n');
});

test('lvm makes thin volumes on two disks', async () => {
  const one = await guest.devicePath('one');
  const two = await guest.devicePath('two');
  await guest.sh(`set -e
    vgcreate vg ${one} ${two}
    lvcreate --type thin-pool --size 512m --name pool vg
    lvcreate --thinpool pool --virtualsize 1g --name data vg
    mkfs.ext4 -q /dev/vg/data
    mkdir /data && mount /dev/vg/data /data && echo kept >/data/file && sync`);
  const report = await guest.sh('lvs --noheadings --options lv_name --sort lv_name vg');
  assert.deepEqual(report.trim().split(/\s+/), ['data', 'pool']);
});

test('disks keep their data over a power cut', async () => {
  await guest.cutPower();
  assert.equal(guest.running, false);
  await assert.rejects(guest.run(['true']), /not running/);
  await guest.start();
  await guest.sh('vgchange --activate y vg && mount --mkdir /dev/vg/data /data');
  assert.equal(await guest.sh('cat /data/file'), 'kept\n');
});

test('a guest that goes down fails what runs in it at once', async () => {
  const other = lab.guest('n2');
  const run = other.run(['sleep', '60']);
  setTimeout(() => void other.cutPower(), 200);
  await assert.rejects(run, /guest n2 went down/);
  await other.start();
});

test('guests see the project read-only, and files go in and out', async () => {
  assert.match(await guest.sh('cat /quarry/package.json'), /"name": "quarry"/);
  assert.notEqual((await guest.run(['touch', '/quarry/written'])).exitCode, 0);
  const directory = await mkdtemp(join(tmpdir(), 'lab-test-'));
  try {
    await writeFile(join(directory, 'in'), 'from the host');
    await guest.copyIn(join(directory, 'in'), '/tmp/there');
    await guest.copyOut('/tmp/there', join(directory, 'out'));
    assert.equal(await readFile(join(directory, 'out'), 'utf8'), 'from the host');
  } finally {
    await rm(directory, { recursive: true });
  }
});

test('guests reach each other until the network is cut and again when it is healed', async () => {
  const ping = ['ping', '-c', '1', '-W', '1', lab.guest('n2').ip];
  assert.equal((await guest.run(ping)).exitCode, 0);
  await guest.cutNetwork();
  assert.notEqual((await guest.run(ping)).exitCode, 0);
  await guest.healNetwork();
  assert.equal((await guest.run(ping)).exitCode, 0);
});

test('a frozen guest does nothing until it is thawed', async () => {
  const run = guest.run(['true']);
  await run;
  guest.freeze();
  const frozen = guest.run(['true']);
  const first = await Promise.race([
    frozen.then(() => 'ran'),
    new Promise((resolve) => setTimeout(resolve, 1000, 'nothing happened')),
  ]);
  assert.equal(first, 'nothing happened');
  guest.thaw();
  assert.equal((await frozen).exitCode, 0);
});
