import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import { sizeAt } from '../kube/fake-api-rules.ts';
import { driver } from './programs.ts';
import { isBound } from './scheduler.ts';
import type { ClusterStage } from './stage.ts';
import { roomOn, roundedUp } from './truth.ts';

export type Reason = { readonly isProven: boolean; readonly why: string };

/** Why a claim has no volume, looked up on the disks and not asked of our own code. */
export function pendingReason(
  stage: ClusterStage,
  claim: PersistentVolumeClaim,
  /** Claims that were looked at already. */
  seen: ReadonlySet<string> = new Set(),
): Reason {
  const { name } = claim.metadata;
  const storageClass = stage.admin.storageClass(claim.spec.storageClassName);
  if (storageClass === undefined) return proven('there is no such class');
  const source = claim.spec.dataSource;
  const unfit = source === undefined ? undefined : sourceObjection(stage, claim, source);
  if (unfit !== undefined) return proven(unfit);
  const isWaiting = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
  const pods = stage.pods.all.filter(({ claims }) => claims.includes(name));
  if (isWaiting && pods.length === 0) return proven('nobody uses it');
  const begun = stage.admin.logicalVolumes.find(
    ({ metadata }) => metadata.name === `pvc-${claim.metadata.uid}`,
  );
  if (begun !== undefined && stage.removals.isGone(begun.spec.nodeName)) {
    return proven(`it was begun on ${begun.spec.nodeName}, which is gone`);
  }
  const asked = sizeAt(claim, 'spec.resources.requests.storage');
  const deviceClass = storageClass.parameters?.[`${driver}/device-class`] ?? '';
  const nodes = nodesFor(stage, claim);
  const open = nodes.filter((node) => {
    const machine = stage.machine(node);
    return roundedUp(asked, machine) <= roomOn(machine, deviceClass);
  });
  if (open.length === 0) return proven(`${asked} bytes are free on none of ${nodes.join(', ')}`);
  if (
    isWaiting &&
    pods.every((pod) => isHeldUp(stage, pod.claims, open, new Set([...seen, name])))
  ) {
    return proven('another volume of the pod is missing or elsewhere');
  }
  const told = pods.map(({ why }) => why).join('; ');
  return { isProven: false, why: `${asked} bytes are free on ${open.join(', ')} (${told})` };
}

function proven(why: string): Reason {
  return { isProven: true, why };
}

/** A copy is made where its source is. */
function nodesFor(stage: ClusterStage, claim: PersistentVolumeClaim): readonly string[] {
  const all = [...stage.machines.keys()].filter((node) => !stage.removals.isGone(node));
  const id = sourceId(stage, claim.spec.dataSource);
  const record = stage.admin.logicalVolumes.find(({ metadata }) => metadata.uid === id);
  return record === undefined ? all : all.filter((node) => node === record.spec.nodeName);
}

/** A copy is as large as its source at least, of the same device class and for the same use. */
function sourceObjection(
  stage: ClusterStage,
  claim: PersistentVolumeClaim,
  source: Source,
): string | undefined {
  const { admin } = stage;
  const id = sourceId(stage, source);
  const record = admin.logicalVolumes.find(({ metadata }) => metadata.uid === id);
  if (record === undefined) return 'its source is missing';
  const asked = sizeAt(claim, 'spec.resources.requests.storage');
  const from = source.kind === 'PersistentVolumeClaim' ? admin.claim(source.name) : undefined;
  const snapshot = admin.snapshot(source.name);
  const least = from === undefined ? sizeAt(snapshot as never, 'status.restoreSize') : 0n;
  const request = from === undefined ? 0n : sizeAt(from, 'spec.resources.requests.storage');
  const has = sizeAt(record, 'status.currentSize');
  if (asked < least || asked < request || asked < has) return `its source has ${has} bytes`;
  const { parameters } = admin.storageClass(claim.spec.storageClassName) ?? {};
  if (parameters?.[`${driver}/device-class`] !== record.spec.deviceClass) {
    return `its source is ${record.spec.deviceClass}`;
  }
  const content = admin.content(snapshot?.status?.boundVolumeSnapshotContentName ?? '');
  const mode = from?.spec.volumeMode ?? content?.spec.sourceVolumeMode;
  return mode === claim.spec.volumeMode ? undefined : `its source is for ${mode}`;
}

type Source = { readonly kind: string; readonly name: string };

function sourceId({ admin }: ClusterStage, source: Source | undefined): string | undefined {
  if (source === undefined) return undefined;
  if (source.kind === 'PersistentVolumeClaim') {
    const claim = admin.claim(source.name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
    return admin.volume(claim.spec.volumeName ?? '')?.spec.csi?.volumeHandle;
  }
  const snapshot = admin.snapshot(source.name);
  if (snapshot?.status?.readyToUse !== true) return undefined;
  if (snapshot.metadata.deletionTimestamp !== undefined) return undefined;
  const content = admin.content(snapshot.status.boundVolumeSnapshotContentName ?? '');
  return content?.status?.snapshotHandle;
}

/** A pod is scheduled when all its claims can be had together. */
function isHeldUp(
  stage: ClusterStage,
  claims: readonly string[],
  open: readonly string[],
  seen: ReadonlySet<string>,
): boolean {
  return claims.some((name) => {
    const claim = stage.admin.claim(name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return true;
    if (!isBound(claim)) return !seen.has(name) && pendingReason(stage, claim, seen).isProven;
    const volume = stage.admin.volume(claim.spec.volumeName ?? '');
    const [term] = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    const values = term?.matchExpressions?.[0]?.values ?? [];
    return !values.some((node) => open.includes(node));
  });
}
