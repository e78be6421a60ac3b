import type { VolumeGroupSnapshotContent } from '../api/objects/snapshot.ts';
import {
  clearedGroupStatus,
  groupContentView,
  groupMemberIds,
  takenGroupStatus,
} from '../core/cluster/group-content.ts';
import { groupIdsNamed } from '../core/cluster/logical-volume-group.ts';
import { groupMarks } from '../core/cluster/snapshot-content-marks.ts';
import type { GroupView } from '../csi/book.ts';
import { logicalVolumeKind } from '../kube/kinds.ts';
import type { Cluster, Duty } from './duty.ts';
import { ContentKeeper } from './snapshotter-contents.ts';
import type { GroupKinds } from './snapshotter-kinds.ts';

/** The driver's half of group snapshots, in whichever version the cluster serves them. */
export function groupSnapshotter(cluster: Cluster, kinds: GroupKinds): Duty {
  const { groups, names, client } = cluster;
  const told = (content: VolumeGroupSnapshotContent, view: GroupView) =>
    takenGroupStatus(content.status, view, {
      version: kinds.contents.current?.kind.version ?? 'v1',
      timeOf: (ms) => new Date(ms).toISOString(),
    });
  return new ContentKeeper<VolumeGroupSnapshotContent>(cluster, {
    noun: 'group-snapshot-content',
    operations: { make: 'snapshotGroup', remove: 'removeSnapshotGroup' },
    ...{ contents: kinds.contents, classes: kinds.classes, marks: groupMarks },
    view: (content) =>
      groupContentView(content, {
        driver: names.driver,
        classOf: (name) => kinds.classes.current?.informer.get({ name }),
        others: kinds.contents.values(),
      }),
    make: async (content, { name, sourceIds }, signal) =>
      told(content, await groups.create(name, sourceIds, signal)),
    check: async (content, { handle, memberIds }) =>
      told(content, await groups.get(handle, memberIds)),
    remove: async (content, { handle, name = '' }, signal) => {
      if (handle !== undefined) return groups.remove(handle, groupMemberIds(content), signal);
      // Members may be there although nobody wrote down the handle: only the server knows.
      const { items } = await client.list(logicalVolumeKind(names.domain));
      for (const id of groupIdsNamed(items, name)) await groups.remove(id, [], signal);
    },
    isAbsent: () => Promise.resolve(false),
    cleared: clearedGroupStatus,
    reasons: {
      make: 'GroupSnapshotCreationFailed',
      check: 'GroupSnapshotContentCheckandUpdateFailed',
      remove: 'GroupSnapshotDeleteError',
    },
  });
}
