import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { KubeClient } from '../../src/kube/client.ts';
import type { Connection, Endpoint } from '../../src/kube/credentials.ts';
import type { RunProgram } from '../../src/kube/exec-credentials.ts';
import { fromKubeconfig } from '../../src/kube/from-kubeconfig.ts';
import { inCluster } from '../../src/kube/in-cluster.ts';
import { readKubeconfig } from '../../src/kube/kubeconfig.ts';
import { HttpTransport } from '../../src/kube/transport.ts';
import { makeAuthority, makePair } from './certificates.ts';
import { FakeServer } from './fake-server.ts';
import { sampleKind } from './kinds.ts';
import { InstantClock } from './memory-transport.ts';

type Scene = {
  readonly server: FakeServer;
  readonly endpoint: Endpoint;
  readonly directory: string;
  readonly clock: InstantClock;
  /** A list through a connection that stays open from call to call. */
  readonly through: (connection: Connection) => () => Promise<unknown>;
};

async function onStage(story: (scene: Scene) => Promise<void>): Promise<void> {
  const server = new FakeServer();
  const endpoint = await server.start();
  const directory = await mkdtemp(join(tmpdir(), 'quarry-kube-'));
  const clock = new InstantClock();
  const transports: HttpTransport[] = [];
  const through = (connection: Connection) => {
    const transport = new HttpTransport(connection.endpoint, connection.credentials);
    transports.push(transport);
    const client = new KubeClient({ transport, clock, chance: () => 0.5 });
    return () => client.list(sampleKind);
  };
  try {
    await story({ server, endpoint, directory, clock, through });
  } finally {
    for (const transport of transports) transport.close();
    await server.stop();
    await rm(directory, { recursive: true });
  }
}

const sent = ({ server }: Scene) => server.authorizations.at(-1);

test('in a pod: a token that kubelet replaces is read again', async () => {
  await onStage(async (scene) => {
    const { server, endpoint, directory, clock, through } = scene;
    await writeFile(join(directory, 'ca.crt'), server.authority.certificate);
    // As kubelet does it: a link to a directory that is swapped.
    await writeFile(join(directory, 'first'), 'good\n');
    await symlink('first', join(directory, 'token'));
    const list = through(inCluster({ ...endpoint, directory, clock }));
    await list();
    assert.equal(sent(scene), 'Bearer good');
    await writeFile(join(directory, 'second'), 'better\n');
    await symlink('second', join(directory, 'swap'));
    await rename(join(directory, 'swap'), join(directory, 'token'));
    server.tokens.add('better');
    clock.pass(11_000);
    await list();
    assert.equal(sent(scene), 'Bearer better');
  });
});

test('in a pod: a token that the server no longer takes is read again at once', async () => {
  await onStage(async (scene) => {
    const { server, endpoint, directory, clock, through } = scene;
    await writeFile(join(directory, 'ca.crt'), server.authority.certificate);
    await writeFile(join(directory, 'token'), 'good');
    const list = through(inCluster({ ...endpoint, directory, clock }));
    await list();
    await writeFile(join(directory, 'token'), 'better');
    server.tokens.clear();
    server.tokens.add('better');
    await list();
    assert.deepEqual(server.authorizations, ['Bearer good', 'Bearer good', 'Bearer better']);
    server.tokens.clear();
    await assert.rejects(list(), { code: 'Unauthorized' });
  });
});

test('in a pod: a new authority is trusted, an unknown one is not', async () => {
  await onStage(async (scene) => {
    const { server, endpoint, directory, clock, through } = scene;
    await writeFile(join(directory, 'ca.crt'), makeAuthority('other').certificate);
    await writeFile(join(directory, 'token'), 'good');
    const list = through(inCluster({ ...endpoint, directory, clock }));
    await assert.rejects(list(), { code: 'Untrusted' });
    assert.deepEqual(server.authorizations, []);
    await writeFile(join(directory, 'ca.crt'), server.authority.certificate);
    clock.pass(11_000);
    await list();
  });
});

test('in a pod: a file that is just being replaced does not stop us', async () => {
  await onStage(async (scene) => {
    const { server, endpoint, directory, clock, through } = scene;
    await writeFile(join(directory, 'ca.crt'), server.authority.certificate);
    const list = through(inCluster({ ...endpoint, directory, clock }));
    await assert.rejects(list(), { code: 'NoCredentials' });
    await writeFile(join(directory, 'token'), 'good');
    await list();
    await writeFile(join(directory, 'token'), '');
    clock.pass(11_000);
    await list();
    await rm(join(directory, 'token'));
    clock.pass(11_000);
    await list();
    assert.equal(sent(scene), 'Bearer good');
  });
});

/** A kubeconfig for the server, with this user. */
function kubeconfig({ server, endpoint }: Scene, user: object, cluster: object = {}): string {
  return JSON.stringify({
    'current-context': 'here',
    contexts: [{ name: 'here', context: { cluster: 'c', user: 'u', namespace: 'ns' } }],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${endpoint.port}`,
          'certificate-authority-data': base64(server.authority.certificate),
          ...cluster,
        },
      },
    ],
    users: [{ name: 'u', user }],
  });
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function connect(scene: Scene, text: string, run?: RunProgram): () => Promise<unknown> {
  const context = readKubeconfig([{ path: join(scene.directory, 'config'), text }]);
  const wall = () => 1_000_000 + scene.clock.nowMs();
  const doors = { clock: scene.clock, wall, ...(run === undefined ? {} : { run }) };
  return scene.through(fromKubeconfig(context, doors));
}

test('kubeconfig: a token', async () => {
  await onStage(async (scene) => {
    await connect(scene, kubeconfig(scene, { token: 'good' }))();
    assert.equal(sent(scene), 'Bearer good');
  });
});

test('kubeconfig: a token in a file beside it, which may be replaced', async () => {
  await onStage(async (scene) => {
    await writeFile(join(scene.directory, 'my-token'), 'good\n');
    const list = connect(scene, kubeconfig(scene, { tokenFile: 'my-token', token: 'old' }));
    await list();
    assert.equal(sent(scene), 'Bearer good');
    await writeFile(join(scene.directory, 'my-token'), 'better\n');
    scene.server.tokens.add('better');
    scene.clock.pass(11_000);
    await list();
    assert.equal(sent(scene), 'Bearer better');
  });
});

test('kubeconfig: a client certificate, inside or in files', async () => {
  await onStage(async (scene) => {
    const { certificate, key } = makePair(scene.server.authority, 'admin', []);
    const inline = {
      'client-certificate-data': base64(certificate),
      'client-key-data': base64(key),
    };
    await connect(scene, kubeconfig(scene, inline))();
    await writeFile(join(scene.directory, 'c.pem'), certificate);
    await writeFile(join(scene.directory, 'k.pem'), key);
    const files = { 'client-certificate': 'c.pem', 'client-key': 'k.pem' };
    await connect(scene, kubeconfig(scene, files))();
    const stranger = makePair(makeAuthority('other'), 'admin', []);
    await writeFile(join(scene.directory, 'c.pem'), stranger.certificate);
    await writeFile(join(scene.directory, 'k.pem'), stranger.key);
    await assert.rejects(connect(scene, kubeconfig(scene, files))(), { code: 'Unauthorized' });
  });
});

test('kubeconfig: another name for the server, or no check of it at all', async () => {
  await onStage(async (scene) => {
    const user = { token: 'good' };
    await connect(scene, kubeconfig(scene, user, { 'tls-server-name': 'kubernetes' }))();
    const wrong = kubeconfig(scene, user, { 'tls-server-name': 'elsewhere' });
    await assert.rejects(connect(scene, wrong)(), { code: 'Untrusted' });
    const insecure = { 'tls-server-name': 'elsewhere', 'insecure-skip-tls-verify': true };
    await connect(scene, kubeconfig(scene, user, insecure))();
  });
});

const runReal: RunProgram = ({ argv: [program = '', ...args], env, timeoutMs }) =>
  new Promise((resolve, reject) => {
    const options = { env: { ...process.env, ...env }, timeout: timeoutMs };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error !== null && typeof error.code === 'string') reject(error);
      else resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });

const group = 'client.authentication.k8s.io/v1';

/** A program that counts its runs and hands out the token of a file. */
async function writePlugin({ directory }: Scene, expires: string): Promise<object> {
  const script = `#!/bin/sh
cd ${directory}
echo run >> runs
echo "$KUBERNETES_EXEC_INFO" > info
[ "$MOOD" = good ] || { echo "in a bad mood" >&2; exit 3; }
printf '{"apiVersion":"${group}","kind":"ExecCredential","status":{"token":"%s"${expires}}}' "$(cat $1)"
`;
  await writeFile(join(directory, 'plugin'), script);
  await chmod(join(directory, 'plugin'), 0o755);
  const env = [{ name: 'MOOD', value: 'good' }];
  const exec = { apiVersion: group, command: './plugin', args: ['secret'], env };
  return { exec: { ...exec, provideClusterInfo: true } };
}

const textIn = async (directory: string, name: string) =>
  (await import('node:fs/promises')).readFile(join(directory, name), 'utf8');

test('kubeconfig: a program gives the token, and is asked again when it expires', async () => {
  await onStage(async (scene) => {
    const expires = new Date(1_000_000 + 60_000).toISOString();
    const user = await writePlugin(scene, `,"expirationTimestamp":"${expires}"`);
    await writeFile(join(scene.directory, 'secret'), 'good');
    const list = connect(scene, kubeconfig(scene, user), runReal);
    await Promise.all([list(), list(), list()]);
    assert.equal(sent(scene), 'Bearer good');
    assert.equal(await textIn(scene.directory, 'runs'), 'run\n');
    const info = JSON.parse(await textIn(scene.directory, 'info')) as {
      spec: { cluster: { server: string } };
    };
    assert.match(info.spec.cluster.server, /^https:\/\/127\.0\.0\.1:/);
    await writeFile(join(scene.directory, 'secret'), 'better');
    scene.server.tokens.add('better');
    scene.clock.pass(61_000);
    await list();
    assert.equal(sent(scene), 'Bearer better');
    assert.equal(await textIn(scene.directory, 'runs'), 'run\nrun\n');
  });
});

test('kubeconfig: a token of a program that the server refuses is asked for again', async () => {
  await onStage(async (scene) => {
    const user = await writePlugin(scene, '');
    await writeFile(join(scene.directory, 'secret'), 'good');
    const list = connect(scene, kubeconfig(scene, user), runReal);
    await list();
    await writeFile(join(scene.directory, 'secret'), 'better');
    scene.server.tokens.clear();
    scene.server.tokens.add('better');
    await list();
    assert.equal(sent(scene), 'Bearer better');
  });
});

test('kubeconfig: a program that fails, is missing or may not be started is told as it is', async () => {
  await onStage(async (scene) => {
    const { exec } = (await writePlugin(scene, '')) as { exec: object };
    const tell = (user: object, run?: RunProgram) =>
      connect(scene, kubeconfig(scene, { exec: user }), run)();
    const code = 'NoCredentials';
    await assert.rejects(tell({ ...exec, env: [] }, runReal), {
      code,
      message: /3: in a bad mood$/,
    });
    const missing = { ...exec, command: 'no-such-login', installHint: 'Install it.' };
    await assert.rejects(tell(missing, runReal), { code, message: /ENOENT Install it\.$/ });
    await assert.rejects(tell(exec), { code, message: /not started here/ });
    const always = { ...exec, interactiveMode: 'Always' };
    await assert.rejects(tell(always, runReal), { code, message: /wants a terminal/ });
  });
});
