import { blocked } from '../../base/failures.ts';
import type { AbsentPublication } from './desired.ts';
import type { ObservedRemoval } from './observed.ts';
import { nameOf } from './plan.ts';
import { isMountOf } from './publishable.ts';
import { act, type PublicationDecision, restPublished } from './step.ts';

/**
 * What to do next so that nothing of a volume is left at a path: every mount of it, then the path.
 * It needs no report: the volume, its group or its device may be gone by now.
 */
export function planUnpublication(
  desired: AbsentPublication,
  observed: ObservedRemoval,
): PublicationDecision {
  const { target, legacyNode } = observed;
  const top = observed.here.at(-1);
  if (top !== undefined) {
    // Behind a mount whose device is gone is nobody's data.
    const mayGo = top.owner.kind === 'gone' || isMountOf(desired.volume, top.owner);
    const kind = top.isBare === true ? 'remove-file' : 'unmount';
    if (mayGo) return act({ kind, path: target.path });
    const message = `${target.path} shows ${nameOf(top)}, which is not ${desired.volume.name}`;
    return blocked('TargetTaken', message);
  }
  switch (target.kind) {
    case 'absent':
      break;
    case 'directory':
      return act({ kind: 'remove-directory', path: target.path });
    case 'file':
      if (target.sizeBytes === 0n) return act({ kind: 'remove-file', path: target.path });
      return blocked('TargetTaken', `${target.path} is a file with something in it, not ours`);
    default:
      return blocked('TargetTaken', `${target.path} is ${target.kind}, nothing we made`);
  }
  return legacyNode === undefined ? restPublished : act({ kind: 'remove-file', path: legacyNode });
}
