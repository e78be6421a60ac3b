import assert from 'node:assert/strict';
import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import { collectionOf } from './api.ts';
import { lookAtNode } from './audit/look.ts';
import type { E2eStage } from './stage.ts';

/** An LVMCluster as its administrator has it in hand. */

export const namespace = 'quarry-system';
const api = '/apis/lvm.topolvm.io/v1alpha1';
export const path = `${api}/namespaces/${namespace}/lvmclusters`;

export function clusterOf(deviceClasses: readonly LvmDeviceClass[]) {
  return {
    ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster' },
    metadata: { name: 'mine', namespace },
    spec: { storage: { deviceClasses } } as LvmCluster['spec'],
  };
}

export type Draft = ReturnType<typeof clusterOf>;

/** Names that stay when a node boots. Each node has a disk of its own under that name. */
export async function linksOf({ cluster }: E2eStage, disk: string): Promise<readonly string[]> {
  return Promise.all(
    cluster.nodes.map(async (node) => {
      const device = await node.devicePath(disk);
      const script = `for link in /dev/disk/by-id/wwn-*; do
        if [ "$(readlink -f $link)" = ${device} ]; then echo $link; fi
      done`;
      return (await node.sh(script)).trim();
    }),
  );
}

/** Disks of every node, under names that stay. */
export async function disksOf(stage: E2eStage, ...names: readonly string[]) {
  const links = await Promise.all(names.map((name) => linksOf(stage, name)));
  return { optionalPaths: links.flat() };
}

export async function stateOf({ cluster }: E2eStage): Promise<string | undefined> {
  const object = await cluster.api.get<LvmCluster>(`${path}/mine`);
  return object?.status?.state;
}

export async function isReady(stage: E2eStage): Promise<void> {
  await stage.until('it is Ready', async () => (await stateOf(stage)) === 'Ready');
}

export async function hasDevices(stage: E2eStage, group: string, count: number): Promise<void> {
  await stage.until(`${group} has ${count} devices`, async () => {
    const nodes = await Promise.all(stage.cluster.nodes.map(lookAtNode));
    return nodes.every(({ pvs }) => pvs.filter((pv) => pv.group === group).length === count);
  });
}

/** What is told of a group on a node. */
export async function groupOn({ cluster }: E2eStage, group: string, node: string) {
  const object = await cluster.api.get<LvmCluster>(`${path}/mine`);
  return object?.status?.deviceClassStatuses
    ?.find(({ name }) => name === group)
    ?.nodeStatus?.find((one) => one.node === node);
}

async function apply({ cluster }: E2eStage, draft: Draft) {
  const { name, namespace: where } = draft.metadata;
  const target = `${api}/namespaces/${where}/lvmclusters/${name}`;
  return cluster.api.request(`${target}?fieldManager=e2e&force=true`, {
    ...{ method: 'PATCH', contentType: 'application/apply-patch+yaml', body: draft },
    timeoutMs: 60_000,
  });
}

const noAnswer = /failed calling webhook|not been read yet/;

/** Until there is a certificate nobody answers, and nothing is taken. */
export async function isTaken(stage: E2eStage, draft: Draft): Promise<boolean> {
  const { status, text } = await apply(stage, draft);
  if (status < 300) return true;
  assert.match(text, noAnswer);
  return false;
}

export async function taken(stage: E2eStage, draft: Draft): Promise<void> {
  await stage.until('the webhook answers', () => isTaken(stage, draft));
}

export async function refused(stage: E2eStage, draft: Draft, ...why: readonly RegExp[]) {
  await refusedBy(stage, () => apply(stage, draft), why);
}

/** It would be taken, and something is said of it. */
export async function warned({ cluster }: E2eStage, draft: Draft, why: RegExp): Promise<void> {
  const words = ['apply', '--server-side', '--dry-run=server', '--filename=-'];
  const { exitCode, stderr } = await cluster.tryKubectl(words, { stdin: JSON.stringify(draft) });
  assert.equal(exitCode, 0, stderr);
  assert.match(stderr, why);
  assert.match(stderr, /^Warning: /);
}

/** The deletion of the LVMCluster. */
export async function staysFor(stage: E2eStage, ...why: readonly RegExp[]): Promise<void> {
  const remove = () => stage.cluster.api.request(`${path}/mine`, { method: 'DELETE' });
  await refusedBy(stage, remove, why);
}

type Answer = { readonly status: number; readonly text: string };

/** Operators that were killed answer again after a moment; until then nothing is taken either. */
export async function refusedBy(
  stage: E2eStage,
  ask: () => Promise<Answer>,
  why: readonly RegExp[],
): Promise<void> {
  let last: Answer = { status: 0, text: '' };
  await stage.until('the webhook answers', async () => {
    last = await ask();
    return last.status < 300 || !noAnswer.test(last.text);
  });
  assert.equal(last.status, 422, last.text);
  for (const one of why) assert.match(last.text, one);
}

/** Nothing is on these disks, and not in LVM's eyes only. */
export async function areBare(stage: E2eStage, disks: readonly string[]): Promise<void> {
  for (const node of stage.cluster.nodes) {
    const paths = await Promise.all(disks.map((disk) => node.devicePath(disk)));
    await stage.until(`${paths.join(' ')} of ${node.name} are bare`, async () => {
      return (await node.sh(`wipefs --noheadings ${paths.join(' ')}`)).trim() === '';
    });
  }
}

/** The deletion is taken; whether it comes to its end is another question. */
export async function isGoing(stage: E2eStage): Promise<void> {
  await stage.until('its deletion is taken', async () => {
    const { status } = await stage.cluster.api.request(`${path}/mine`, { method: 'DELETE' });
    return status < 300 || status === 404;
  });
}

type List<T = object> = { readonly items: readonly T[] };
type Named = { readonly metadata: { readonly name: string } };

/** Volumes first, and then the LVMCluster: bare disks are left. */
export async function takeAway(stage: E2eStage, disks: readonly string[]): Promise<void> {
  const { api } = stage.cluster;
  for (const kind of ['pod', 'pvc']) {
    const list = await api.get<List<Named>>(collectionOf(kind) ?? '');
    await stage.remove(kind, ...(list?.items ?? []).map(({ metadata }) => metadata.name));
  }
  await stage.until('no volume is left', async () => {
    const volumes = await api.get<List>('/api/v1/persistentvolumes');
    const objects = await api.get<List>('/apis/topolvm.io/v1/logicalvolumes');
    return volumes?.items.length === 0 && objects?.items.length === 0;
  });
  await isGoing(stage);
  await stage.until('it is gone', async () => {
    return (await api.get<object>(`${path}/mine`)) === undefined;
  });
  for (const node of stage.cluster.nodes) assert.deepEqual((await lookAtNode(node)).pvs, []);
  await areBare(stage, disks);
  const classes = await stage.cluster.kubectl(['get', 'storageclass', '--output=name']);
  assert.doesNotMatch(classes, /lvms-/);
  await stage.audit();
}
