import type { GroupBook, GroupView } from './book.ts';
import { given, snapshotOf, timestampOf } from './controller.ts';
import {
  GroupControllerDefinition,
  GroupControllerServiceCapability_RPC_Type as Rpc,
} from './generated/csi.ts';
import { type Service, service } from './service.ts';

const capabilities = [Rpc.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT] as const;

/** CSI's words for what a book of groups does. */
export function groupControllerService(groups: GroupBook): Service {
  return service(GroupControllerDefinition, {
    groupControllerGetCapabilities: () =>
      Promise.resolve({
        capabilities: capabilities.map((type) => ({ type: { $case: 'rpc', value: { type } } })),
      }),
    createVolumeGroupSnapshot: async ({ name, sourceVolumeIds }, call) => {
      call.nameVolume(given('name', name));
      for (const id of sourceVolumeIds) given('source_volume_ids', id);
      return { groupSnapshot: answerOf(await groups.create(name, sourceVolumeIds, call.signal)) };
    },
    deleteVolumeGroupSnapshot: async ({ groupSnapshotId, snapshotIds }, call) => {
      call.nameVolume(given('group_snapshot_id', groupSnapshotId));
      await groups.remove(groupSnapshotId, snapshotIds, call.signal);
      return {};
    },
    getVolumeGroupSnapshot: async ({ groupSnapshotId, snapshotIds }) => {
      const group = await groups.get(given('group_snapshot_id', groupSnapshotId), snapshotIds);
      return { groupSnapshot: answerOf(group) };
    },
  });
}

function answerOf({ id, members, createdMs, isReady }: GroupView) {
  return {
    groupSnapshotId: id,
    snapshots: members.map(snapshotOf),
    creationTime: timestampOf(createdMs),
    readyToUse: isReady,
  };
}
