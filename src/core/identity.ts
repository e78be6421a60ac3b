import { type Blocked, blocked } from '../base/failures.ts';
import { findLv, type ObservedLv, type ObservedVg } from './observed.ts';

/**
 * A volume that was reported ready has an identity. If it is gone, or another one bears its name,
 * its data is gone too: making a new one under the old name would hide that from everybody.
 */
export function identityLost(
  known: {
    readonly name: string;
    readonly uuid: string | undefined;
    /** What the wish rests on: if it is gone by now, somebody else was told that it is. */
    readonly seen?: string | undefined;
  },
  vg: ObservedVg,
  lv: ObservedLv | undefined,
): Blocked | undefined {
  const uuid = known.uuid ?? known.seen;
  if (uuid === undefined || lv?.uuid === uuid) return undefined;
  const name = `${vg.name}/${known.name}`;
  if (lv === undefined) {
    return blocked('VolumeLost', `${name} was ${uuid} and is gone: somebody removed it`);
  }
  return blocked('VolumeLost', `${name} was ${uuid} and is another volume now: ${lv.uuid}`);
}

/** The volume that a snapshot or clone is of. A name alone may mean another volume by now. */
export function findSource(
  wanted: { readonly source: string; readonly sourceUuid: string | undefined },
  vg: ObservedVg,
): ObservedLv | Blocked {
  const source = findLv(vg, wanted.source);
  const isOther = wanted.sourceUuid !== undefined && source?.uuid !== wanted.sourceUuid;
  if (source !== undefined && !isOther) return source;
  const which = wanted.sourceUuid === undefined ? '' : ` with UUID ${wanted.sourceUuid}`;
  return blocked('SourceNotFound', `there is no volume ${vg.name}/${wanted.source}${which}`);
}
