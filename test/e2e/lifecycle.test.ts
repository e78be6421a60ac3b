import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultSettings, manifests } from '../../tools/manifests-objects.ts';
import { leaderOf, ourPods, settled, untilCalm } from './calm.ts';
import { KeptPod, nodeIsGone, recordNamed, untilTold } from './kept-pod.ts';
import { E2eStage } from './stage.ts';

describe('nodes, installations and leaders come and go', { timeout: 3_000_000 }, () => {
  let stage: E2eStage;

  before(async () => {
    stage = await E2eStage.open();
  });

  afterEach(async () => {
    await stage.audit();
  });

  after(async () => {
    await stage?.close();
  });

  test('a leader that is told to go hands its lease over, and volumes are made meanwhile', async (t) => {
    await settled(stage);
    const leader = await leaderOf(stage);
    const kept = new KeptPod(stage, 'n1', ['handed', 'handed-2', 'handed-3']);
    const made = kept.make();
    const gap = await handOver(stage, leader);
    await made;
    t.diagnostic(`the lease was without a holder for ${gap} ms`);
    // Who waits for a lease to run out waits for 15 seconds after its last renewal.
    assert.ok(gap < 15_000, `the lease was not given back: ${gap} ms`);
    await settled(stage);
    assert.equal(await leadersByTheirWord(stage), 1);
    const restart = ['rollout', 'restart', 'deployment', 'lvms-operator'];
    await stage.cluster.kubectl([...restart, '--namespace=quarry-system']);
    await kept.holds(1);
    await kept.remove();
    await settled(stage);
    assert.equal(await leadersByTheirWord(stage), 1);
  });

  test('a Node that is deleted by mistake takes nothing with it', async () => {
    await settled(stage);
    const kept = new KeptPod(stage, 'n2', ['mistake', 'mistake-2']);
    await kept.make();
    const [record] = await Promise.all([kept.recordOf('mistake'), kept.isUntouched()]);
    await stage.cluster.kubectl(['delete', 'node', 'n2', '--wait=false']);
    await nodeIsGone(stage, 'n2');
    await untilTold(stage, 'VolumesLeftBehind', record);
    await podIsGone(stage, kept.name);
    await kept.isUntouched();
    await stage.cluster.stopKubelet('n2');
    stage.cluster.startKubelet('n2');
    await settled(stage);
    await stage.isServing();
    await kept.start();
    await kept.holds(1);
    await kept.isUntouched();
    await kept.remove();
  });

  test('volumes of a node that is lost are kept until somebody gives them up', async () => {
    await settled(stage);
    const kept = new KeptPod(stage, 'n2', ['lost', 'lost-waits', 'lost-given-up']);
    await kept.make();
    const [waits, givenUp] = await Promise.all([
      kept.recordOf('lost-waits'),
      kept.recordOf('lost-given-up'),
    ]);
    const uid = (await recordNamed(stage, givenUp))?.metadata.uid ?? '';
    await stage.cluster.node('n2').cutPower({ loseUnflushed: true });
    await stage.cluster.kubectl(['delete', 'node', 'n2', '--wait=false']);
    await nodeIsGone(stage, 'n2');
    await podIsGone(stage, kept.name);
    await stage.remove('pvc', 'lost-waits');
    await stage.cluster.kubectl(['annotate', 'logicalvolume', givenUp, 'quarry.io/discard=true']);
    await untilCalm(stage, 'what was given up is gone', async () => {
      return (await recordNamed(stage, givenUp)) === undefined;
    });
    await untilTold(stage, 'NodeGone', waits);
    assert.ok(await recordNamed(stage, waits), 'nobody gave it up');
    assert.equal(
      (await recordNamed(stage, await kept.recordOf('lost')))?.metadata.deletionTimestamp,
      undefined,
    );
    await stage.remove('pvc', 'lost-given-up');
    await stage.cluster.startNode('n2', { timeoutMs: 240_000 });
    await settled(stage);
    await untilCalm(stage, 'what was deleted meanwhile goes', async () => {
      return (await recordNamed(stage, waits)) === undefined;
    });
    // Its object went without its node, so its data is still there, and an administrator's.
    const left = await stage.lvs();
    assert.ok(left.includes(uid), `${uid} is among ${left.join(' ')}`);
    await stage.cluster.node('n2').sh(`lvm lvremove --yes data/${uid}`);
    await stage.pod('lost', ['lost'], 'n2');
    assert.equal(await stage.exec('lost', 'cat /data/lost/mark'), 'lost\n');
    await stage.remove('pod', 'lost');
    await stage.remove('pvc', 'lost');
  });

  test('an uninstallation leaves volumes alone, and the next installation finds them', async (t) => {
    await settled(stage);
    const used = new KeptPod(stage, 'n1', ['used', 'used-2']);
    const idle = new KeptPod(stage, 'n2', ['idle', 'idle-2']);
    await Promise.all([used.make(), idle.make()]);
    const gone = await idle.recordOf('idle-2');
    await stage.remove('pod', idle.name);
    const installed = await installedObjects(stage);
    await stage.timed('uninstalled', () => uninstall(stage, installed));
    await used.write();
    await used.holds(2);
    await Promise.all([used.isUntouched(), idle.isUntouched()]);
    await stage.remove('pvc', 'idle-2');
    await sleep(5_000);
    await used.isUntouched();
    assert.ok(await recordNamed(stage, gone), 'nobody is there to remove it');
    await stage.timed('installed again', async () => {
      await stage.cluster.apply(installed);
      await stage.isServing();
    });
    await settled(stage);
    await used.holds(2);
    await stage.claim('used', { className: 'thick', size: '64Mi' });
    await untilCalm(stage, 'a volume of the first installation grows', async () => {
      const [, line = ''] = (await stage.exec('used', 'df -P -m /data/used')).split('\n');
      return Number(line.split(/\s+/)[1]) > 45;
    });
    await stage.pod('idle', ['idle'], 'n2');
    assert.equal(await stage.exec('idle', 'cat /data/idle/mark'), 'idle\n');
    await untilCalm(stage, 'what was deleted meanwhile goes', async () => {
      return (await recordNamed(stage, gone)) === undefined;
    });
    await used.remove();
    await stage.remove('pod', 'idle');
    await stage.remove('pvc', 'idle');
    for (const line of stage.timings.splice(0)) t.diagnostic(line);
  });
});

type Lease = {
  readonly spec: {
    readonly holderIdentity?: string;
    readonly acquireTime?: string;
    readonly renewTime?: string;
  };
};

/** Deletes the leader, in order, and tells how long after its last word another one led. */
async function handOver(stage: E2eStage, leader: string): Promise<number> {
  const path = '/apis/coordination.k8s.io/v1/namespaces/quarry-system/leases/1136b8a6.topolvm.io';
  const words = ['delete', 'pod', leader, '--namespace=quarry-system', '--wait=false'];
  const before = await stage.cluster.api.get<Lease>(path);
  let lastMs = Date.parse(before?.spec.renewTime ?? '');
  let takenMs = 0;
  await stage.cluster.kubectl(words);
  await untilCalm(stage, 'another one leads', async () => {
    const { spec } = (await stage.cluster.api.get<Lease>(path)) ?? { spec: {} };
    const [holder = ''] = (spec.holderIdentity ?? '').split('_');
    if (holder === leader) lastMs = Date.parse(spec.renewTime ?? '');
    if (holder === leader || holder === '') return false;
    takenMs = Date.parse(spec.acquireTime ?? '');
    return true;
  });
  return takenMs - lastMs;
}

/** How many operators say of themselves that they lead. */
async function leadersByTheirWord(stage: E2eStage): Promise<number> {
  const pods = (await ourPods(stage)).filter(({ metadata }) =>
    metadata.name.startsWith('lvms-operator-'),
  );
  const said = await Promise.all(
    pods.map(({ metadata }) =>
      stage.cluster.kubectl([
        ...['get', '--raw'],
        `/api/v1/namespaces/quarry-system/pods/${metadata.name}:8080/proxy/metrics`,
      ]),
    ),
  );
  return said.filter((text) => /^quarry_leader 1$/m.test(text)).length;
}

/** Pods of a Node that is gone are collected by Kubernetes, or by whoever is in a hurry. */
async function podIsGone(stage: E2eStage, name: string): Promise<void> {
  const words = ['delete', 'pod', name, '--force', '--grace-period=0', '--ignore-not-found'];
  await stage.cluster.kubectl(words);
}

/** What `deploy/quarry.yaml` has, with the image that runs here. */
async function installedObjects(stage: E2eStage): Promise<readonly object[]> {
  const image = await stage.cluster.kubectl([
    ...['get', 'daemonset', 'vg-manager', '--namespace=quarry-system'],
    '--output=jsonpath={.spec.template.spec.containers[0].image}',
  ]);
  const release = { version: '', image: { repository: '', tag: '', digest: '' } };
  const made = manifests({ ...defaultSettings(release), image });
  return [...made.driver, ...made.operator, ...made.agent, ...made.webhook];
}

async function uninstall(stage: E2eStage, objects: readonly object[]): Promise<void> {
  const list = { apiVersion: 'v1', kind: 'List', items: objects };
  const stdin = JSON.stringify(list);
  await stage.cluster.kubectl(['delete', '--filename=-', '--timeout=240s'], { stdin });
}
