import type { ObservedDevice, ObservedNode } from '../observed.ts';
import type { DesiredVg } from '../volume-group/desired.ts';
import { isNamed, planDevices } from './plan.ts';
import { dataReasons } from './reasons.ts';
import { diskId } from './wipeable.ts';

/**
 * A disk that was wiped by itself, or is about to be. It is written down before, with what is on
 * it: who is killed half-way goes on with what he meant, and with nothing that came after it.
 */
export type Wipe = { readonly found: readonly string[]; readonly isDone: boolean };

/** By what a disk is, whatever it is called today. */
export type Wipes = ReadonlyMap<string, Wipe>;

export type WipePlan = {
  /** What has to be written down before anything is wiped. */
  readonly wipes: Wipes;
  /** Disks that may be wiped now, by what they are. */
  readonly allowed: readonly string[];
  /** Disks that would be wiped a second time, by their paths. */
  readonly kept: readonly string[];
};

/** Which disks of a group may be wiped: each of them once, whatever becomes of class and node. */
export function planWipes(
  desired: DesiredVg,
  look: { readonly node: ObservedNode; readonly others: readonly DesiredVg[] },
  before: Wipes,
): WipePlan {
  const { node, others } = look;
  const wipes = new Map(before);
  const allowed: string[] = [];
  const kept: string[] = [];
  const { wipeable } = planDevices(unbound(desired), node, others);
  for (const device of wipeable) {
    const id = diskId(device);
    const known = before.get(id);
    const found = contentOf(device, node);
    const isSame = known?.isDone === false && found.every((one) => known.found.includes(one));
    if (known !== undefined && !isSame) {
      kept.push(device.path);
      continue;
    }
    allowed.push(id);
    wipes.set(id, known ?? { found, isDone: false });
  }
  return { wipes: endedWipes(desired, node.devices, wipes), allowed, kept };
}

/** A disk that is bare, or in a group, was wiped to the end. */
export function endedWipes(
  desired: DesiredVg,
  devices: readonly ObservedDevice[],
  before: Wipes,
): Wipes {
  const wipes = new Map(before);
  for (const device of devices.filter((each) => isNamed(each, desired.selector))) {
    const id = diskId(device);
    const known = wipes.get(id);
    const isBare = dataReasons(device).length === 0 && device.holders.length === 0;
    const isEnded = isBare || device.label.kind === 'member';
    if (known?.isDone === false && isEnded) wipes.set(id, { ...known, isDone: true });
  }
  return wipes;
}

function unbound(desired: DesiredVg): DesiredVg {
  const { selector } = desired;
  if (selector.kind === 'any') return desired;
  const { onlyWipe: _onlyWipe, ...all } = selector;
  return { ...desired, selector: all };
}

/** Everything on a disk and its partitions, as far as it has a name. */
function contentOf(disk: ObservedDevice, node: ObservedNode): readonly string[] {
  const all = [disk, ...node.devices.filter(({ path }) => disk.holders.includes(path))];
  const found = all.flatMap(({ signatures, fileSystem, partitionTable, label }) => [
    ...(signatures.kind === 'found' ? [...signatures.types, ...(signatures.uuids ?? [])] : []),
    ...[fileSystem, partitionTable, label.kind === 'orphan' ? label.pvUuid : ''],
  ]);
  return [...new Set(found)].filter((one) => one !== '').toSorted();
}
