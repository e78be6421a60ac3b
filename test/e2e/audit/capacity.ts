import { type Layout, type Place, raid1 } from '../layout.ts';
import { bytesOf } from '../quantity.ts';
import type { NodeSeen, Seen, StorageClass } from './look.ts';

/** Each class has one object for each node, and it says what LVM says, within one extent. */
export function capacityFindings(
  { driver, classes, capacities, nodes }: Seen,
  layout: Layout,
): readonly string[] {
  const ours = classes.filter(({ provisioner }) => provisioner === driver);
  const names = new Set(ours.map(({ metadata }) => metadata.name));
  const left = capacities
    .filter(({ storageClassName }) => !names.has(storageClassName))
    .map(({ storageClassName }) => `capacity of ${storageClassName}, which is no class`);
  const label = `topology.${driver}/node`;
  const known = new Set(nodes.map(({ name }) => name));
  const gone = capacities.flatMap(({ storageClassName, nodeTopology }) => {
    const node = nodeTopology?.matchLabels?.[label] ?? '';
    const isLeft = names.has(storageClassName) && !known.has(node);
    return isLeft ? [`capacity of ${storageClassName} on ${node}, which is no node`] : [];
  });
  const wrong = ours.flatMap((storageClass) =>
    nodes.flatMap((node) => {
      const name = storageClass.metadata.name;
      const objects = capacities.filter(
        ({ storageClassName, nodeTopology }) =>
          storageClassName === name && nodeTopology?.matchLabels?.[label] === node.name,
      );
      const what = `capacity of ${name} on ${node.name}`;
      const [told] = objects;
      if (told === undefined || objects.length > 1) return [`${what}: ${objects.length} objects`];
      const real = roomOf(storageClass, node, layout);
      // Who tells of no largest volume promises all that there is.
      const largest = bytesOf(told.maximumVolumeSize ?? told.capacity ?? '0');
      const isTrue = abs(real - largest) <= node.extentBytes;
      return isTrue ? [] : [`${what} is told as ${largest}, and LVM has ${real}`];
    }),
  );
  return [...left, ...gone, ...wrong];
}

/** The largest volume, from LVM's own numbers. */
export function roomOf(
  { provisioner, parameters = {} }: StorageClass,
  node: NodeSeen,
  layout: Layout,
): bigint {
  const place = layout[parameters[`${provisioner}/device-class`] ?? ''];
  if (place === undefined) return 0n;
  if (place.pool !== undefined) return thinRoom(node, place.group, place.pool);
  const free = node.pvs.filter((pv) => pv.group === place.group).map(({ freeBytes }) => freeBytes);
  const isTwice = parameters[`${provisioner}/lvcreate-option-class`] === 'twice';
  const raid = isTwice ? raid1 : place.raid;
  if (raid === undefined) {
    const room = free.reduce((total, bytes) => total + bytes, -(place.spareBytes ?? 0n));
    return room > 0n ? room : 0n;
  }
  // One part on each of so many devices, with an extent each for what RAID notes about itself.
  const least = free.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))[raid.devices - 1] ?? 0n;
  return least > node.extentBytes ? BigInt(raid.parts) * (least - node.extentBytes) : 0n;
}

type Pool = NonNullable<Place['pool']>;

function thinRoom({ lvs }: NodeSeen, group: string, { name, ratio }: Pool): bigint {
  const own = lvs.filter((lv) => lv.group === group);
  const pool = own.find((lv) => lv.name === name);
  const promised = own
    .filter((lv) => lv.pool === name)
    .reduce((total, { sizeBytes }) => total + sizeBytes, 0n);
  const room = ratio * (pool?.sizeBytes ?? 0n) - promised;
  return room > 0n ? room : 0n;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}
