import type {
  SnapshotError,
  VolumeSnapshot,
  VolumeSnapshotContent,
} from '../../api/objects/snapshot.ts';
import { showQuantity } from '../../api/quantity.ts';
import { bytes } from '../../base/bytes.ts';

/** What the snapshot has to learn of its content, and what people are told. */
export type SnapshotNews = {
  readonly boundVolumeSnapshotContentName: string;
  readonly readyToUse: boolean;
  readonly creationNs?: bigint;
  readonly restoreSize?: string;
  /** null takes away what was wrong before. */
  readonly error: SnapshotError | null;
  readonly event: { readonly reason: string; readonly message: string } | undefined;
};

/** Undefined when it knows everything. */
export function snapshotNews(
  snapshot: VolumeSnapshot,
  content: VolumeSnapshotContent,
): SnapshotNews | undefined {
  const before = snapshot.status;
  const { name } = content.metadata;
  const { snapshotHandle, readyToUse, creationTime, restoreSize, error } = content.status ?? {};
  const isReady = snapshotHandle !== undefined && readyToUse === true;
  const size = restoreSize === undefined ? undefined : showQuantity(bytes(BigInt(restoreSize)));
  const news = {
    boundVolumeSnapshotContentName: name,
    readyToUse: isReady,
    ...(creationTime === undefined ? {} : { creationNs: BigInt(creationTime) }),
    ...(size === undefined ? {} : { restoreSize: size }),
    error: isReady ? null : (error ?? null),
  };
  const isKnown =
    before?.boundVolumeSnapshotContentName === name &&
    before.readyToUse === isReady &&
    (before.creationTime !== undefined) === (creationTime !== undefined) &&
    before.restoreSize === size &&
    before.error?.message === news.error?.message;
  return isKnown ? undefined : { ...news, event: eventOf(snapshot, news) };
}

function eventOf(
  { metadata, status }: VolumeSnapshot,
  news: Pick<SnapshotNews, 'readyToUse' | 'creationNs'>,
): SnapshotNews['event'] {
  const what = `the snapshot ${metadata.namespace}/${metadata.name}`;
  if (news.readyToUse && status?.readyToUse !== true) {
    return { reason: 'SnapshotReady', message: `${what} is ready to use` };
  }
  if (news.creationNs !== undefined && status?.creationTime === undefined) {
    return { reason: 'SnapshotCreated', message: `${what} was taken` };
  }
  if (status?.boundVolumeSnapshotContentName !== undefined) return undefined;
  return { reason: 'CreatingSnapshot', message: `${what} waits for its driver` };
}
