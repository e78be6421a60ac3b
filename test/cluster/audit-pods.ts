import { pendingReason } from './audit-pending.ts';
import { podsPath } from './kubelet.ts';
import type { Machine } from './machine.ts';
import type { Pod } from './pods.ts';
import { isBound } from './scheduler.ts';
import type { ClusterStage } from './stage.ts';

/** Pods run or wait for a reason, and what is mounted is what they use. */
export function auditPods(stage: ClusterStage): readonly string[] {
  return [
    ...stage.pods.all.flatMap((pod) => auditPod(stage, pod)),
    ...[...stage.machines.values()].flatMap((machine) => auditMounts(stage, machine)),
  ];
}

function auditPod(stage: ClusterStage, pod: Pod): readonly string[] {
  // Without its Node there is no agent that could take its volumes away.
  if (pod.isForgotten && stage.removals.isGone(pod.node ?? '')) return [];
  if (pod.isDeleting) return [`the pod ${pod.name} does not go: ${pod.why}`];
  if (pod.isRunning) return pod.claims.flatMap((claim) => auditShown(stage, pod, claim));
  const isExcused = pod.claims.some((name) => {
    const claim = stage.admin.claim(name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return true;
    return !isBound(claim) && pendingReason(stage, claim).isProven;
  });
  return isExcused || isTorn(stage, pod) || isOutOfReach(stage, pod)
    ? []
    : [`the pod ${pod.name} does not run: ${pod.why}`];
}

/** A volume of it is on a node that is gone, or was given up. */
function isOutOfReach({ admin, removals }: ClusterStage, pod: Pod): boolean {
  return pod.claims.some((name) => {
    const volume = admin.volume(admin.claim(name)?.spec.volumeName ?? '');
    return removals.isOutOfReach(volume?.spec.csi?.volumeHandle);
  });
}

/** Volumes of one pod on several nodes: nobody can help that. */
function isTorn(stage: ClusterStage, pod: Pod): boolean {
  const nodes = pod.claims.map((name) => {
    const volume = stage.admin.volume(stage.admin.claim(name)?.spec.volumeName ?? '');
    const [term] = volume?.spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
    return term?.matchExpressions?.[0]?.values?.[0];
  });
  return new Set(nodes.filter((node) => node !== undefined)).size > 1;
}

function auditShown(stage: ClusterStage, pod: Pod, claimName: string): readonly string[] {
  const shown = pod.shown.get(claimName);
  const machine = stage.machines.get(pod.node ?? '');
  if (shown === undefined || machine === undefined)
    return [`${pod.name} runs without ${claimName}`];
  const mounts = machine.world.machine.table.mounts.filter(
    ({ mountPoint }) => mountPoint === shown.path,
  );
  const [mount] = mounts;
  if (mount === undefined || mounts.length > 1) {
    return [`${claimName} is shown to ${pod.name} ${mounts.length} times`];
  }
  const claim = stage.admin.claim(claimName);
  const volume = stage.admin.volume(claim?.spec.volumeName ?? '');
  const handle = volume?.spec.csi?.volumeHandle;
  if (claim !== undefined && mount.lv.name !== handle) {
    return [`${pod.name} sees ${mount.lv.name} as ${claimName}, which is ${handle}`];
  }
  return [];
}

function auditMounts({ pods }: ClusterStage, machine: Machine): readonly string[] {
  const known = new Set(pods.all.flatMap((pod) => [...pod.shown.values()].map(({ path }) => path)));
  return machine.world.machine.table.mounts
    .filter(({ mountPoint }) => mountPoint.startsWith(podsPath) && !known.has(mountPoint))
    .map(({ mountPoint }) => `${mountPoint} is left mounted on ${machine.name}`);
}
