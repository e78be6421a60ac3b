import type { VolumeSnapshotContent } from '../api/objects/snapshot.ts';
import { OperationError } from '../base/failures.ts';
import { snapshotContentView } from '../core/cluster/snapshot-content.ts';
import { snapshotMarks } from '../core/cluster/snapshot-content-marks.ts';
import { clearedStatus, takenStatus } from '../core/cluster/snapshot-content-status.ts';
import type { VolumeView } from '../csi/book.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import type { Cluster, Duty } from './duty.ts';
import { ContentKeeper } from './snapshotter-contents.ts';
import type { SnapshotKinds } from './snapshotter-kinds.ts';

/** The driver's half of snapshots: contents of our driver become snapshots in the book. */
export function snapshotter(
  cluster: Cluster,
  kinds: Pick<SnapshotKinds, 'contents' | 'classes'>,
): Duty {
  const { book, names, wall, client } = cluster;
  // Also one that its node has not made yet, which no list has, or that no watch has told of.
  const named = async (name: string) =>
    (await book.list()).find((view) => view.kind === 'snapshot' && view.name === name)?.id ??
    (await client.find(logicalVolumeKind(names.domain), { name }))?.metadata.uid;
  const told = (content: VolumeSnapshotContent, view: VolumeView) =>
    takenStatus(content.status, view, wall());
  return new ContentKeeper<VolumeSnapshotContent>(cluster, {
    noun: 'snapshot-content',
    operations: { make: 'snapshot', remove: 'removeSnapshot' },
    ...{ contents: kinds.contents, classes: kinds.classes, marks: snapshotMarks },
    view: (content) =>
      snapshotContentView(content, {
        driver: names.driver,
        classOf: (name) => kinds.classes.current?.informer.get({ name }),
        others: kinds.contents.values(),
      }),
    make: async (content, { name, sourceIds }, signal) => {
      const [sourceId = ''] = sourceIds;
      return told(content, await book.snapshot({ name, sourceId }, signal));
    },
    check: async (content, { handle }) => told(content, await book.get('snapshot', handle)),
    remove: async (_content, { handle, name = '' }, signal) => {
      const id = handle ?? (await named(name));
      if (id === undefined) await book.checkSeen(`the snapshot ${name}`);
      else await book.remove('snapshot', id, signal);
    },
    isAbsent: async (name) => (await named(name)) === undefined && (await isSeen(cluster, name)),
    cleared: clearedStatus,
    reasons: {
      make: 'SnapshotCreationFailed',
      check: 'SnapshotContentCheckandUpdateFailed',
      remove: 'SnapshotDeleteError',
    },
  });
}

async function isSeen({ book }: Cluster, name: string): Promise<boolean> {
  try {
    await book.checkSeen(`the snapshot ${name}`);
    return true;
  } catch (error) {
    if (error instanceof OperationError) return false;
    throw error;
  }
}
