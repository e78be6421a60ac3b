import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { CsiStorageCapacity, StorageClass } from '../../api/objects/storage.ts';
import { parseQuantity } from '../../api/quantity.ts';
import { noBytes } from '../../base/bytes.ts';
import { type Blocked, blocked } from '../../base/failures.ts';
import { showBytes } from '../../base/show.ts';
import { type ClusterNames, clusterNames } from './names.ts';
import { selectedNode } from './topology.ts';

/**
 * Does it wait until a node is chosen for its first pod? The scheduler tells the pod alone when no
 * node has room, and nobody tells the claim.
 */
export function waitsForPod(
  { metadata, spec, status }: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  { driver }: ClusterNames,
): boolean {
  if ((status?.phase ?? 'Pending') !== 'Pending' || (spec.volumeName ?? '') !== '') return false;
  if (metadata.deletionTimestamp !== undefined) return false;
  if (storageClass?.provisioner !== driver) return false;
  const isLate = storageClass.volumeBindingMode === 'WaitForFirstConsumer';
  return isLate && selectedNode({ metadata, spec }) === undefined;
}

/** `capacities` are those of its class. Of a class that no node has told of nothing is known. */
export function whyNoRoom(
  { spec }: PersistentVolumeClaim,
  capacities: readonly CsiStorageCapacity[],
  names: ClusterNames,
): Blocked | undefined {
  const asked = parseQuantity(spec.resources?.requests?.storage);
  if (typeof asked !== 'bigint') return undefined;
  const { topologyKey } = clusterNames(names);
  const rooms = capacities.map(({ nodeTopology, maximumVolumeSize, capacity }) => {
    const size = parseQuantity(maximumVolumeSize ?? capacity ?? '0');
    const node = nodeTopology?.matchLabels?.[topologyKey] ?? '';
    return { node, size: typeof size === 'bigint' ? size : undefined };
  });
  let [best] = rooms;
  for (const room of rooms) {
    if (room.size === undefined || room.size >= asked) return undefined;
    if (room.size > (best?.size ?? noBytes)) best = room;
  }
  if (best === undefined) return undefined;
  const where = best.node === '' ? '' : `, on ${best.node}`;
  const most = `the largest is ${showBytes(best.size ?? noBytes)}${where}`;
  const it = `StorageClass ${spec.storageClassName ?? ''}`;
  const message = `no node can give ${showBytes(asked)} in one volume of ${it}: ${most}`;
  return blocked('InsufficientCapacity', message);
}
