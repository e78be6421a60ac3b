import assert from 'node:assert/strict';
import { untilCalm } from './calm.ts';
import { send } from './send.ts';
import { type Snapshot, type SnapshotContent, type Snapshots, snapshotGroup } from './snapshots.ts';
import type { E2eStage } from './stage.ts';
import type { Operation } from './volume-life.ts';
import { progressOf } from './volume-sights.ts';

type SnapshotSight = {
  readonly hasContent: boolean;
  /** Its LogicalVolume. */
  readonly hasRecord: boolean;
  readonly isMade: boolean;
  readonly isTold: boolean;
  readonly isReady: boolean;
};

type Record = {
  readonly metadata: { readonly name: string };
  readonly status?: { readonly volumeID?: string };
};

/** A snapshot of each claim at once, named after it. What it has is seen in a claim made from it. */
export function snapshotOf(
  snapshots: Snapshots,
  stage: E2eStage,
  claims: readonly string[],
  node: string,
): Operation {
  return {
    name: 'snapshot',
    begin: async () => {
      const path = `/apis/${snapshotGroup}/v1/namespaces/default/volumesnapshots`;
      await Promise.all(claims.map((claim) => send(stage, 'POST', path, snapshotObject(claim))));
    },
    look: async () =>
      progressOf(await look(stage, claims), [
        (one) => one.hasContent,
        (one) => one.hasRecord,
        (one) => one.isMade,
        (one) => one.isTold,
        (one) => one.isReady,
      ]),
    // None is left when it is done.
    again: async () => {},
    isDone: async () => {
      // The stock controller ends when it cannot renew its lease; kubelet would start it again.
      await snapshots.controller.stop();
      snapshots.controller.start();
      await untilCalm(stage, 'the snapshots are ready', async () =>
        (await look(stage, claims)).every((one) => one.isReady),
      );
      await isRestored(snapshots, stage, claims, node);
      await snapshots.remove(...claims);
      await snapshots.audit();
    },
  };
}

async function isRestored(
  snapshots: Snapshots,
  stage: E2eStage,
  claims: readonly string[],
  node: string,
): Promise<void> {
  const restored = claims.map((claim) => `${claim}-again`);
  for (const claim of claims) {
    const className = claim.includes('thin') ? 'thin' : 'thick';
    const dataSource = snapshots.source(claim);
    await stage.claim(`${claim}-again`, { className, size: '64Mi', dataSource });
  }
  const pod = `${claims[0]}-again`;
  await stage.pod(pod, restored, node);
  const marks = restored.map((claim) => `/data/${claim}/mark`).join(' ');
  const wanted = claims.map((claim) => `${claim}\n`).join('');
  assert.equal(await stage.exec(pod, `cat ${marks}`), wanted);
  await stage.remove('pod', pod);
  await stage.remove('pvc', ...restored);
}

async function look(stage: E2eStage, claims: readonly string[]): Promise<readonly SnapshotSight[]> {
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await stage.cluster.api.get<{ readonly items: readonly T[] }>(path))?.items ?? [];
  const [snapshots, contents, records] = await Promise.all([
    list<Snapshot>(`/apis/${snapshotGroup}/v1/volumesnapshots`),
    list<SnapshotContent>(`/apis/${snapshotGroup}/v1/volumesnapshotcontents`),
    list<Record>('/apis/topolvm.io/v1/logicalvolumes'),
  ]);
  return claims.map((claim) => {
    const snapshot = snapshots.find(({ metadata }) => metadata.name === claim);
    const uid = snapshot?.metadata.uid;
    const content = contents.find(({ metadata }) => metadata.name === `snapcontent-${uid}`);
    const record = records.find(({ metadata }) => metadata.name === `snapshot-${uid}`);
    return {
      hasContent: content !== undefined,
      hasRecord: record !== undefined,
      isMade: record?.status?.volumeID !== undefined,
      isTold: content?.status?.readyToUse === true,
      isReady: snapshot?.status?.readyToUse === true,
    };
  });
}

function snapshotObject(claim: string): object {
  return {
    ...{ apiVersion: `${snapshotGroup}/v1`, kind: 'VolumeSnapshot', metadata: { name: claim } },
    spec: { volumeSnapshotClassName: 'delete', source: { persistentVolumeClaimName: claim } },
  };
}
