import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import type { Command } from '../lvm/command.ts';
import { realHost } from './host.ts';
import { startCommand } from './run.ts';

const path = '/usr/sbin:/usr/bin:/sbin:/bin';
const options = { prefix: [], path };

function reads(script: string, timeoutMs = 10_000): Command {
  return { argv: ['sh', '-c', script], effect: 'reads', timeoutMs };
}

function changes(script: string, timeoutMs = 10_000): Command {
  return { argv: ['sh', '-c', script], effect: 'changes', timeoutMs };
}

function failsWith(code: string) {
  return (error: unknown) => error instanceof OperationError && error.code === code;
}

/** A file that a script writes into, gone after the test. */
function scratch(t: { after(work: () => void): void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'quarry-run-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'file');
}

test('both streams and the exit code of a command are told', async () => {
  const result = await startCommand(reads('echo out; echo err >&2; exit 3'), options).result;
  assert.equal(result.exitCode, 3);
  assert.equal(result.signal, undefined);
  assert.equal(result.stdout, 'out\n');
  assert.equal(result.stderr, 'err\n');
  assert.ok(result.durationMs > 0);
});

test('a program of the user gets his variables, on top of ours', async () => {
  const variables = { HOME: '/home/me', LC_ALL: 'de_DE' };
  const { stdout } = await startCommand(reads('echo $HOME $LC_ALL'), { ...options, variables })
    .result;
  assert.equal(stdout, '/home/me de_DE\n');
});

test('a signal that ends a command is told, and no exit code', async () => {
  const result = await startCommand(reads('kill -KILL $$'), options).result;
  assert.equal(result.exitCode, undefined);
  assert.equal(result.signal, 'SIGKILL');
});

test('the environment is fixed: nothing of ours leaks in, and messages are untranslated', async () => {
  const { stdout } = await startCommand(reads('env'), options).result;
  const names = stdout.split('\n').map((line) => line.split('=')[0] ?? '');
  const given = names.filter(
    (name) => name !== '' && !['PWD', 'SHLVL', '_', 'OLDPWD'].includes(name ?? ''),
  );
  assert.deepEqual(given.toSorted(), ['LC_ALL', 'LVM_SUPPRESS_FD_WARNINGS', 'PATH']);
  assert.match(stdout, /^LC_ALL=C$/m);
});

test('a command that waits for input gets none', async () => {
  const { stdout } = await startCommand(reads('cat; echo end'), options).result;
  assert.equal(stdout, 'end\n');
});

test('a program that does not exist is named', async () => {
  const running = startCommand(
    { argv: ['no-such-program'], effect: 'reads', timeoutMs: 1000 },
    options,
  );
  await assert.rejects(running.result, failsWith('CommandNotFound'));
  await assert.rejects(running.result, /no-such-program/);
  await running.gone;
});

test('a read past its deadline is killed, with everything it started', async (t) => {
  const file = scratch(t);
  const running = startCommand(reads(`(sleep 2; echo late > ${file}) & sleep 30`, 100), options);
  await assert.rejects(running.result, failsWith('CommandTimedOut'));
  await running.gone;
  await sleep(2_300);
  assert.throws(() => readFileSync(file), /ENOENT/);
});

test('a read that ignores a polite end is ended all the same', async () => {
  const running = startCommand(reads('trap "" TERM; while :; do sleep 0.1; done', 100), options);
  await assert.rejects(running.result, failsWith('CommandTimedOut'));
  const startedAtMs = performance.now();
  await running.gone;
  assert.ok(performance.now() - startedAtMs < limits.killGraceMs + 2_000);
});

test('a change past its deadline goes on, and is gone only when it is done', async (t) => {
  const file = scratch(t);
  const running = startCommand(changes(`sleep 0.7; echo done > ${file}`, 100), options);
  await assert.rejects(running.result, failsWith('CommandTimedOut'));
  assert.throws(() => readFileSync(file), /ENOENT/);
  await running.gone;
  assert.equal(readFileSync(file, 'utf8'), 'done\n');
});

test('whoever stops waiting for a change does not stop the change', async (t) => {
  const file = scratch(t);
  const controller = new AbortController();
  const running = startCommand(
    changes(`sleep 0.5; echo done > ${file}`),
    options,
    controller.signal,
  );
  controller.abort();
  await assert.rejects(running.result, failsWith('Cancelled'));
  await running.gone;
  assert.equal(readFileSync(file, 'utf8'), 'done\n');
});

test('whoever stops waiting for a read stops the read', async () => {
  const controller = new AbortController();
  const running = startCommand(reads('sleep 30'), options, controller.signal);
  const startedAtMs = performance.now();
  controller.abort();
  await assert.rejects(running.result, failsWith('Cancelled'));
  await running.gone;
  assert.ok(performance.now() - startedAtMs < 5_000);
});

test('a command is gone only when the program behind its wrapper is, even if the wrapper dies', async (t) => {
  const file = scratch(t);
  // Like nsenter into another PID namespace: a parent that only waits for the real program.
  const wrapper = `sh -c 'sleep 2; echo done > ${file}' & echo $$ > ${file}.pid; wait`;
  const running = startCommand(changes(wrapper), options);
  process.kill(Number(await written(`${file}.pid`)), 'SIGKILL');
  await running.gone;
  assert.equal(readFileSync(file, 'utf8'), 'done\n');
});

test('more output than the limit is an error, not a memory leak', async () => {
  const flood = `yes 01234567890123456789 | head -c ${limits.outputBytesMax + 1}`;
  await assert.rejects(
    startCommand(reads(flood, 60_000), options).result,
    failsWith('OutputTooLarge'),
  );
});

test('a prefix stands before every command', async () => {
  const running = startCommand(reads('echo "$MARK"'), { prefix: ['env', 'MARK=yes'], path });
  assert.equal((await running.result).stdout, 'yes\n');
});

test('a command survives what is typed at our terminal: it has a session of its own', async () => {
  const { stdout } = await startCommand(reads('ps -o sid= -p $$; echo $$'), options).result;
  const [session, pid] = stdout.split(/\s+/).filter((word) => word !== '');
  assert.equal(session, pid);
});

test('a changing command of another life is a stray until it is gone, our own is none', async () => {
  const host = realHost(options);
  // Others may run tests on this machine.
  const [theirs, ours] = [`1.234${process.pid}`, `1.1${process.pid}`];
  const strays = async () =>
    (await host.strays()).filter((words) => words.includes(theirs) || words.includes(ours));
  const environment = { PATH: path, QUARRY_LIFE: 'another' };
  const stray = spawn('sleep', [theirs], { env: environment, stdio: 'ignore' });
  const own = host.start(changes(`sleep ${ours}`));
  assert.deepEqual(await strays(), [`sleep ${theirs}`]);
  await once(stray, 'exit');
  await own.gone;
  assert.deepEqual(await strays(), []);
});

test('what is not a block device in use is free, and what is not there is unknown', async (t) => {
  const file = scratch(t);
  writeFileSync(file, '');
  const host = realHost(options);
  assert.equal(await host.exclusiveOpen(file), 'free');
  assert.equal(await host.exclusiveOpen(`${file}-gone`), 'unknown');
  // A directory opens and cannot be read, as a failing disk does.
  assert.equal(await host.exclusiveOpen(dirname(file)), 'unknown');
  assert.deepEqual(await host.links(`${file}-gone`), []);
});

test('lvm alone is run by the words of an administrator, everything else by the prefix', async () => {
  const given = { path, prefix: ['echo', 'in'], lvm: ['echo', '/sbin/lvm'] };
  const told = async (...argv: Command['argv']) =>
    (await startCommand({ argv, effect: 'reads', timeoutMs: 10_000 }, given).result).stdout;
  assert.equal(await told('lvm', 'vgs'), '/sbin/lvm vgs\n');
  assert.equal(await told('dmsetup', 'info'), 'in dmsetup info\n');
});

const seesItsHost = 'cat /proc/sys/kernel/hostname; uname -n';

/** A place with an lvm that has these tags of its host, and otherwise tells where it runs. */
function lvmWithTags(t: Parameters<typeof scratch>[0], tags = ''): string {
  const directory = dirname(scratch(t));
  const script = `#!/bin/sh\nif [ "$1" = tags ]; then printf '${tags}'; else ${seesItsHost}; fi\n`;
  writeFileSync(join(directory, 'lvm'), script, { mode: 0o755 });
  return directory;
}

/** Only root may give a command a host name of its own. */
const mayName = spawnSync('unshare', ['--uts', 'true']).status === 0;

test('a command has the host name that it asks for, or runs without it', async (t) => {
  const host = realHost({ ...options, path: `${lvmWithTags(t)}:${path}` });
  const before = hostname();
  const command = { ...changes(seesItsHost), hostName: "quarry.pool.o'k" };
  const { exitCode, stdout } = await host.start(command).result;
  const name = mayName ? "quarry.pool.o'k" : before;
  assert.deepEqual([exitCode, stdout], [0, `${name}\n${name}\n`]);
  assert.equal(hostname(), before);
});

test('an administrator’s own way to run lvm comes first, and the name after it', async (t) => {
  const place = lvmWithTags(t);
  // As nsenter: what is behind it runs elsewhere, and programs are found there.
  const enter = ['env', '-i', `PATH=${path}`, 'unshare', '--uts'];
  const host = realHost({ prefix: ['false'], lvm: [...enter, join(place, 'lvm')], path });
  const command: Command = {
    ...{ argv: ['lvm', 'lvcreate'], effect: 'changes', timeoutMs: 10_000 },
    hostName: 'quarry.pool.a',
  };
  const { exitCode, stdout } = await host.start(command).result;
  if (mayName) assert.deepEqual([exitCode, stdout], [0, 'quarry.pool.a\nquarry.pool.a\n']);
  else t.diagnostic('only root may enter a namespace: nothing was asked');
});

test('an administrator’s way that cannot give a name is gone without one', async (t) => {
  const lvm = [join(lvmWithTags(t), 'lvm')];
  const bare = dirname(scratch(t));
  for (const name of ['sh', 'cat', 'uname']) symlinkSync(`/bin/${name}`, join(bare, name));
  const host = realHost({ prefix: ['false'], lvm, path: bare });
  const command: Command = {
    ...{ argv: ['lvm', 'lvcreate'], effect: 'changes', timeoutMs: 10_000 },
    hostName: 'quarry.pool.a',
  };
  const { exitCode, stdout } = await host.start(command).result;
  assert.deepEqual([exitCode, stdout], [0, `${hostname()}\n${hostname()}\n`]);
});

test('where lvm decides by the name of its host a command keeps it', async (t) => {
  const host = realHost({ ...options, path: `${lvmWithTags(t, 'n1\\n')}:${path}` });
  const command = { ...changes(seesItsHost), hostName: 'quarry.pool.a' };
  const { stdout } = await host.start(command).result;
  assert.equal(stdout, `${hostname()}\n${hostname()}\n`);
});

test('where a node has no way to give a host name the command is run all the same', async (t) => {
  const directory = dirname(scratch(t));
  for (const name of ['sh', 'cat', 'uname']) symlinkSync(`/bin/${name}`, join(directory, name));
  const host = realHost({ prefix: [], path: directory });
  const running = host.start({ ...changes(`${seesItsHost}; exit 3`), hostName: 'quarry.pool.a' });
  const { exitCode, stdout } = await running.result;
  await running.gone;
  assert.deepEqual([exitCode, stdout], [3, `${hostname()}\n${hostname()}\n`]);
});

test('a command with a host name of its own is a stray like any other', async (t) => {
  const file = scratch(t);
  const host = realHost({ ...options, path: `${lvmWithTags(t)}:${path}` });
  const script = `tr '\\0' '\\n' < /proc/$$/environ > ${file}`;
  await host.start({ ...changes(script), hostName: 'quarry.pool.a' }).result;
  assert.match(readFileSync(file, 'utf8'), /^QUARRY_LIFE=/m);
});

test('a command that is held tells when it is ready, and ends when it is let go', async () => {
  const held = { ...changes('echo frozen; cat > /dev/null; echo over'), isHeld: true } as const;
  const running = startCommand(held, options);
  assert.equal(await running.ready, undefined);
  const isOver = await Promise.race([running.gone.then(() => true), sleep(200, false)]);
  assert.equal(isOver, false);
  running.release?.();
  const { exitCode, stdout } = await running.result;
  assert.deepEqual([exitCode, stdout], [0, 'frozen\nover\n']);
});

test('a command that is held goes on without us, and ends by itself', async (t) => {
  const file = scratch(t);
  const script = `trap "" PIPE; echo frozen; cat > /dev/null; echo over > ${file}`;
  const url = new URL('./run.ts', import.meta.url).href;
  const held = { ...changes(script), isHeld: true };
  const life = `
    import { startCommand } from '${url}';
    const running = startCommand(${JSON.stringify(held)}, ${JSON.stringify(options)});
    await running.ready;
    console.log('ready');
    setInterval(() => undefined, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', life]);
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  assert.equal(await written(file), 'over\n');
});

/** A shell makes a file first and writes into it afterwards. */
async function written(file: string): Promise<string> {
  const told = () => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  for (let tries = 0; tries < 1_000 && !told().endsWith('\n'); tries += 1) await sleep(20);
  return told();
}
