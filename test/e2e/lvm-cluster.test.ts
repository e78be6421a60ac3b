import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GiB } from '../../lab/index.ts';
import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import { lookAtNode } from './audit/look.ts';
import { E2eStage } from './stage.ts';

const namespace = 'quarry-system';
const path = `/apis/lvm.topolvm.io/v1alpha1/namespaces/${namespace}/lvmclusters`;
const disks = ['a', 'b', 'c'].map((name) => ({ name, sizeBytes: 2n * GiB }));

/** One after the other: each goes on where the one before ended. */
describe('an LVMCluster on bare disks', { timeout: 1_800_000 }, () => {
  let stage: E2eStage;
  let classes: readonly LvmDeviceClass[] = [];

  before(async () => {
    stage = await E2eStage.openBare(disks);
    classes = await deviceClasses(stage);
  });

  after(async () => {
    await stage?.close();
  });

  test('it becomes Ready on both nodes, and a pod writes to its classes', async () => {
    await stage.until('the webhook answers', () => isTaken(stage, clusterOf(classes)));
    await stage.until('it is Ready', async () => (await stateOf(stage, 'mine')) === 'Ready');
    for (const node of stage.cluster.nodes) {
      const { lvs, pvs } = await lookAtNode(node);
      assert.deepEqual([...new Set(pvs.map(({ group }) => group))].toSorted(), ['vg1', 'vg2']);
      assert.ok(lvs.some(({ name }) => name === 'pool'));
    }
    await stage.claim('thin', { className: 'lvms-vg1', size: '1Gi' });
    await stage.claim('thick', { className: 'lvms-vg2', size: '1Gi' });
    await stage.pod('writer', ['thin', 'thick']);
    await stage.exec('writer', 'echo one > /data/thin/file && echo two > /data/thick/file && sync');
  });

  test('agents and operators that are killed change nothing', async () => {
    await stage.killOurs();
    await stage.hasDriver();
    await stage.until('it is Ready', async () => (await stateOf(stage, 'mine')) === 'Ready');
    assert.equal(await stage.exec('writer', 'cat /data/thin/file /data/thick/file'), 'one\ntwo\n');
  });

  test('what would harm somebody is refused, and says why', async () => {
    await refused(stage, { ...clusterOf(classes), metadata: { name: 'other', namespace } }, [
      /there can be one LVMCluster only/,
    ]);
    await refused(stage, clusterOf(classes.slice(0, 1)), [/default\/thick/]);
    const remove = () => stage.cluster.api.request(`${path}/mine`, { method: 'DELETE' });
    await refusedBy(stage, remove, [/cannot be deleted.*default\/(thick|thin)/]);
  });

  test('without volumes it goes, and leaves bare disks', async () => {
    await stage.remove('pod', 'writer');
    await stage.remove('pvc', 'thin', 'thick');
    await stage.until('no volume is left', async () => {
      const volumes = await stage.cluster.api.get<List>('/api/v1/persistentvolumes');
      const objects = await stage.cluster.api.get<List>('/apis/topolvm.io/v1/logicalvolumes');
      return volumes?.items.length === 0 && objects?.items.length === 0;
    });
    await stage.cluster.kubectl([
      ...['delete', 'lvmcluster', 'mine', `--namespace=${namespace}`, '--timeout=300s'],
    ]);
    for (const node of stage.cluster.nodes) {
      const { pvs } = await lookAtNode(node);
      assert.deepEqual(pvs, []);
    }
    const names = await stage.cluster.kubectl(['get', 'storageclass', '--output=name']);
    assert.doesNotMatch(names, /lvms-/);
  });
});

type List = { readonly items: readonly object[] };

/** Disks may have other names on another node: each class names all of them. */
async function deviceClasses({ cluster }: E2eStage): Promise<readonly LvmDeviceClass[]> {
  const paths = async (...names: readonly string[]) => {
    const all = cluster.nodes.flatMap((node) => names.map((name) => node.devicePath(name)));
    return [...new Set(await Promise.all(all))];
  };
  return [
    {
      ...{ name: 'vg1', default: true, fstype: 'ext4' },
      deviceSelector: { paths: await paths('a', 'b') },
      thinPoolConfig: { name: 'pool', sizePercent: 90, overprovisionRatio: 10 },
    },
    { name: 'vg2', fstype: 'xfs', deviceSelector: { paths: await paths('c') } },
  ];
}

function clusterOf(deviceClasses: readonly LvmDeviceClass[]) {
  return {
    ...{ apiVersion: 'lvm.topolvm.io/v1alpha1', kind: 'LVMCluster' },
    metadata: { name: 'mine', namespace },
    spec: { storage: { deviceClasses } },
  };
}

type Draft = ReturnType<typeof clusterOf>;

async function apply({ cluster }: E2eStage, draft: Draft) {
  return cluster.api.request(`${path}/${draft.metadata.name}?fieldManager=e2e&force=true`, {
    ...{ method: 'PATCH', contentType: 'application/apply-patch+yaml', body: draft },
    timeoutMs: 60_000,
  });
}

/** Until there is a certificate nobody answers, and nothing is taken. */
async function isTaken(stage: E2eStage, draft: Draft): Promise<boolean> {
  const { status, text } = await apply(stage, draft);
  if (status < 300) return true;
  assert.match(text, /failed calling webhook|not been read yet/);
  return false;
}

async function refused(stage: E2eStage, draft: Draft, why: readonly RegExp[]): Promise<void> {
  await refusedBy(stage, () => apply(stage, draft), why);
}

type Answer = { readonly status: number; readonly text: string };

/** Operators that were killed answer again after a moment; until then nothing is taken either. */
async function refusedBy(
  stage: E2eStage,
  ask: () => Promise<Answer>,
  why: readonly RegExp[],
): Promise<void> {
  let last: Answer = { status: 0, text: '' };
  await stage.until('the webhook answers', async () => {
    last = await ask();
    assert.ok(last.status >= 300, last.text);
    return !/failed calling webhook|not been read yet/.test(last.text);
  });
  assert.equal(last.status, 422, last.text);
  for (const one of why) assert.match(last.text, one);
}

async function stateOf({ cluster }: E2eStage, name: string): Promise<string | undefined> {
  const object = await cluster.api.get<LvmCluster>(`${path}/${name}`);
  return object?.status?.state;
}
