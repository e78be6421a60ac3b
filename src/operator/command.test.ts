import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { FakeServer } from '../../test/kube/fake-server.ts';
import { kubeconfigFor } from '../../test/kube/scene.ts';
import { ourLease } from '../core/cluster/leases.ts';
import { SocketClient } from '../csi/client.ts';
import { ControllerDefinition } from '../csi/generated/csi.ts';
import { operatorArguments } from './arguments.ts';
import { runOperator } from './command.ts';

const nothing = { namespace: '', useLegacy: '', kubeconfig: '', serviceHost: '', servicePort: '' };

async function run(argv: readonly string[], variables: Partial<typeof nothing> = {}) {
  const printed: string[] = [];
  const warned: string[] = [];
  const code = await runOperator(argv, {
    ...{ path: '/nowhere', version: '1.2.3', variables: { ...nothing, ...variables } },
    ...{ print: (text) => printed.push(text), warn: (text) => warned.push(text) },
  });
  return { code, printed: printed.join('\n'), warned: warned.join('\n') };
}

test('help and version are told, and end with 0; a flag that is none ends with 2', async () => {
  assert.match((await run(['--help'])).printed, /--snapshot-controller/);
  assert.deepEqual(await run(['--version']), { code: 0, printed: '1.2.3', warned: '' });
  assert.equal((await run(['--no-such'])).code, 2);
});

test('without a way to the API server it ends with 2 and says what to write', async () => {
  const { code, warned } = await run([]);
  assert.equal(code, 2);
  assert.match(warned, /KUBERNETES_SERVICE_HOST is not set; name one with --kubeconfig/);
  const missing = await run(['--kubeconfig', '/no/such/file']);
  assert.equal(missing.code, 2);
  assert.match(missing.warned, /\/no\/such\/file cannot be read/);
});

test('the driver of TopoLVM’s older group is told by USE_LEGACY', () => {
  const old = operatorArguments([], { ...nothing, useLegacy: '1' });
  assert.deepEqual([old.domain, old['driver-name']], ['topolvm.cybozu.com', 'topolvm.cybozu.com']);
  const now = operatorArguments(['--socket=/x', '--driver-name', 'd.io'], nothing);
  assert.deepEqual(
    [now.domain, now['driver-name'], now['csi-socket']],
    ['topolvm.io', 'd.io', '/x'],
  );
});

test('a process leads, serves CSI, and gives its lease back when it is told to stop', async (t) => {
  const { server, directory, argv } = await stage(t);
  const socket = join(directory, 'csi.sock');
  const child = start(t, [...argv, '--csi-socket', socket]);
  await until(() => holder(server) !== '' && existsSync(socket));
  const client = new SocketClient(socket);
  t.after(() => client.close());
  const patience = { timeoutMs: 5_000 };
  const able = await client.call(ControllerDefinition, 'controllerGetCapabilities', {}, patience);
  assert.equal(able.kind, 'response');
  const wrong = { name: 'pvc-a' };
  const refused = await client.call(ControllerDefinition, 'createVolume', wrong, patience);
  assert.ok(refused.kind === 'failed' && refused.code === 'INVALID_ARGUMENT');
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  assert.equal(holder(server), '');
  assert.equal(existsSync(socket), false);
});

test('trap 22: who does not lead answers UNAVAILABLE to what would change something', async (t) => {
  const { server, directory, argv } = await stage(t);
  const spec = { holderIdentity: 'other', leaseDurationSeconds: 3600, leaseTransitions: 1 };
  server.api.put(collections.leases, { metadata: { name: ourLease, namespace: 'ns' }, spec });
  const socket = join(directory, 'csi.sock');
  start(t, [...argv, '--csi-socket', socket]);
  await until(() => existsSync(socket));
  const client = new SocketClient(socket);
  t.after(() => client.close());
  const asked = { volumeId: 'x' };
  const patience = { timeoutMs: 5_000 };
  const answer = await client.call(ControllerDefinition, 'deleteVolume', asked, patience);
  assert.ok(answer.kind === 'failed');
  assert.equal(answer.code, 'UNAVAILABLE');
  assert.match(answer.message, /NotLeading: this instance does not hold the lease ns\/1136b8a6/);
});

test('the guide tells every flag and metric', async () => {
  const page = await readFile(join(import.meta.dirname, '../../docs/guides/operator.md'), 'utf8');
  const { printed } = await run(['--help']);
  for (const [flag] of printed.matchAll(/--[a-z-]+/g)) assert.ok(page.includes(flag), flag);
  const source = await readFile(join(import.meta.dirname, 'operator-metrics.ts'), 'utf8');
  for (const [, name = ''] of source.matchAll(/'((?:quarry|process)_\w+)'/g)) {
    assert.ok(page.includes(`\`${name}\``), name);
  }
});

async function stage(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-operator-'));
  const server = new FakeServer();
  const { port } = await server.start();
  const kubeconfig = join(directory, 'config');
  await writeFile(kubeconfig, kubeconfigFor(server, port));
  t.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });
  const argv = ['--kubeconfig', kubeconfig, '--namespace', 'ns', '--metrics-address', '0'];
  return { server, directory, argv };
}

function start(t: TestContext, argv: readonly string[]) {
  const main = join(import.meta.dirname, '../main.ts');
  const child = spawn(process.execPath, [main, 'operator', ...argv], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

function holder(server: FakeServer): string {
  const lease = server.api.one(collections.leases, ourLease, 'ns');
  return ((lease?.['spec'] ?? {}) as { holderIdentity?: string }).holderIdentity ?? '';
}

async function until(isTrue: () => boolean): Promise<void> {
  const endMs = performance.now() + 20_000;
  while (!isTrue()) {
    assert.ok(performance.now() < endMs, 'it did not come about');
    await sleep(20);
  }
}
