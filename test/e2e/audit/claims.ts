import type { Layout } from '../layout.ts';
import { bytesOf } from '../quantity.ts';
import { roomOf } from './capacity.ts';
import type { Claim, Pod, Seen, Volume } from './look.ts';

/**
 * A claim has its volume, as large as it asks for, or waits for a reason that is true: looked up on
 * the disks, and not asked of ourselves.
 */
export function claimFindings(
  seen: Seen,
  layout: Layout,
  /** Those that somebody lets wait on purpose. */
  waiting: ReadonlySet<string>,
): readonly string[] {
  return seen.claims.flatMap((claim) => {
    const { metadata, spec, status } = claim;
    const name = `claim ${keyOf(claim)}`;
    if (metadata.deletionTimestamp !== undefined) return [];
    if (status.phase === 'Lost') return [`${name} is Lost`];
    if (status.phase !== 'Bound') {
      const why = waiting.has(keyOf(claim)) ? undefined : notWaiting(seen, layout, claim);
      return why === undefined ? [] : [`${name} is ${status.phase}: ${why}`];
    }
    const volume = seen.volumes.find((one) => one.metadata.name === spec.volumeName);
    if (volume?.spec.claimRef?.uid !== metadata.uid) return [`${name} is bound to nothing`];
    const has = bytesOf(status.capacity?.storage ?? '0');
    if (has > bytesOf(volume.spec.capacity.storage)) return [`${name} says more than it has`];
    const wrong = sizeFinding(seen, layout, { claim, volume });
    return wrong === undefined ? [] : [`${name} ${wrong}`];
  });
}

/** Why it should have its volume; undefined where it waits for something that is not there. */
function notWaiting(
  seen: Seen,
  layout: Layout,
  claim: Claim,
  /** Claims that were looked at already. */
  looked: ReadonlySet<Claim> = new Set(),
): string | undefined {
  const storageClass = seen.classes.find(
    ({ metadata }) => metadata.name === claim.spec.storageClassName,
  );
  if (storageClass?.provisioner !== seen.driver) return undefined;
  const pods = podsOf(seen, claim);
  const isLazy = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
  if ((isLazy && pods.length === 0) || hasNoSource(seen, claim)) return undefined;
  const asked = askedBytes(claim);
  const rooms = seen.nodes.filter((node) => roomOf(storageClass, node, layout) >= asked);
  const names = rooms.map(({ name }) => name);
  const more = new Set([...looked, claim]);
  const open = isLazy
    ? pods.flatMap((pod) => names.filter((name) => canBeOn(seen, layout, { pod, name }, more)))
    : names;
  if (open.length === 0) return undefined;
  return `${asked} bytes are free on ${[...new Set(open)].join(', ')}`;
}

type Place = { readonly pod: Pod; readonly name: string };

/** A pod is scheduled when all its claims can be had together. */
function canBeOn(
  seen: Seen,
  layout: Layout,
  { pod, name }: Place,
  looked: ReadonlySet<Claim>,
): boolean {
  const wanted = pod.spec.nodeName ?? pod.spec.nodeSelector?.['kubernetes.io/hostname'] ?? name;
  if (wanted !== name) return false;
  return claimsOf(pod).every((key) => {
    const claim = seen.claims.find((one) => keyOf(one) === key);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
    if (claim.status.phase === 'Bound') return isReachedFrom(seen, claim, name);
    return looked.has(claim) || notWaiting(seen, layout, claim, looked) !== undefined;
  });
}

function isReachedFrom({ volumes, logical }: Seen, { spec }: Claim, node: string): boolean {
  const volume = volumes.find(({ metadata }) => metadata.name === spec.volumeName);
  const id = volume?.spec.csi?.volumeHandle;
  const record = logical.find(({ metadata }) => metadata.uid === id);
  return record === undefined || record.spec.nodeName === node;
}

/** What it shall be a copy of is not there, or not yet. */
function hasNoSource({ claims, snapshots }: Seen, { metadata, spec }: Claim): boolean {
  const { dataSource } = spec;
  if (dataSource === undefined) return false;
  const isSource = (one: { readonly metadata: Claim['metadata'] }) =>
    one.metadata.name === dataSource.name && one.metadata.namespace === metadata.namespace;
  if (dataSource.kind === 'PersistentVolumeClaim') {
    return claims.find(isSource)?.status.phase !== 'Bound';
  }
  return snapshots.find(isSource)?.status?.readyToUse !== true;
}

type Bound = { readonly claim: Claim; readonly volume: Volume };

/** Larger is given, refused for a reason that is true, or waits for a pod. */
function sizeFinding(seen: Seen, layout: Layout, { claim, volume }: Bound): string | undefined {
  const { capacity, conditions = [], allocatedResourceStatuses } = claim.status;
  const asked = askedBytes(claim);
  const has = bytesOf(capacity?.storage ?? '0');
  const state = allocatedResourceStatuses?.storage ?? '';
  const left = conditions.filter(({ type, status }) => resizing.has(type) && status === 'True');
  if (volume.spec.csi?.driver !== seen.driver) return undefined;
  if (volume.metadata.deletionTimestamp !== undefined) return undefined;
  if (has >= asked && state === '') {
    return left.length === 0 ? undefined : `still says ${left.map(({ type }) => type).join(', ')}`;
  }
  const isShown = podsOf(seen, claim).some(({ status }) => status.phase === 'Running');
  if (state === 'NodeResizePending' && !isShown) return undefined;
  const isRefused = state === 'ControllerResizeInfeasible';
  if (isRefused && !hasRoomFor(seen, layout, { volume, asked })) return undefined;
  const what = `asks for ${asked} bytes, has ${has} and is ${state || 'idle'}`;
  return isRefused ? `${what}, and there is room` : what;
}

const resizing: ReadonlySet<string> = new Set([
  ...['Resizing', 'FileSystemResizePending', 'ControllerResizeError', 'NodeResizeError'],
]);

type Growth = { readonly volume: Volume; readonly asked: bigint };

/** LVM grows no thick volume that has snapshots. */
function hasRoomFor(seen: Seen, layout: Layout, { volume, asked }: Growth): boolean {
  const id = volume.spec.csi?.volumeHandle;
  const record = seen.logical.find(({ metadata }) => metadata.uid === id);
  const node = seen.nodes.find(({ name }) => name === record?.spec.nodeName);
  const lv = node?.lvs.find(({ name }) => name === id);
  if (record === undefined || node === undefined || /^[oO]/.test(lv?.attributes ?? ''))
    return false;
  const storageClass = seen.classes.find(
    ({ metadata }) => metadata.name === volume.spec.storageClassName,
  );
  if (storageClass === undefined) return false;
  const more = asked - bytesOf(record.status?.currentSize ?? '0');
  return more <= roomOf(storageClass, node, layout);
}

function askedBytes({ spec }: Claim): bigint {
  return bytesOf(spec.resources?.requests?.storage ?? '0');
}

function podsOf({ pods }: Seen, claim: Claim): readonly Pod[] {
  return pods.filter((pod) => claimsOf(pod).includes(keyOf(claim)));
}

function claimsOf({ metadata, spec }: Pod): readonly string[] {
  return (spec.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }) => {
    const own = ephemeral === undefined ? undefined : `${metadata.name}-${name}`;
    const claim = persistentVolumeClaim?.claimName ?? own;
    return claim === undefined ? [] : [`${metadata.namespace}/${claim}`];
  });
}

function keyOf({ metadata }: Claim): string {
  return `${metadata.namespace}/${metadata.name}`;
}
