import { dropDevice } from '../lvm/looks.ts';
import { asOperationError, mappedDevices, runCommand } from './execute.ts';
import type { Host, Trace } from './ports.ts';

/**
 * What the kernel still has of a group whose disks never come back: lvm makes no other of its name
 * beside that. What somebody has open stays. No data is touched.
 */
export async function dropLeftovers(
  doors: { readonly host: Host; readonly trace: Trace },
  group: { readonly name: string; readonly uuid: string },
): Promise<void> {
  const { host, trace } = doors;
  const subject = { noun: 'rescue', volume: group.name };
  const look = async () => (await mappedDevices(host, group.uuid)).map(({ name }) => name);
  // What others stand on goes after them.
  let left = await look();
  for (let before = left.length + 1; left.length > 0 && left.length < before; ) {
    before = left.length;
    for (const name of left) {
      const drop = runCommand(host, dropDevice(name), { kind: 'create-vg' }, subject, trace);
      // Whoever makes the group is told by his own step.
      await drop.catch(asOperationError);
    }
    left = await look();
  }
}
