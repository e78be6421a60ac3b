import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostOf, sampleVg } from '../../test/samples/observed.ts';
import { reportText } from '../../test/samples/report-text.ts';
import { show } from '../base/show.ts';
import { runStandalone } from './command.ts';

async function directory(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'quarry-command-'));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

/** On a host that has no program at all, unless told otherwise. */
async function run(argv: readonly string[], path = '/nowhere') {
  const printed: string[] = [];
  const warned: string[] = [];
  const print = (text: string) => printed.push(text);
  const warn = (text: string) => warned.push(text);
  const code = await runStandalone(argv, { path, version: '1.2.3', print, warn });
  return { code, printed: printed.join('\n'), warned: warned.join('\n') };
}

async function flags(t: TestContext, text: string | undefined): Promise<readonly string[]> {
  const made = await directory(t);
  const config = join(made, 'lvmd.yaml');
  if (text !== undefined) await writeFile(config, text);
  const sockets = ['--csi-socket', join(made, 'csi.sock'), '--metrics-address', '0'];
  return ['--config', config, '--state-dir', join(made, 'state'), ...sockets];
}

const good = 'device-classes: [{name: a, volume-group: vg}]\n';

test('help and version are told, and end with 0', async () => {
  const help = await run(['--help']);
  assert.equal(help.code, 0);
  assert.match(help.printed, /--csi-socket PATH/);
  assert.deepEqual(await run(['--version']), { code: 0, printed: '1.2.3', warned: '' });
});

test('a flag that is none ends with 2', async () => {
  const { code, warned } = await run(['--no-such']);
  assert.equal(code, 2);
  assert.match(warned, /--no-such/);
});

for (const [what, text, message] of [
  ['that is missing', undefined, /the file is missing/],
  ['that is no YAML', 'device-classes: [', /lvmd\.yaml:\d+: /],
  ['with a wrong value', good.replace('vg}', 'vg, spare-gb: x}'), /lvmd\.yaml:1: .*spare-gb/],
] as const) {
  test(`a configuration ${what} ends with 2, whatever the host lacks`, async (t) => {
    const { code, warned } = await run(await flags(t, text));
    assert.equal(code, 2);
    assert.match(warned, message);
    assert.match(warned, /^quarry: InvalidConfiguration: .* nothing is served yet:\n/);
  });
}

test('an address that is none ends with 2', async (t) => {
  const { code, warned } = await run([...(await flags(t, good)), '--metrics-address', 'x']);
  assert.equal(code, 2);
  assert.match(warned, /--metrics-address is x/);
});

for (const [flag, value] of [
  ['--csi-socket', 'csi.sock'],
  ['--driver-name', '../x'],
  ['--driver-name', ''],
  ['--node-id', ''],
  ['--node-id', 'a b'],
] as const) {
  test(`${flag} ${show(value)} ends with 2`, async (t) => {
    const { code, warned } = await run([...(await flags(t, good)), flag, value]);
    assert.equal(code, 2);
    assert.ok(warned.startsWith(`quarry: InvalidConfiguration: ${flag} is ${show(value)}: `));
  });
}

test('a device mapper that does not answer ends with 75, and with what to do', async (t) => {
  const bin = await directory(t);
  const script = '#!/bin/sh\necho "/dev/mapper/control: open failed: No such device" >&2\nexit 1\n';
  await writeFile(join(bin, 'dmsetup'), script, { mode: 0o755 });
  const { code, warned } = await run(await flags(t, good), `${bin}:/bin:/usr/bin`);
  assert.equal(code, 75);
  assert.match(
    warned,
    /^quarry: DeviceMapperMissing: dmsetup .*No such device\nquarry: .*modprobe/,
  );
});

test('a program that is not installed ends with 1', async (t) => {
  const { code, warned } = await run(await flags(t, good));
  assert.equal(code, 1);
  assert.match(warned, /^quarry: CommandNotFound: .*\nquarry: Install the named program\.$/);
});

test('a program that fails ends with 75: it may work later', async (t) => {
  const bin = await directory(t);
  const script = '#!/bin/sh\necho "cannot now" >&2\nexit 5\n';
  for (const name of ['lvm', 'dmsetup']) await writeFile(join(bin, name), script, { mode: 0o755 });
  const { code, warned } = await run(await flags(t, good), `${bin}:/bin:/usr/bin`);
  assert.equal(code, 75);
  assert.match(warned, /cannot now/);
});

test('told to stop it ends with 0; a second instance beside it ends with 1', async (t) => {
  const bin = await directory(t);
  await writeFile(join(bin, 'report'), reportText(hostOf(sampleVg({ name: 'vg' }))));
  const programs = { lvm: `exec cat ${bin}/report`, dmsetup: 'echo No devices found' };
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const socket = join(bin, 'lvmd.sock');
  const argv = await flags(t, `socket-name: ${socket}\n${good}`);
  const path = `${bin}:/bin:/usr/bin`;
  const program = [join(import.meta.dirname, '../main.ts'), 'standalone', ...argv];
  const first = spawn(process.execPath, program, { env: { PATH: path }, stdio: 'ignore' });
  t.after(() => first.kill('SIGKILL'));
  while (!existsSync(socket) && first.exitCode === null) await sleep(20);
  const second = await run(argv, path);
  assert.equal(second.code, 1);
  assert.match(second.warned, /^quarry: SocketInUse: another instance serves/);
  const ended = once(first, 'exit');
  first.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(existsSync(socket), false);
});

test('the guide tells these codes', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/guides/standalone.md'), 'utf8');
  const [, section = ''] = page.split('## Exit codes');
  const rows = [...(section.split('\n## ')[0] ?? '').matchAll(/^\| (\d+) \|/gm)];
  assert.deepEqual(
    rows.map(([, code]) => code),
    ['0', '1', '2', '75'],
  );
});
