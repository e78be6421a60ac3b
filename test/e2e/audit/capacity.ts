import { groupOfClass, thinPool } from '../layout.ts';
import { bytesOf } from '../quantity.ts';
import type { NodeSeen, Seen, StorageCapacity, StorageClass } from './look.ts';

/** Each class has one object for each node, and it says what LVM says, within one extent. */
export function capacityFindings({ classes, capacities, nodes }: Seen): readonly string[] {
  const ours = classes.filter(({ provisioner }) => provisioner === 'topolvm.io');
  const names = new Set(ours.map(({ metadata }) => metadata.name));
  const left = capacities
    .filter(({ storageClassName }) => !names.has(storageClassName))
    .map(({ storageClassName }) => `capacity of ${storageClassName}, which is no class`);
  const wrong = ours.flatMap((storageClass) =>
    nodes.flatMap((node) => {
      const name = storageClass.metadata.name;
      const objects = capacities.filter(
        (object) => object.storageClassName === name && nodeOf(object) === node.name,
      );
      const what = `capacity of ${name} on ${node.name}`;
      const [told] = objects;
      if (told === undefined || objects.length > 1) return [`${what}: ${objects.length} objects`];
      const real = largestOf(storageClass, node);
      const largest = bytesOf(told.maximumVolumeSize ?? '0');
      const isTrue = abs(real - largest) <= node.extentBytes;
      return isTrue ? [] : [`${what} is told as ${largest}, and LVM has ${real}`];
    }),
  );
  return [...left, ...wrong];
}

function nodeOf({ nodeTopology }: StorageCapacity): string | undefined {
  return nodeTopology?.matchLabels?.['topology.topolvm.io/node'];
}

/** The largest volume, from LVM's own numbers. */
function largestOf({ parameters = {} }: StorageClass, node: NodeSeen): bigint {
  const deviceClass = parameters['topolvm.io/device-class'] ?? '';
  const group = groupOfClass[deviceClass];
  if (group === undefined) return 0n;
  if (deviceClass === 'thin') return thinRoom(node);
  const free = node.pvs.filter((pv) => pv.group === group).map(({ freeBytes }) => freeBytes);
  const isMirrored =
    deviceClass === 'mirrored' || parameters['topolvm.io/lvcreate-option-class'] === 'twice';
  if (!isMirrored) return free.reduce((total, bytes) => total + bytes, 0n);
  // One half on each of two devices, with an extent each for what RAID notes about itself.
  const [, second = 0n] = free.toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0));
  return second > node.extentBytes ? second - node.extentBytes : 0n;
}

function thinRoom({ lvs }: NodeSeen): bigint {
  const pool = lvs.find(({ name }) => name === thinPool.name);
  const promised = lvs
    .filter((lv) => lv.pool === thinPool.name)
    .reduce((total, { sizeBytes }) => total + sizeBytes, 0n);
  const room = thinPool.ratio * (pool?.sizeBytes ?? 0n) - promised;
  return room > 0n ? room : 0n;
}

function abs(value: bigint): bigint {
  return value < 0n ? -value : value;
}
