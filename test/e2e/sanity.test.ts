import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  bringSanity,
  countsOf,
  runSpecs,
  showCounts,
  skipsByReason,
} from '../../lab/sanity/index.ts';
import { leaderOf, namespace } from './calm.ts';
import { E2eStage } from './stage.ts';

/** Where kubelet mounts volumes for pods, so that the agent sees what is mounted there. */
const mounts = '/var/lib/kubelet/plugins/kubernetes.io/csi';
const socket = '/var/lib/kubelet/plugins/topolvm.io/node/csi-topolvm.sock';

/** Whoever has a controller of his own, as stock sidecars are, calls these sockets. */
describe('csi-sanity against operator and agent', { timeout: 1_800_000 }, () => {
  let stage: E2eStage;
  let controllerSocket: string;

  before(async () => {
    // One node: csi-sanity asks for none, and mounts what it made where it runs.
    stage = await E2eStage.openAlone();
    await bringSanity(stage.cluster.node('n1'), (line) => process.stderr.write(`lab: ${line}\n`));
    controllerSocket = await socketOfLeader(stage);
  });

  after(async () => {
    await stage?.close();
  });

  for (const [className, access] of [
    ['thin', 'mount'],
    ['thick', 'mount'],
    ['small', 'block'],
  ] as const) {
    test(`${className}, ${access}: every spec passes that its capabilities allow`, async (t) => {
      const report = await runSpecs(stage.cluster.node('n1'), {
        ...{ className, access, socket, controllerSocket },
        directory: `${mounts}/sanity-${className}`,
        logDirectory: stage.cluster.lab.logDirectory,
      });
      t.diagnostic(`${className}: ${showCounts(countsOf(report))}`);
      for (const [reason, specs] of skipsByReason(report)) {
        t.diagnostic(`${specs.length} skipped: ${reason}`);
      }
      const what = report.failed.length === 0 ? '' : await stage.describe();
      assert.deepEqual(report.failed, [], `seed ${report.seed}\n${what}`);
      await stage.audit();
    });
  }
});

/** By a short name, as the path of a socket may have 107 characters. */
async function socketOfLeader(stage: E2eStage): Promise<string> {
  let pod = '';
  await stage.until('somebody leads', async () => {
    pod = await leaderOf(stage);
    return pod !== '';
  });
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}`;
  const leader = await stage.cluster.api.get<{ readonly metadata: { readonly uid: string } }>(path);
  const volumes = `/var/lib/kubelet/pods/${leader?.metadata.uid}/volumes/kubernetes.io~empty-dir`;
  await stage.cluster
    .node('n1')
    .sh(`ls ${volumes}/socket/ && ln -s ${volumes}/socket /run/operator`);
  return '/run/operator/csi-topolvm.sock';
}
