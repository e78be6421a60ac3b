import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { hostOf, sampleVg } from '../../test/samples/observed.ts';
import { reportText } from '../../test/samples/report-text.ts';
import { show } from '../base/show.ts';
import { SocketClient } from '../csi/client.ts';
import { RegistrationDefinition } from '../csi/generated/registration.ts';
import { agentArguments } from './agent-arguments.ts';
import { runAgent } from './agent-command.ts';

const nothing = {
  ...{ nodeName: 'n1', namespace: 'ns', useLegacy: '', kubeconfig: '' },
  ...{ serviceHost: '', servicePort: '' },
};

async function run(argv: readonly string[], variables = nothing) {
  const printed: string[] = [];
  const warned: string[] = [];
  const code = await runAgent(argv, {
    ...{ path: '/nowhere', version: '1.2.3', variables },
    print: (text) => printed.push(text),
    warn: (text) => warned.push(text),
  });
  return { code, printed: printed.join('\n'), warned: warned.join('\n') };
}

test('help and version are told, and end with 0', async () => {
  assert.match((await run(['--help'])).printed, /--kubelet-root DIR/);
  assert.deepEqual(await run(['--version']), { code: 0, printed: '1.2.3', warned: '' });
});

test('a flag that is none ends with 2, and with where to look', async () => {
  const { code, warned } = await run(['--no-such']);
  assert.equal(code, 2);
  assert.match(warned, /`quarry agent --help`/);
});

for (const [flag, value] of [
  ['--node-name', 'A b'],
  ['--node-name', 'n'.repeat(64)],
  ['--kubelet-root', 'kubelet'],
  ['--host-socket', 'csi.sock'],
  ['--driver-name', '../x'],
] as const) {
  test(`${flag} ${show(value)} ends with 2`, async () => {
    const { code, warned } = await run([flag, value]);
    assert.equal(code, 2);
    assert.ok(warned.startsWith(`quarry: InvalidConfiguration: ${flag} is ${show(value)}: `));
  });
}

test('without a way to the API server it ends with 2, and says how to name one', async () => {
  const { code, warned } = await run([]);
  assert.equal(code, 2);
  assert.match(warned, /this is no pod.*--kubeconfig/);
  const missing = await run(['--kubeconfig', '/nowhere/config']);
  assert.match(missing.warned, /\/nowhere\/config cannot be read/);
});

test('USE_LEGACY chooses the group that TopoLVM had before, for everything', () => {
  const { domain, 'driver-name': driver } = agentArguments([], { ...nothing, useLegacy: 'true' });
  assert.deepEqual([domain, driver], ['topolvm.cybozu.com', 'topolvm.cybozu.com']);
});

/** A process of its own on a host whose lvm knows one group, far from any API server. */
async function begin(t: TestContext) {
  const started = await beginStart(t);
  const { socket } = started;
  for (let tries = 0; tries < 500 && !existsSync(socket); tries += 1) await sleep(20);
  assert.ok(existsSync(socket), 'it registers without an API server');
  return started;
}

async function beginStart(t: TestContext, lvmFirst = '') {
  const made = await mkdtemp(join(tmpdir(), 'quarry-agent-'));
  t.after(() => rm(made, { recursive: true, force: true }));
  const path = (name: string) => join(made, name);
  await mkdir(path('plugins_registry'));
  await writeFile(path('report'), reportText(hostOf(sampleVg({ name: 'vg' }))));
  const programs = {
    lvm: `touch ${path('asked')}\n${lvmFirst}\nexec cat ${path('report')}`,
    dmsetup: 'echo No devices found',
  };
  for (const [name, script] of Object.entries(programs)) {
    await writeFile(path(name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }
  const classes = 'device-classes: [{name: a, volume-group: vg, spare-gb: 0}]';
  const config = [`socket-name: ${path('lvmd.sock')}`, `lvm-command-prefix: [${path('lvm')}]`];
  await writeFile(path('lvmd.yaml'), [...config, classes, ''].join('\n'));
  const kubeconfig = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', namespace: 'ns' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
  };
  await writeFile(path('kubeconfig'), JSON.stringify(kubeconfig));
  const words = [
    ...['agent', '--config', path('lvmd.yaml'), '--state-dir', path('state')],
    ...['--csi-socket', path('csi.sock'), '--kubelet-root', made, '--metrics-address', '0'],
    ...['--kubeconfig', path('kubeconfig'), '--node-name', 'n1'],
  ];
  const main = join(import.meta.dirname, '../main.ts');
  const env = { ...process.env, PATH: `${made}:/bin:/usr/bin` };
  const child = spawn(process.execPath, [main, ...words], { env, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const socket = path('plugins_registry/topolvm.io-reg.sock');
  return { child, ended, socket, csi: path('csi.sock'), asked: path('asked') };
}

test('without the API server it serves, and ends with 0 when it is told to stop', async (t) => {
  const { child, ended, socket, csi } = await begin(t);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(existsSync(socket) || existsSync(csi), false);
});

test('told to stop while it starts, it ends no command, and with 0', async (t) => {
  const { child, ended, asked, socket, csi } = await beginStart(t, 'sleep 0.5');
  for (let tries = 0; tries < 500 && !existsSync(asked); tries += 1) await sleep(20);
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(existsSync(socket) || existsSync(csi), false);
});

test('refused by kubelet it ends with a code that is not 0', async (t) => {
  const { ended, socket } = await begin(t);
  const client = new SocketClient(socket);
  t.after(() => client.close());
  const status = { pluginRegistered: false, error: 'no' };
  const patience = { timeoutMs: 5_000 };
  const name = 'notifyRegistrationStatus';
  const told = await client.call(RegistrationDefinition, name, status, patience);
  assert.equal(told.kind, 'response', 'its own call is answered first');
  assert.deepEqual(await ended, [75, null]);
});
