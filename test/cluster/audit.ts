import type { PersistentVolumeClaim } from '../../src/api/objects/claim.ts';
import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../src/api/objects/persistent-volume.ts';
import type { VolumeSnapshotContent } from '../../src/api/objects/snapshot.ts';
import { unpublishedAnnotation } from '../../src/core/cluster/names.ts';
import { discardAnnotation } from '../../src/core/cluster/nodes.ts';
import { sizeAt } from '../kube/fake-api-rules.ts';
import { cowSnapshotsOf, type Lv, virtualBytes } from '../world/model.ts';
import { pendingReason } from './audit-pending.ts';
import { auditPods } from './audit-pods.ts';
import { driver } from './programs.ts';
import { isBound } from './scheduler.ts';
import { claimProtection } from './snapshot-controller.ts';
import type { ClusterStage } from './stage.ts';
import { roomOn, volumesOn } from './truth.ts';

/**
 * Compares what is on all disks with all objects, pods and mounts, at rest: nothing is leaked,
 * nothing is lost, nothing is stuck. Each finding is a sentence.
 */
export function audit(stage: ClusterStage): readonly string[] {
  return [
    ...stage.bugs.map((bug) => `a bug: ${bug}`),
    ...auditNodes(stage),
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

/** Nobody holds up a Node that shall go. */
function auditNodes({ admin }: ClusterStage): readonly string[] {
  const going = admin.nodes.filter(({ metadata }) => metadata.deletionTimestamp !== undefined);
  return going.map(({ metadata }) => `the Node ${metadata.name} does not go`);
}

function auditDisks(stage: ClusterStage): readonly string[] {
  const records = new Map(stage.admin.logicalVolumes.map((one) => [one.metadata.uid, one]));
  return [...stage.machines.values()].flatMap((machine) =>
    volumesOn(machine).flatMap((lv) => {
      const record = records.get(lv.name);
      if (record === undefined) {
        // Nobody asked the node, and it may be the last copy of what somebody wants back.
        const isExcused = stage.removals.isGivenUp(lv.name);
        return isExcused ? [] : [`the LV ${lv.name} on ${machine.name} is leaked`];
      }
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
  if (stage.removals.isGone(object.spec.nodeName)) return auditKept(object, lv);
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
    // A snapshot never had a mark: its content leads to it from the beginning.
    const isSnapshot = object.spec.source !== undefined && object.spec.accessType === 'ro';
    const why = isMarked || isSnapshot ? '' : unmarked;
    findings.push(`nothing refers to the LogicalVolume ${name}${why}`);
  }
  if (count > 1) findings.push(`${count} objects refer to the LogicalVolume ${name}`);
  if (count > 0 && annotations?.[unpublishedAnnotation] !== undefined) {
    findings.push(`${name} is published and marked as if it never was`);
  }
  return findings;
}

/** What is on a node that is gone stays as it is, until it comes back or is given up. */
function auditKept({ metadata, status }: LogicalVolume, lv: Lv | undefined): readonly string[] {
  const { name, uid, deletionTimestamp, annotations } = metadata;
  if (annotations?.[discardAnnotation] === 'true') return [`${name} was given up, and stays`];
  const isMade = status?.volumeID === uid && deletionTimestamp === undefined;
  return isMade && lv === undefined ? [`${name} is on a node that is gone, and was removed`] : [];
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
  const present = [...stage.machines.values()].filter(({ name }) => !stage.removals.isGone(name));
  const lv = present.flatMap(volumesOn).find((one) => one.name === csi.volumeHandle);
  const isOut = stage.removals.isOutOfReach(csi.volumeHandle);
  // Of what was given up nothing is waited for, unless its node is back and still has it.
  const isHeld = isOrigin(lv) || (isOut && (record !== undefined || lv !== undefined));
  return [
    ...(deletionTimestamp === undefined || isClaimed || isHeld
      ? []
      : [`the volume ${name} does not go`]),
    ...(record === undefined && !isOut
      ? [`the volume ${name} has no LogicalVolume: it is lost`]
      : []),
    ...(phase === 'Released' && policy === 'Delete' && !isHeld
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
    // A copy or a snapshot that is not made yet keeps its source, and so does a pod.
    const isKept =
      stage.pods.using(name).length > 0 ||
      isWaitedFor(stage, name) ||
      (claim.metadata.finalizers?.includes(claimProtection) === true && isOutOf(stage, claim));
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

function isOutOf({ admin, removals }: ClusterStage, { spec }: PersistentVolumeClaim): boolean {
  return removals.isOutOfReach(admin.volume(spec.volumeName ?? '')?.spec.csi?.volumeHandle);
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
  if (stage.removals.isOutOfReach(volume.spec.csi?.volumeHandle)) return [];
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
      const isHeld = isWaitedFor(stage, name) || isOutOfReach(stage, contentOf(stage, metadata));
      return isHeld ? [] : [`the snapshot ${name} does not go`];
    }
    const guard = finalizers.find((one) => one.startsWith('provisioner.storage'));
    if (guard !== undefined && !isWaitedFor(stage, name))
      return [`the snapshot ${name} keeps ${guard}`];
    const isSaid = status?.readyToUse === true || status?.error !== undefined;
    return isSaid || !isTakable(stage, name) ? [] : [`the snapshot ${name} is not taken`];
  });
  const contents = admin.contents.flatMap((content) => {
    const { metadata, spec, status } = content;
    if (isOutOfReach(stage, content)) return [];
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

function contentOf({ admin }: ClusterStage, { uid }: { readonly uid: string }) {
  return admin.contents.find(({ spec }) => spec.volumeSnapshotRef.uid === uid);
}

/** Its own volume, or the one that it is to be taken of. */
function isOutOfReach(
  { removals }: ClusterStage,
  content: VolumeSnapshotContent | undefined,
): boolean {
  const { spec, status } = content ?? {};
  const ids = [status?.snapshotHandle, spec?.source.volumeHandle];
  return ids.some((id) => removals.isOutOfReach(id));
}

function isWaitedFor({ admin }: ClusterStage, source: string): boolean {
  return admin.claims.some(
    (claim) => claim.spec.dataSource?.name === source && claim.status?.phase === 'Pending',
  );
}

function isTakable(stage: ClusterStage, name: string): boolean {
  const { admin } = stage;
  const source = admin.snapshot(name)?.spec.source.persistentVolumeClaimName ?? '';
  const claim = admin.claim(source);
  if (claim === undefined || !isBound(claim)) return false;
  return !isOutOf(stage, claim) && claim.metadata.deletionTimestamp === undefined;
}

/** One object for each class and node, and its figures are true. */
function auditCapacities({ admin, machines, removals }: ClusterStage): readonly string[] {
  const waiting = admin.classes.filter((one) => one.volumeBindingMode === 'WaitForFirstConsumer');
  const toldOf = (node: string) =>
    admin.capacities.filter(({ nodeTopology }) =>
      Object.values(nodeTopology?.matchLabels ?? {}).includes(node),
    );
  return [...machines.values()].flatMap((machine) => {
    if (removals.isGone(machine.name)) {
      return toldOf(machine.name).map(() => `${machine.name} is gone, and its capacity is not`);
    }
    return waiting.flatMap(({ metadata: { name }, parameters }) => {
      const objects = toldOf(machine.name).filter((one) => one.storageClassName === name);
      const [object] = objects;
      if (object === undefined || objects.length > 1) {
        return [`${machine.name} tells the capacity of ${name} ${objects.length} times`];
      }
      const told = sizeAt(object, 'capacity');
      const has = roomOn(machine, parameters?.[`${driver}/device-class`] ?? '');
      return told === has ? [] : [`${machine.name} tells ${told} for ${name}, and has ${has}`];
    });
  });
}
