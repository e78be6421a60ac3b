import { bytes } from '../base/bytes.ts';
import { showBytes } from '../base/show.ts';
import type { VolumeRecord } from '../core/catalog.ts';
import { pendingTag, readTag } from '../core/tags.ts';
import type { ListVolumesResponse_Entry, Snapshot } from '../csi/generated/csi.ts';
import { table } from './table.ts';

/** What the driver listed, and what LVM's tags tell of it by id. */
export type Listed = {
  readonly volumes: readonly ListVolumesResponse_Entry[];
  readonly snapshots: readonly Snapshot[];
  readonly records: ReadonlyMap<string, VolumeRecord>;
  readonly contextOf: (volume: ListVolumesResponse_Entry['volume'], key: string) => string;
};

const head = ['NAME', 'KIND', 'CLASS', 'SIZE', 'SOURCE', 'ID', 'CONDITION'];

/** `quarry volume list` */
export function volumeTable(listed: Listed): string {
  const rows = [...volumeRows(listed), ...snapshotRows(listed), ...groupRows(listed)];
  return table(
    head,
    rows.map((row) => row.map((cell) => cell || '-')),
  );
}

type Row = readonly (string | undefined)[];

function volumeRows({ volumes, records, contextOf }: Listed): readonly Row[] {
  return volumes.map(({ volume, status }) => {
    const source = Object.values(volume?.contentSource?.type?.value ?? {}).join('');
    const id = volume?.volumeId ?? '';
    const { message = '' } = status?.volumeCondition ?? {};
    const isPending = records.get(id)?.lv.tags.includes(pendingTag) ?? false;
    const [name, className] = [contextOf(volume, 'name'), contextOf(volume, 'device-class')];
    const cells = [name, 'volume', className, showSize(volume?.capacityBytes ?? 0n)];
    const condition = isPending ? `${message}, not yet published` : message;
    return [...cells, withName(source, records.get(source)?.name), id, condition];
  });
}

function snapshotRows({ snapshots, records }: Listed): readonly Row[] {
  return snapshots.map(({ snapshotId: id, sourceVolumeId, sizeBytes, readyToUse, ...rest }) => {
    const record = records.get(id);
    const source = withName(sourceVolumeId, records.get(sourceVolumeId)?.name);
    const cells = [record?.name, 'snapshot', record?.className, showSize(sizeBytes), source, id];
    const condition = readyToUse ? 'ready' : 'overflowed';
    const group = withName(rest.groupSnapshotId, groupName(record));
    return [...cells, group === '' ? condition : `${condition}, in the group ${group}`];
  });
}

function groupRows({ snapshots, records }: Listed): readonly Row[] {
  const members = snapshots.filter(({ groupSnapshotId }) => groupSnapshotId !== '');
  return [...new Set(members.map(({ groupSnapshotId }) => groupSnapshotId))].map((id) => {
    const ours = members.filter(({ groupSnapshotId }) => groupSnapshotId === id);
    const name = groupName(records.get(ours[0]?.snapshotId ?? ''));
    const count = ours.length === 1 ? '1 snapshot' : `${ours.length} snapshots`;
    return [name, 'group', '', '', '', id, count];
  });
}

function groupName(record: VolumeRecord | undefined): string | undefined {
  return readTag(record?.lv.tags ?? [], 'group-name');
}

function withName(id: string, name: string | undefined): string {
  return name === undefined ? id : `${id} (${name})`;
}

export function showSize(value: bigint): string {
  return showBytes(bytes(value));
}
