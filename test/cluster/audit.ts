import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import { unpublishedAnnotation } from '../../src/core/cluster/names.ts';
import { sizeAt } from '../kube/fake-api-rules.ts';
import { cowSnapshotsOf, type Lv, virtualBytes } from '../world/model.ts';
import { pendingReason } from './audit-pending.ts';
import { auditPods } from './audit-pods.ts';
import { driver } from './programs.ts';
import { isBound } from './scheduler.ts';
import type { ClusterStage } from './stage.ts';
import { roomOn, volumesOn } from './truth.ts';

/**
 * Compares what is on all disks with all objects, pods and mounts, at rest: nothing is leaked,
 * nothing is lost, nothing is stuck. Each finding is a sentence.
 */
export function audit(stage: ClusterStage): readonly string[] {
  return [
    ...stage.bugs.map((bug) => `a bug: ${bug}`),
    ...auditDisks(stage),
    ...stage.admin.logicalVolumes.flatMap((object) => auditRecord(stage, object)),
    ...stage.admin.volumes.flatMap((volume) => auditVolume(stage, volume)),
    ...stage.admin.claims.flatMap((claim) => auditClaim(stage, claim)),
    ...auditSnapshots(stage),
    ...auditPods(stage),
    ...auditCapacities(stage),
    ...[...stage.machines.values()].flatMap(({ world }) =>
      world.unknown.map((words) => `the fake did not understand ${words}`),
    ),
  ];
}

function auditDisks(stage: ClusterStage): readonly string[] {
  const records = new Map(stage.admin.logicalVolumes.map((one) => [one.metadata.uid, one]));
  return [...stage.machines.values()].flatMap((machine) =>
    volumesOn(machine).flatMap((lv) => {
      const record = records.get(lv.name);
      if (record === undefined) return [`the LV ${lv.name} on ${machine.name} is leaked`];
      if (record.spec.nodeName === machine.name) return [];
      return [`${record.metadata.name} is on ${machine.name} and on ${record.spec.nodeName}`];
    }),
  );
}

/**
 * Who dies between taking off the mark and making the PersistentVolume leaves a volume that looks
 * like one that was kept. Only an administrator may remove it.
 */
export const unmarked = ', and its mark is gone';

function auditRecord(stage: ClusterStage, object: LogicalVolume): readonly string[] {
  const { name, uid, deletionTimestamp, annotations } = object.metadata;
  // It is what the claim wants, and will be made when what stands in the way is gone.
  const claim = stage.admin.claims.find((one) => name === `pvc-${one.metadata.uid}`);
  if (claim !== undefined && !isBound(claim) && pendingReason(stage, claim).isProven) return [];
  const findings: string[] = [];
  const machine = stage.machines.get(object.spec.nodeName);
  const lv = machine === undefined ? undefined : volumesOn(machine).find((one) => one.name === uid);
  if (deletionTimestamp !== undefined && !isOrigin(lv)) {
    findings.push(`the LogicalVolume ${name} does not go`);
  }
  if (lv === undefined) findings.push(`the LogicalVolume ${name} has no LV: it is lost`);
  const told = sizeAt(object, 'status.currentSize');
  if (object.status?.volumeID !== uid) findings.push(`the LogicalVolume ${name} was never made`);
  else if (lv !== undefined && told !== BigInt(virtualBytes(lv))) {
    findings.push(`${name} is said to have ${told} bytes and has ${virtualBytes(lv)}`);
  }
  if (lv?.isSuspended === true) findings.push(`${name} is suspended`);
  const volumes = stage.admin.volumes.filter(({ spec }) => spec.csi?.volumeHandle === uid);
  const contents = stage.admin.contents.filter(({ status }) => status?.snapshotHandle === uid);
  const count = volumes.length + contents.length;
  if (count === 0) {
    const isMarked = annotations?.[unpublishedAnnotation] !== undefined;
    findings.push(`nothing refers to the LogicalVolume ${name}${isMarked ? '' : unmarked}`);
  }
  if (count > 1) findings.push(`${count} objects refer to the LogicalVolume ${name}`);
  if (count > 0 && annotations?.[unpublishedAnnotation] !== undefined) {
    findings.push(`${name} is published and marked as if it never was`);
  }
  return findings;
}

/** A thick volume stays for its snapshots: they would be lost with it. */
function isOrigin(lv: Lv | undefined): boolean {
  return lv !== undefined && cowSnapshotsOf(lv).length > 0;
}

function auditVolume(stage: ClusterStage, volume: PersistentVolume): readonly string[] {
  const { name, deletionTimestamp } = volume.metadata;
  const { csi, persistentVolumeReclaimPolicy: policy, claimRef } = volume.spec;
  if (csi?.driver !== driver) return [];
  const record = stage.admin.logicalVolumes.find(({ metadata }) => {
    return metadata.uid === csi.volumeHandle;
  });
  const phase = volume.status?.phase;
  const claim = stage.admin.claim(claimRef?.name ?? '', claimRef?.namespace);
  const isClaimed = claim !== undefined && claim.metadata.uid === claimRef?.uid;
  const size = sizeAt(volume, 'spec.capacity.storage');
  const lvs = [...stage.machines.values()].flatMap(volumesOn);
  const lv = lvs.find((one) => one.name === csi.volumeHandle);
  return [
    ...(deletionTimestamp === undefined || isClaimed || isOrigin(lv)
      ? []
      : [`the volume ${name} does not go`]),
    ...(record === undefined ? [`the volume ${name} has no LogicalVolume: it is lost`] : []),
    ...(phase === 'Released' && policy === 'Delete' && !isOrigin(lv)
      ? [`the volume ${name} is not reclaimed`]
      : []),
    ...(isClaimed && phase !== 'Bound' ? [`the volume ${name} is ${phase} with a claim`] : []),
    ...(record !== undefined && size > sizeAt(record, 'status.currentSize')
      ? [`the volume ${name} promises ${size} bytes`]
      : []),
  ];
}

function auditClaim(stage: ClusterStage, claim: PersistentVolumeClaim): readonly string[] {
  const { name, deletionTimestamp } = claim.metadata;
  if (deletionTimestamp !== undefined) {
    const left = claim.metadata.finalizers?.join(', ');
    // A copy that is not made yet keeps its source, and so does a pod.
    const isKept = stage.pods.using(name).length > 0 || isWaitedFor(stage, name);
    return isKept ? [] : [`the claim ${name} does not go (${left})`];
  }
  if (!isBound(claim)) {
    const reason = pendingReason(stage, claim);
    return reason.isProven ? [] : [`the claim ${name} is not bound: ${reason.why}`];
  }
  const volume = stage.admin.volume(claim.spec.volumeName ?? '');
  if (volume === undefined) return [`the claim ${name} lost its volume ${claim.spec.volumeName}`];
  const has = sizeAt(claim, 'status.capacity.storage');
  if (has > sizeAt(volume, 'spec.capacity.storage')) {
    return [`the claim ${name} is told more than its volume has`];
  }
  return auditSize(stage, claim, volume);
}

/** Larger is given, refused for a reason that is true, or waits for a pod. */
function auditSize(
  stage: ClusterStage,
  claim: PersistentVolumeClaim,
  volume: PersistentVolume,
): readonly string[] {
  const { name } = claim.metadata;
  const asked = sizeAt(claim, 'spec.resources.requests.storage');
  const has = sizeAt(claim, 'status.capacity.storage');
  const state = claim.status?.allocatedResourceStatuses?.storage ?? '';
  const isGoing = volume.metadata.deletionTimestamp !== undefined;
  if (isGoing || (has >= asked && state === '')) return [];
  const isShown = stage.pods.all.some((pod) => pod.isRunning && pod.claims.includes(name));
  if (state === 'NodeResizePending' && !isShown) return [];
  const record = stage.admin.logicalVolumes.find(
    ({ metadata }) => metadata.uid === volume.spec.csi?.volumeHandle,
  );
  const machine = stage.machines.get(record?.spec.nodeName ?? '');
  const lvs = machine === undefined ? [] : volumesOn(machine);
  // LVM does not grow a thick volume that has snapshots.
  if (isOrigin(lvs.find((lv) => lv.name === record?.metadata.uid))) return [];
  if (state !== 'ControllerResizeInfeasible') {
    return [`the claim ${name} asks for ${asked} bytes, has ${has} and is ${state || 'idle'}`];
  }
  if (record === undefined || machine === undefined) return [];
  const more = asked - sizeAt(record, 'status.currentSize');
  const room = roomOn(machine, record.spec.deviceClass ?? '');
  if (more > room) return [];
  return [`the claim ${name} is refused ${more} bytes more, and ${room} are free`];
}

function auditSnapshots(stage: ClusterStage): readonly string[] {
  const { admin } = stage;
  const ids = new Set(admin.logicalVolumes.map(({ metadata }) => metadata.uid));
  const snapshots = admin.snapshots.flatMap(({ metadata, status }) => {
    const { name, deletionTimestamp, finalizers = [] } = metadata;
    if (deletionTimestamp !== undefined) {
      // Two controllers of Kubernetes wait for each other here until somebody deletes the claim.
      return isWaitedFor(stage, name) ? [] : [`the snapshot ${name} does not go`];
    }
    const guard = finalizers.find((one) => one.startsWith('provisioner.storage'));
    if (guard !== undefined && !isWaitedFor(stage, name))
      return [`the snapshot ${name} keeps ${guard}`];
    const isSaid = status?.readyToUse === true || status?.error !== undefined;
    return isSaid || !isTakable(stage, name) ? [] : [`the snapshot ${name} is not taken`];
  });
  const contents = admin.contents.flatMap(({ metadata, spec, status }) => {
    const { name, deletionTimestamp, annotations = {} } = metadata;
    if (deletionTimestamp !== undefined) return [`the content ${name} does not go`];
    if (admin.snapshot(spec.volumeSnapshotRef.name) === undefined) {
      return [`the content ${name} has no snapshot`];
    }
    const mark = Object.keys(annotations).find((key) => key.endsWith('being-created'));
    if (mark !== undefined) return [`the content ${name} is still being created`];
    const handle = status?.snapshotHandle;
    if (handle === undefined || ids.has(handle)) return [];
    return [`the content ${name} has no LogicalVolume: it is lost`];
  });
  return [...snapshots, ...contents];
}

function isWaitedFor({ admin }: ClusterStage, source: string): boolean {
  return admin.claims.some(
    (claim) => claim.spec.dataSource?.name === source && claim.status?.phase === 'Pending',
  );
}

function isTakable({ admin }: ClusterStage, name: string): boolean {
  const source = admin.snapshot(name)?.spec.source.persistentVolumeClaimName ?? '';
  const claim = admin.claim(source);
  return claim !== undefined && isBound(claim) && claim.metadata.deletionTimestamp === undefined;
}

/** One object for each class and node, and its figures are true. */
function auditCapacities({ admin, machines }: ClusterStage): readonly string[] {
  const waiting = admin.classes.filter((one) => one.volumeBindingMode === 'WaitForFirstConsumer');
  return [...machines.values()].flatMap((machine) =>
    waiting.flatMap(({ metadata: { name }, parameters }) => {
      const objects = admin.capacities.filter(
        ({ storageClassName, nodeTopology }) =>
          storageClassName === name &&
          Object.values(nodeTopology?.matchLabels ?? {}).includes(machine.name),
      );
      const [object] = objects;
      if (object === undefined || objects.length > 1) {
        return [`${machine.name} tells the capacity of ${name} ${objects.length} times`];
      }
      const told = sizeAt(object, 'capacity');
      const has = roomOn(machine, parameters?.[`${driver}/device-class`] ?? '');
      return told === has ? [] : [`${machine.name} tells ${told} for ${name}, and has ${has}`];
    }),
  );
}
