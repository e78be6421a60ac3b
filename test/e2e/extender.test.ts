import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { busyboxImage, type Cluster, startCluster, waitUntil } from '../../lab/cluster/index.ts';
import { ended, spawnOwned } from '../../lab/host/owned.ts';

/**
 * A kube-scheduler that is still told to ask TopoLVM's extender, and pods that TopoLVM's webhook
 * has marked. No machine is needed for that: whether a pod gets a node is all that is asked.
 */
const main = join(import.meta.dirname, '../../src/main.ts');
const MiB = 1024 * 1024;
const patience = { timeoutMs: 180_000 };

type Pod = {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
};

describe('a scheduler that asks TopoLVM’s extender', { timeout: 900_000 }, () => {
  let cluster: Cluster;
  let directory = '';
  let extender: ChildProcess;
  let scheduler: ChildProcess;
  const inside = (argv: readonly string[], name: string): ChildProcess => {
    const log = openSync(join(cluster.lab.logDirectory, `${name}.log`), 'a');
    const child = spawnOwned(cluster.lab.namespace.enter(argv), { stdio: ['ignore', log, log] });
    closeSync(log);
    return child;
  };
  const startExtender = () => {
    extender = inside([process.execPath, main, 'extender'], 'extender');
  };
  const stop = async (child: ChildProcess | undefined) => {
    if (child === undefined) return;
    child.kill('SIGTERM');
    await ended(child);
  };

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'quarry-scheduler-'));
    cluster = await startCluster({ nodes: [] });
    for (const [name, free] of [
      ['small', 512 * MiB],
      ['large', 2048 * MiB],
    ] as const) {
      await addNode(cluster, name, free);
    }
    await cluster.server('kube-scheduler').stop();
    const file = join(directory, 'scheduler.yaml');
    await writeFile(file, JSON.stringify(schedulerConfiguration(cluster.kubeconfig)));
    const { path, words } = cluster.programs['kube-scheduler'];
    const kubeconfig = ['authentication', 'authorization'].map(
      (what) => `--${what}-kubeconfig=${cluster.kubeconfig}`,
    );
    const argv = [path, ...words, `--config=${file}`, ...kubeconfig];
    scheduler = inside(argv, 'kube-scheduler-asking');
    startExtender();
  });

  after(async () => {
    await stop(extender);
    await stop(scheduler);
    await cluster?.stop();
    await rm(directory, { recursive: true });
  });

  test('a pod goes where there is room for what it wants', async () => {
    await addPod(cluster, 'fits', { wantedBytes: 1024 * MiB });
    assert.equal(await nodeOf(cluster, 'fits'), 'large');
  });

  test('a pod that fits nowhere is told why, with numbers', async () => {
    await addPod(cluster, 'huge', { wantedBytes: 4096 * MiB });
    const why = await waitUntil(
      'the scheduler has spoken',
      async () => {
        const { status } = await podOf(cluster, 'huge');
        const found = status.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '';
        return found.includes('VG') ? { found } : { missing: found };
      },
      patience,
    );
    assert.match(why, /out of VG free space: thick has 2 GiB free, 4 GiB wanted/);
    await cluster.kubectl(['delete', 'pod', 'huge', '--force']);
  });

  test('without the extender only pods that bear its mark wait, and they go on with it', async () => {
    await stop(extender);
    await addPod(cluster, 'marked', { wantedBytes: MiB });
    await addPod(cluster, 'plain', {});
    assert.match(await nodeOf(cluster, 'plain'), /^(small|large)$/);
    await waitUntil(
      'the marked pod is refused',
      async () => {
        const { status } = await podOf(cluster, 'marked');
        const missing = JSON.stringify(status.conditions ?? []);
        return missing.includes('9251') ? { found: true } : { missing };
      },
      patience,
    );
    assert.equal((await podOf(cluster, 'marked')).spec.nodeName, undefined);
    startExtender();
    assert.match(await nodeOf(cluster, 'marked'), /^(small|large)$/);
  });

  test('a webhook that is left behind refuses every pod, until the guide’s first command', async () => {
    await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(leftWebhook) });
    await waitUntil(
      'a pod is refused',
      async () => {
        const said = await cluster.tryKubectl(['run', 'refused', `--image=${busyboxImage}`]);
        if (said.exitCode === 0) await cluster.kubectl(['delete', 'pod', 'refused', '--force']);
        const isTold = said.stderr.includes('failed calling webhook "pod-hook.topolvm.io"');
        return isTold ? { found: true } : { missing: said.stderr };
      },
      patience,
    );
    const words = ['delete', 'mutatingwebhookconfiguration', 'topolvm-hook'];
    await cluster.kubectl(words);
    await waitUntil(
      'pods are taken again',
      async () => {
        const said = await cluster.tryKubectl(['run', 'taken', `--image=${busyboxImage}`]);
        return said.exitCode === 0 ? { found: true } : { missing: said.stderr };
      },
      patience,
    );
  });
});

/** As TopoLVM's documentation gives it. */
function schedulerConfiguration(kubeconfig: string): object {
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaderElect: false },
    clientConnection: { kubeconfig },
    extenders: [
      {
        ...{ urlPrefix: 'http://127.0.0.1:9251', filterVerb: 'predicate' },
        ...{ prioritizeVerb: 'prioritize', nodeCacheCapable: false, weight: 1 },
        managedResources: [{ name: 'topolvm.io/capacity', ignoredByScheduler: true }],
      },
    ],
  };
}

/** What a kubelet and an agent tell of a node; nobody runs there. */
async function addNode(cluster: Cluster, name: string, freeBytes: number): Promise<void> {
  const annotations = { 'capacity.topolvm.io/thick': String(freeBytes) };
  const labels = { 'kubernetes.io/hostname': name };
  const metadata = { name, annotations, labels };
  const node = { apiVersion: 'v1', kind: 'Node', metadata };
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(node) });
  const room = { cpu: '4', memory: '4Gi', pods: '100' };
  const { status } = await cluster.api.request(`/api/v1/nodes/${name}/status`, {
    ...{ method: 'PATCH', contentType: 'application/merge-patch+json' },
    body: { status: { capacity: room, allocatable: room } },
  });
  assert.equal(status, 200);
}

/** With marks as TopoLVM's webhook sets them, or without. */
async function addPod(
  cluster: Cluster,
  name: string,
  { wantedBytes }: { readonly wantedBytes?: number },
): Promise<void> {
  const isMarked = wantedBytes !== undefined;
  const annotations = { 'capacity.topolvm.io/thick': String(wantedBytes) };
  const resource = { 'topolvm.io/capacity': '1' };
  const resources = isMarked ? { requests: resource, limits: resource } : {};
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name, ...(isMarked ? { annotations } : {}) } },
    spec: {
      // Nobody says that these nodes are well.
      tolerations: [{ operator: 'Exists' }],
      containers: [{ name: 'main', image: busyboxImage, resources }],
    },
  };
  await cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(pod) });
}

async function podOf(cluster: Cluster, name: string): Promise<Pod> {
  const found = await cluster.api.get<Pod>(`/api/v1/namespaces/default/pods/${name}`);
  assert.ok(found !== undefined, name);
  return found;
}

function nodeOf(cluster: Cluster, name: string): Promise<string> {
  return waitUntil(
    `${name} has a node`,
    async () => {
      const { spec, status } = await podOf(cluster, name);
      const { nodeName } = spec;
      return nodeName === undefined ? { missing: JSON.stringify(status) } : { found: nodeName };
    },
    patience,
  );
}

/** Its service went with TopoLVM's controller. */
const leftWebhook = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  metadata: { name: 'topolvm-hook' },
  webhooks: [
    {
      ...{ name: 'pod-hook.topolvm.io', admissionReviewVersions: ['v1', 'v1beta1'] },
      ...{ failurePolicy: 'Fail', matchPolicy: 'Equivalent', sideEffects: 'None' },
      clientConfig: {
        service: { namespace: 'default', name: 'topolvm-controller', path: '/pod/mutate' },
      },
      rules: [
        { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
      ],
    },
  ],
};
