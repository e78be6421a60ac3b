import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { access, readdir, readFile, readlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { MiB } from '../index.ts';
import { checkCluster } from './check.ts';
import { busyboxImage, type Cluster, type PodObject, startCluster, waitUntil } from './index.ts';

let cluster: Cluster;

before(async () => {
  cluster = await startCluster({
    nodes: [
      {
        name: 'n1',
        disks: [{ name: 'spare', sizeBytes: 256n * MiB }],
        labels: { 'quarry.lab/kind': 'first' },
      },
      { name: 'n2' },
    ],
  });
});

after(() => cluster?.stop());

test('two nodes are Ready and say what they run', async () => {
  const ready =
    '{range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} ';
  const said = await cluster.kubectl(['get', 'nodes', '-o', `jsonpath=${ready}{end}`]);
  assert.equal(said.trim(), 'n1=True n2=True');
  const labelled = await cluster.kubectl([
    'get',
    'nodes',
    '-l',
    'quarry.lab/kind=first',
    '-o',
    'name',
  ]);
  assert.equal(labelled.trim(), 'node/n1');
  const versions = await cluster.versions();
  assert.match(versions['kubernetes'] ?? '', /^v1\.\d+\.\d+$/);
  assert.ok(!Object.values(versions).includes('unknown'), JSON.stringify(versions));
});

test('pods run on both nodes and reach each other and the API server', async () => {
  await checkCluster(cluster, () => {});
});

test('a service account may do only what a role allows', async () => {
  const ask = ['auth', 'can-i', 'list', 'secrets', '--as=system:serviceaccount:default:default'];
  const refused = await cluster.tryKubectl(ask);
  assert.equal(refused.stdout.trim(), 'no');
  assert.equal(refused.exitCode, 1);
});

test('a disk that was asked for is there, beside the one of the node itself', async () => {
  const device = await cluster.node('n1').devicePath('spare');
  const said = await cluster.node('n1').sh(`blockdev --getsize64 ${device}`);
  assert.equal(BigInt(said.trim()), 256n * MiB);
});

test('a node comes back Ready after a power cut, with its pods', async () => {
  const pod = { name: 'check-n1' };
  await cluster.node('n1').cutPower();
  await cluster.startNode('n1');
  const path = '/api/v1/namespaces/default/pods/check-n1';
  const restarted = await waitUntil('the pod was started again', async () => {
    const object = await cluster.api.get<PodObject>(path);
    const count = object?.status.containerStatuses?.[0]?.restartCount ?? 0;
    return count > 0 ? { found: count } : { missing: 'not yet' };
  });
  assert.equal(restarted, 1);
  await cluster.waitForPod(pod);
});

test('the API server can crash and come back', async () => {
  const server = cluster.server('kube-apiserver');
  await server.stop();
  assert.equal(server.running, false);
  assert.notEqual((await cluster.tryKubectl(['get', 'nodes'])).exitCode, 0);
  server.start();
  await cluster.waitForPod({ name: 'check-n2' });
});

test('a pod that ends is seen to have succeeded, and its log is kept', async () => {
  const run = [
    'run',
    'once',
    '--image',
    busyboxImage,
    '--image-pull-policy=Never',
    '--restart=Never',
  ];
  await cluster.kubectl([...run, '--', 'sh', '-c', 'echo ran']);
  const done = ['wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/once', '--timeout=60s'];
  await cluster.kubectl(done);
  assert.equal(await cluster.kubectl(['logs', 'once']), 'ran\n');
});

test('nothing is left after stop', async () => {
  const network = await readlink(cluster.lab.namespace.networkPath);
  const directory = dirname(cluster.kubeconfig);
  assert.notDeepEqual(await processesIn(network), []);
  await cluster.stop();
  assert.deepEqual(await processesIn(network), []);
  await assert.rejects(access(directory), { code: 'ENOENT' });
});

test('nothing is left after the process that started it was killed', async () => {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts'), 'up', '--nodes=1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const directory = await waitUntil('a cluster in another process', async () => {
    assert.equal(child.exitCode, null);
    const kubeconfig = /^kubeconfig +(\S+)$/m.exec(said)?.[1];
    return kubeconfig === undefined ? { missing: said } : { found: dirname(kubeconfig) };
  });
  const script = await readFile(join(directory, 'kubectl'), 'utf8');
  const network = await readlink(/--net=(\S+)/.exec(script)?.[1] ?? '');
  child.kill('SIGKILL');
  await waitUntil('everything of it is gone', async () => {
    const left = await processesIn(network);
    const gone = await access(directory).then(
      () => false,
      () => true,
    );
    return left.length === 0 && gone ? { found: true } : { missing: left.join(' ') };
  });
});

/** The processes whose network is this one; it goes away with the last of them. */
async function processesIn(network: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const theirs = await readlink(`/proc/${name}/ns/net`).catch(() => '');
    if (theirs === network) found.push(name);
  }
  return found;
}
