import { blocked } from '../../base/failures.ts';
import { findLv, type ObservedHost } from '../observed.ts';
import { type Decision, next, rest } from '../step.ts';
import { sealedTag } from '../tags.ts';
import { isBlocked, usableVg } from '../usable-vg.ts';

export type Seal = { readonly vg: string; readonly name: string; readonly uuid: string };

/** From the first seal on a group is whole; until then it counts for nothing. */
export function planSeal(member: Seal, host: ObservedHost): Decision {
  const vg = usableVg(host, member.vg);
  if (isBlocked(vg)) return vg;
  const lv = findLv(vg, member.name);
  if (lv === undefined || lv.uuid !== member.uuid) {
    return blocked('VolumeLost', `the snapshot ${vg.name}/${member.name} is gone`);
  }
  if (lv.tags.includes(sealedTag)) return rest;
  const target = { vg: vg.name, vgUuid: vg.uuid, lv: lv.name, lvUuid: lv.uuid };
  return next({ kind: 'change-tags', ...target, add: [sealedTag], remove: [] });
}
