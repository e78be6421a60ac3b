import { blocked } from '../../base/failures.ts';
import { showList } from '../../base/show.ts';
import type { ObservedLv, ObservedVg, Signatures } from '../observed.ts';
import { permitFor } from '../permit.ts';
import { pendingTag, readTag } from '../tags.ts';
import { formattedFor } from '../unused.ts';
import { isBlocked } from '../usable-vg.ts';
import { showsOldBlocks } from '../volume/growth.ts';
import { type FsType, fileSystems, fileSystemUuid } from './file-systems.ts';
import { isZeroed } from './in-group.ts';
import type { FoundFileSystem, ObservedPublication } from './observed.ts';
import type { Publishable } from './publishable.ts';
import { act, lookAt, type PublicationDecision, restPublished } from './step.ts';

type Wanted = { readonly fsType: FsType; readonly zeroFirst: boolean };

/**
 * Before a file system is mounted: is it the wanted one, and if there is none, may one be made?
 * Making one destroys, so it takes the mark that nobody used the volume, and two probes that found
 * nothing. Superblocks are read first, without a program: a volume in use needs no more.
 */
export function planContent(
  { fsType, zeroFirst }: Wanted,
  volume: Publishable,
  observed: ObservedPublication,
): PublicationDecision {
  const { fileSystem, elsewhere, done } = observed;
  if (fileSystem === undefined) return lookAt('file-system');
  const isMounted = elsewhere.length > 0;
  const isPending = volume.lv.tags.includes(pendingTag);
  if (isPending && !isMounted) {
    const isMade = done.isFormatted || isOurWork(fileSystem, fsType, volume);
    if (isMade) return restPublished;
    if (isWorkForSource(fileSystem, fsType, volume)) {
      return planExisting(fsType, volume, { fileSystem, isMounted });
    }
    const mustZero = zeroFirst && showsOldBlocks(volume.lv) && !isZeroed(volume.lv);
    return mustZero
      ? planZeroing(volume, observed, { isForFormat: true })
      : planFormat(fsType, volume, observed);
  }
  if (fileSystem.kind === 'none' && !isMounted) return planEmpty(fsType, volume, observed);
  return planExisting(fsType, volume, { fileSystem, isMounted });
}

/**
 * Our mkfs came to its end here. Perhaps nobody was told, perhaps old metadata brought the pending
 * mark back and it is full of data: it is used as it is, and never made again.
 */
function isOurWork(found: FoundFileSystem, fsType: FsType, { lv }: Publishable): boolean {
  if (found.kind !== 'found' || found.isUnfinished) return false;
  return found.type === fsType && found.uuid === fileSystemUuid(lv.uuid);
}

/**
 * A copy that was taken after our mkfs on its source had come to its end, and before anybody had
 * noted that: the mark came along with a file system that is whole. The source may be gone.
 */
function isWorkForSource(found: FoundFileSystem, fsType: FsType, { vg, lv }: Publishable): boolean {
  if (found.kind !== 'found' || found.isUnfinished || found.type !== fsType) return false;
  // Copies of an earlier version have no note, and are known while their sources are there.
  const isNoted = readTag(lv.tags, 'madeFor') !== undefined;
  const sources = isNoted ? formattedFor(lv) : sourcesIn(vg, lv);
  return sources.some((uuid) => found.uuid === fileSystemUuid(uuid));
}

function sourcesIn(vg: ObservedVg, lv: ObservedLv): readonly string[] {
  const seen = new Set<ObservedLv>();
  for (let from = sourceIn(vg, lv); from !== undefined && !seen.has(from); ) {
    seen.add(from);
    from = sourceIn(vg, from);
  }
  return [...seen].map(({ uuid }) => uuid);
}

function sourceIn(vg: ObservedVg, { tags }: ObservedLv): ObservedLv | undefined {
  const name = readTag(tags, 'source');
  return vg.lvs.find((one) => one.name === name);
}

function planExisting(
  fsType: FsType,
  volume: Publishable,
  found: { readonly fileSystem: FoundFileSystem; readonly isMounted: boolean },
): PublicationDecision {
  const { fileSystem } = found;
  const name = nameOf(volume);
  if (fileSystem.kind === 'unknown') {
    // The kernel goes on with the dead disk, though LVM has found the one that is back.
    const advice = `if its disk was away and is back, \`lvchange --refresh ${name}\` is enough`;
    return blocked('DeviceFailed', `${name}: ${fileSystem.why}; ${advice}`);
  }
  if (fileSystem.kind === 'none') {
    return blocked('FileSystemDiffers', `${name} is mounted but holds no ${fsType} we can read`);
  }
  if (fileSystem.type !== fsType) {
    return blocked('FileSystemDiffers', `${name} holds ${describe(fileSystem)}, not ${fsType}`);
  }
  const fsUuid = fileSystemUuid(volume.lv.uuid);
  const mustRenew = fileSystems[fsType].renewsUuid && isCopy(volume.lv) && !found.isMounted;
  if (!mustRenew || fileSystem.uuid === fsUuid) return restPublished;
  return act({ kind: 'renew-uuid', device: volume.device.path, fsType, fsUuid });
}

/** A copy has the UUID of its source until it is given its own, which its superblock then shows. */
export function isCopy(lv: ObservedLv): boolean {
  return readTag(lv.tags, 'source') !== undefined && !lv.isReadOnly;
}

/** No mark and no file system: only a thin volume that proves empty may get one. */
function planEmpty(
  fsType: FsType,
  volume: Publishable,
  observed: ObservedPublication,
): PublicationDecision {
  const { lv } = volume;
  const isUnmapped = lv.kind === 'thin' && lv.dataPercent === 0;
  if (observed.done.isFormatted) return restPublished;
  if (isUnmapped && !observed.isReportFresh) return lookAt('report');
  if (isUnmapped) return planFormat(fsType, volume, observed);
  if (observed.probes === undefined) return lookAt('probes');
  const { signatures } = observed.probes;
  const found = foundBy(signatures);
  const name = nameOf(volume);
  if (found.length > 0) {
    return blocked('FileSystemDiffers', `${name} holds ${showList(found)}, not ${fsType}`);
  }
  const message =
    `${name} carries no pending mark, so it holds data, but no ${fsType} is found on it ` +
    `(${signatures.map(showProbe).join('; ')})`;
  return blocked('VolumeHoldsData', message);
}

/** All of a new volume is overwritten, if two probes found nothing on it. */
export function planZeroing(
  { lv }: Publishable,
  { probes: found }: ObservedPublication,
  purpose: { readonly isForFormat?: true } = {},
): PublicationDecision {
  if (found === undefined) return lookAt('probes');
  const probes = found.signatures;
  const permit = permitFor({ deed: 'zero-range', lv, probes });
  return isBlocked(permit) ? permit : act({ kind: 'in-group', want: 'zero', probes, ...purpose });
}

function planFormat(
  fsType: FsType,
  volume: Publishable,
  observed: ObservedPublication,
): PublicationDecision {
  const { lv, device } = volume;
  const { probes, fileSystem, here, elsewhere } = observed;
  if (probes === undefined) return lookAt('probes');
  if (fileSystem?.kind === 'unknown') {
    return blocked('VolumeHoldsData', `${nameOf(volume)} is left alone: ${fileSystem.why}`);
  }
  const found = fileSystem?.kind === 'found' ? fileSystem : undefined;
  const mountPoints = [...here, ...elsewhere].map((mount) => mount.mountPoint);
  const { signatures, exclusiveOpen } = probes;
  const evidence = { lv, probes: signatures, found, wantedType: fsType, mountPoints };
  const permit = permitFor({ deed: 'format-lv', ...evidence, exclusiveOpen });
  if (isBlocked(permit)) return permit;
  return act({
    kind: 'format-lv',
    device: device.path,
    lvUuid: lv.uuid,
    fsType,
    fsUuid: fileSystemUuid(lv.uuid),
    permit,
  });
}

function foundBy(probes: readonly Signatures[]): readonly string[] {
  return [...new Set(probes.flatMap((probe) => (probe.kind === 'found' ? probe.types : [])))];
}

function showProbe(probe: Signatures): string {
  return probe.kind === 'unknown' ? probe.why : 'nothing found';
}

function describe({ type, uuid }: { readonly type: string; readonly uuid: string }): string {
  return `${type} with UUID ${uuid}`;
}

function nameOf({ vg, lv }: Publishable): string {
  return `${vg.name}/${lv.name}`;
}
