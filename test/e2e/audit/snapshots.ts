import type { Claim, Content, Meta, Seen, Snapshot } from './look.ts';

/** What can be taken is taken, and what was taken is there. */
export function snapshotFindings(seen: Seen): readonly string[] {
  return [
    ...seen.snapshots.flatMap((snapshot) => ofSnapshot(seen, snapshot)),
    ...seen.contents
      .filter(({ spec }) => spec.driver === seen.driver)
      .flatMap((content) => ofContent(seen, content)),
  ];
}

/** Who restores puts it on, and takes it off when that is done. */
const guard = 'provisioner.storage.kubernetes.io/';

function ofSnapshot(seen: Seen, snapshot: Snapshot): readonly string[] {
  const { metadata, spec, status } = snapshot;
  if (metadata.deletionTimestamp !== undefined) return []; // told as what is stuck
  const name = `snapshot ${metadata.namespace}/${metadata.name}`;
  const kept = (metadata.finalizers ?? []).filter((one) => one.startsWith(guard));
  const isFree = !isWaitedFor(seen, metadata);
  const source = seen.claims.find((claim) =>
    isNamed(claim, metadata.namespace, spec.source.persistentVolumeClaimName),
  );
  const isTakable =
    source?.status.phase === 'Bound' && source.metadata.deletionTimestamp === undefined;
  const isSaid = status?.readyToUse === true || status?.error !== undefined;
  return [
    ...(isFree ? kept.map((one) => `${name} keeps ${one}`) : []),
    ...(isTakable && !isSaid ? [`${name} is not ready`] : []),
  ];
}

function ofContent({ snapshots, logical }: Seen, content: Content): readonly string[] {
  const { metadata, spec, status } = content;
  if (metadata.deletionTimestamp !== undefined) return [];
  const name = `content ${metadata.name}`;
  const { name: of, namespace } = spec.volumeSnapshotRef;
  if (!snapshots.some((one) => isNamed(one, namespace, of))) return [`${name} has no snapshot`];
  const mark = Object.keys(metadata.annotations ?? {}).find((key) => key.endsWith('being-created'));
  if (mark !== undefined) return [`${name} is still being created`];
  const handle = status?.snapshotHandle;
  if (handle === undefined || logical.some((one) => one.metadata.uid === handle)) return [];
  return [`${name} has no LogicalVolume`];
}

function isWaitedFor({ claims }: Seen, { name, namespace }: Meta): boolean {
  return claims.some(
    ({ metadata, spec, status }: Claim) =>
      metadata.namespace === namespace &&
      spec.dataSource?.kind === 'VolumeSnapshot' &&
      spec.dataSource.name === name &&
      status.phase === 'Pending',
  );
}

function isNamed(
  { metadata }: { readonly metadata: Meta },
  namespace: string | undefined,
  name: string | undefined,
): boolean {
  return metadata.namespace === namespace && metadata.name === name;
}
