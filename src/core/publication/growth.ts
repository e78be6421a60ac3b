import { type Blocked, blocked } from '../../base/failures.ts';
import { checkPath, type PublishedVolume } from './desired.ts';
import { isFsType } from './file-systems.ts';
import type { ObservedPublication } from './observed.ts';
import { planGrowth } from './plan.ts';
import { isMountOf, publishable } from './publishable.ts';
import { type PublicationDecision, restPublished } from './step.ts';

/** What NodeExpand asks for: the file system of a volume that is shown follows its volume. */
export type DesiredGrowth = { readonly volume: PublishedVolume; readonly targetPath: string };

export function desiredGrowth(request: DesiredGrowth): DesiredGrowth | Blocked {
  const targetPath = checkPath(request.targetPath);
  return typeof targetPath === 'string' ? { ...request, targetPath } : targetPath;
}

export function planFileSystemGrowth(
  desired: DesiredGrowth,
  observed: ObservedPublication,
): PublicationDecision {
  const volume = publishable(desired.volume, false, observed);
  if ('kind' in volume) return volume;
  const top = observed.here.at(-1);
  if (top === undefined || !isMountOf(desired.volume, top.owner)) {
    const { vg, name } = desired.volume;
    return blocked('NotPublished', `${vg}/${name} is not shown at ${desired.targetPath}`);
  }
  // A raw device is as large as its volume by itself. What is read-only stays as it is.
  if (top.isNode || top.isReadOnly || !isFsType(top.fsType)) return restPublished;
  return planGrowth({ fsType: top.fsType }, volume, observed, { mustKnow: true });
}
