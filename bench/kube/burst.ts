import { busyboxImage } from '../../lab/cluster/index.ts';
import { type Look, waitUntil } from '../../lab/cluster/wait.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { claimKind, logicalVolumeKind } from '../../src/kube/kinds.ts';
import type { Burst, NodeTime } from './figures.ts';
import { between } from './node-time.ts';
import { namespace, podKind, type Seen } from './seen.ts';

export const className = 'bench';
const patience = { timeoutMs: 600_000 };

export type BurstPlan = {
  readonly name: string;
  readonly claims: number;
  /** A pod for each so many claims: a node runs no hundred pods at once here. */
  readonly claimsPerPod: number;
  readonly time: () => Promise<NodeTime>;
};

/** Claims and the pods that want them, all asked for at once; then all of it goes again. */
export async function runBurst(client: KubeClient, seen: Seen, plan: BurstPlan): Promise<Burst> {
  const before = await plan.time();
  const asked = await askFor(client, plan);
  await isThere('bound', asked.claims, seen.boundAtMs);
  const time = between(before, await plan.time());
  await isThere('ready', asked.pods, seen.readyAtMs);
  const lasted = (askedAtMs: ReadonlyMap<string, number>, at: ReadonlyMap<string, number>) =>
    [...askedAtMs].map(([name, fromMs]) => (at.get(name) ?? Number.NaN) - fromMs);
  const firstMs = Math.min(...asked.claims.values());
  const bound = [...asked.claims.keys()].map((name) => seen.boundAtMs.get(name) ?? Number.NaN);
  const burst = {
    ...{ claims: plan.claims, pods: asked.pods.size },
    boundMs: lasted(asked.claims, seen.boundAtMs),
    readyMs: lasted(asked.pods, seen.readyAtMs),
    allBoundMs: Math.max(...bound) - firstMs,
    time,
  };
  return burst;
}

type Asked = {
  readonly claims: ReadonlyMap<string, number>;
  readonly pods: ReadonlyMap<string, number>;
};

async function askFor(client: KubeClient, plan: BurstPlan): Promise<Asked> {
  const claims = new Map<string, number>();
  const pods = new Map<string, number>();
  const count = Math.ceil(plan.claims / plan.claimsPerPod);
  const one = async (index: number) => {
    const first = index * plan.claimsPerPod;
    const length = Math.min(plan.claimsPerPod, plan.claims - first);
    const names = Array.from({ length }, (_, at) => `${plan.name}-${first + at}`);
    for (const name of names) {
      claims.set(name, performance.now());
      await client.create(claimKind, claimObject(name));
    }
    const pod = `${plan.name}-pod-${index}`;
    pods.set(pod, performance.now());
    await client.create(podKind, podObject(pod, names));
  };
  await Promise.all(Array.from({ length: count }, (_, index) => one(index)));
  return { claims, pods };
}

/** Nothing of a burst is left, on the nodes neither. */
export async function sweep(client: KubeClient, seen: Seen): Promise<void> {
  const pods = await client.list(podKind, { namespace });
  await Promise.all(pods.items.map(({ metadata }) => client.delete(podKind, metadata)));
  await until('no pod is left', () => Promise.resolve(seen.pods === 0));
  const claims = await client.list(claimKind, { namespace });
  await Promise.all(claims.items.map(({ metadata }) => client.delete(claimKind, metadata)));
  const kind = logicalVolumeKind('topolvm.io');
  await until('no volume is left', async () => (await client.list(kind)).items.length === 0);
}

export async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const look = async (): Promise<Look<true>> =>
    (await isTrue()) ? { found: true } : { missing: 'not yet' };
  await waitUntil(what, look, patience);
}

async function isThere(
  what: string,
  asked: ReadonlyMap<string, number>,
  at: ReadonlyMap<string, number>,
): Promise<void> {
  await waitUntil(
    `all are ${what}`,
    async (): Promise<Look<true>> => {
      const missing = [...asked.keys()].filter((name) => !at.has(name));
      return missing.length === 0 ? { found: true } : { missing: missing.join(' ') };
    },
    patience,
  );
}

function claimObject(name: string) {
  return {
    metadata: { name, namespace },
    spec: {
      ...{ accessModes: ['ReadWriteOnce'], storageClassName: className },
      resources: { requests: { storage: '64Mi' } },
    },
  };
}

function podObject(name: string, claims: readonly string[]) {
  return {
    metadata: { name, namespace },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          ...{ name: 'main', image: busyboxImage, imagePullPolicy: 'Never' },
          command: ['sh', '-c', 'exec sleep 1000000'],
          volumeMounts: claims.map((claim) => ({ name: claim, mountPath: `/data/${claim}` })),
        },
      ],
      volumes: claims.map((claim) => ({
        ...{ name: claim, persistentVolumeClaim: { claimName: claim } },
      })),
    },
  };
}
