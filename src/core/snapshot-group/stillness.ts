import { type Blocked, blocked } from '../../base/failures.ts';
import { showList } from '../../base/show.ts';
import type { ObservedLv } from '../observed.ts';
import type { PublishedVolume } from '../publication/desired.ts';
import type { ObservedMount } from '../publication/observed.ts';
import { isMountOf } from '../publication/publishable.ts';

/** A volume to be held still, and where its file system can be reached. */
export type Member = { readonly volume: PublishedVolume; readonly lv: ObservedLv };

export type Stillness = { readonly kind: 'still'; readonly freeze: readonly string[] };

/** From this kernel on device mapper can suspend a device whose file system is frozen already. */
const kernelMin = { major: 6, minor: 8 } as const;

/**
 * What must be frozen so that nobody writes to any of the volumes: each writable file system, by
 * one of its paths. What is written to in any other way cannot be held still from outside.
 */
export function planStillness(
  members: readonly Member[],
  observed: {
    readonly mounts: readonly ObservedMount[];
    /** Paths where the volume can be reached: nothing else is mounted over it. */
    readonly onTop: ReadonlySet<string>;
    readonly kernelRelease: string;
  },
): Stillness | Blocked {
  const { mounts, onTop, kernelRelease } = observed;
  const freeze: string[] = [];
  for (const { volume, lv } of members) {
    const name = `${volume.vg}/${volume.name}`;
    const shown = mounts.filter(({ owner }) => isMountOf(volume, owner));
    const raw = shown.find(({ isNode }) => isNode);
    if (raw !== undefined) {
      const message = `${name} is shown as a raw device at ${raw.mountPoint}`;
      return blocked('CannotHoldStill', message);
    }
    if (shown.length === 0 && lv.isOpen) {
      return blocked('CannotHoldStill', `${name} is open, and not as a file system of this node`);
    }
    const writable = shown.filter(({ isFileSystemReadOnly }) => !isFileSystemReadOnly);
    const reachable = writable.find(({ mountPoint }) => onTop.has(mountPoint));
    if (reachable !== undefined) freeze.push(reachable.mountPoint);
    else if (writable.length > 0) {
      const paths = showList(writable.map(({ mountPoint }) => mountPoint));
      return blocked('CannotHoldStill', `${name} is hidden below another mount at ${paths}`);
    }
  }
  if (freeze.length > 0 && !canNest(kernelRelease)) {
    const least = `${kernelMin.major}.${kernelMin.minor}`;
    const message = `the kernel is ${kernelRelease}, and freezing for a snapshot needs ${least}`;
    return blocked('CannotHoldStill', message);
  }
  return { kind: 'still', freeze };
}

function canNest(release: string): boolean {
  const [, major = '0', minor = '0'] = /^(\d+)\.(\d+)/.exec(release) ?? [];
  if (Number(major) !== kernelMin.major) return Number(major) > kernelMin.major;
  return Number(minor) >= kernelMin.minor;
}
