import { blocked } from '../../base/failures.ts';
import { showList } from '../../base/show.ts';
import { pendingTag, readBytes } from '../tags.ts';
import { showsOldBlocks } from '../volume/growth.ts';
import { isCopy, planContent, planZeroing } from './content.ts';
import type { Access, PresentPublication } from './desired.ts';
import { type FsType, fileSystems } from './file-systems.ts';
import { isUnnoted } from './in-group.ts';
import type { ObservedMount, ObservedPublication } from './observed.ts';
import { isMountOf, type Publishable, publishable } from './publishable.ts';
import {
  act,
  type GrowFileSystem,
  type InGroup,
  lookAt,
  type PublicationDecision,
  restPublished,
} from './step.ts';

/** The root of a file system we made is open to every user of the pod, as with TopoLVM. */
export const rootMode = 0o2777;
/** As every mkfs leaves it. Any other is the choice of somebody who used the volume before. */
const madeMode = 0o755;

/**
 * What to do next so that a volume is shown at a path. Nobody uses what is there before the
 * request is answered, so whatever was cut off is completed by the same request.
 */
export function planPublication(
  desired: PresentPublication,
  observed: ObservedPublication,
): PublicationDecision {
  const volume = publishable(desired.volume, !desired.isReadOnly, observed);
  if ('kind' in volume) return volume;
  const top = observed.here.at(-1);
  if (top !== undefined && !isMountOf(desired.volume, top.owner)) {
    return blocked('TargetTaken', `${observed.target.path} already shows ${nameOf(top)}`);
  }
  const stray = strayAt(observed);
  if (stray !== undefined) {
    return blocked('CommandTimedOut', `${stray}, of an earlier life of ours, still runs`);
  }
  const others = observed.elsewhere.map(({ mountPoint }) => mountPoint);
  // Who has it already keeps it: kubelet binds parts of it elsewhere, and asks again.
  if (desired.isExclusive && top === undefined && others.length > 0) {
    return inUse(volume, `is in use at ${showList(others)}, and was asked for alone`);
  }
  const { access } = desired;
  if (access.kind === 'block') {
    return top === undefined
      ? planNode(desired, access, volume, observed)
      : planShownNode(desired, volume, observed, top);
  }
  return top === undefined
    ? planMount(desired, access, volume, observed)
    : planMounted(desired, access, volume, { observed, top });
}

/**
 * Mounts stack: what is yet to be mounted at the path would come on top of ours. What is yet to be
 * done with the volume elsewhere may show it twice.
 */
function strayAt({ strays, target, device }: ObservedPublication): string | undefined {
  const named = [target.path, ...(device === undefined ? [] : [device.path])];
  return strays.find((words) => named.some((path) => ` ${words} `.includes(` ${path} `)));
}

type MountAccess = Extract<Access, { kind: 'mount' }>;
type BlockAccess = Extract<Access, { kind: 'block' }>;

function planMount(
  desired: PresentPublication,
  access: MountAccess,
  volume: Publishable,
  observed: ObservedPublication,
): PublicationDecision {
  const { target } = observed;
  const raw = observed.elsewhere.find((mount) => mount.isNode);
  if (raw !== undefined) {
    return inUse(volume, `is shown as a raw device at ${raw.mountPoint}`);
  }
  if (target.kind !== 'absent' && target.kind !== 'directory') {
    return blocked('TargetTaken', `${target.path} is no directory but a ${target.kind}`);
  }
  const content = planContent(access, volume, observed);
  if (content.kind !== 'rest') return content;
  const readOnly = observed.elsewhere.find((mount) => mount.isFileSystemReadOnly);
  if (readOnly !== undefined && !desired.isReadOnly) {
    return inUse(volume, `is mounted read-only at ${readOnly.mountPoint}`);
  }
  if (target.kind === 'absent') return act({ kind: 'make-directory', path: target.path });
  // What we just made is opened to its users first, and made read-only then.
  const isReadOnly = desired.isReadOnly && !isPending(volume);
  const writable = observed.elsewhere.find((mount) => mount.isWhole && !mount.isFileSystemReadOnly);
  const common = { path: target.path, isReadOnly };
  // The kernel does not mount one file system read-only and writable at once.
  if (isReadOnly && writable !== undefined) {
    const options = access.flags.filter((flag) => mountFlags.has(flag));
    return act({ kind: 'bind', source: writable.mountPoint, ...common, options });
  }
  const { fsType, flags } = access;
  const options = [...new Set([...fileSystems[fsType].mountOptions, ...flags])];
  const step = { kind: 'mount', device: volume.device.path, fsType, ...common, options } as const;
  const isOld = isPending(volume) && !observed.done.isFormatted;
  return act(isOld ? { ...step, advice: adviceOf(fsType, volume) } : step);
}

/** A file system of ours under a pending mark: cut off before the answer, or somebody's data. */
function adviceOf(fsType: FsType, { vg, lv, device }: Publishable): string {
  return (
    `${vg.name}/${lv.name} holds ${fsType} that was made for it, and is marked as never used. ` +
    'Metadata of an older day may have brought the mark back: if there can be data on it, repair ' +
    `it with the fsck of ${fsType}; if not, wipefs --all ${device.path} lets it be formatted again`
  );
}

/** Flags of one mount; all others belong to the file system and cannot differ between mounts. */
const mountFlags: ReadonlySet<string> = new Set([
  ...['noatime', 'atime', 'nodiratime', 'diratime', 'relatime', 'strictatime', 'norelatime'],
  ...['nosuid', 'suid', 'nodev', 'dev', 'noexec', 'exec'],
]);

/** It is mounted here already: by an earlier call, or by one that was cut off. */
function planMounted(
  desired: PresentPublication,
  access: MountAccess,
  volume: Publishable,
  { observed, top }: { readonly observed: ObservedPublication; readonly top: ObservedMount },
): PublicationDecision {
  const { path, mode } = observed.target;
  if (top.isNode) return differs(desired, 'as a raw device');
  if (top.fsType !== access.fsType) return differs(desired, `as ${top.fsType}`);
  const isUnfinished = isPending(volume);
  if (top.isReadOnly && !desired.isReadOnly) return differs(desired, 'read-only');
  if (!top.isReadOnly && desired.isReadOnly && !isUnfinished) return differs(desired, 'writable');
  if (isUnfinished && !top.isReadOnly) {
    if (mode === madeMode) return act({ kind: 'change-mode', path, mode: rootMode });
    if (desired.isReadOnly) return act({ kind: 'remount-read-only', path });
  }
  if (isUnfinished) return act({ kind: 'in-group', want: 'clear-marks' });
  if (desired.isReadOnly) return restPublished;
  // A claim is told the size of a copy when it is bound: kubelet never asks for this growth.
  const ease = isAsItWasMade(volume) ? {} : ({ mayStaySmall: true } as const);
  return planGrowth(access, volume, observed, ease);
}

/** A copy that has not grown since. Whoever lets it grow later asks for that of its file system. */
function isAsItWasMade({ vg, lv }: Publishable): boolean {
  const asked = readBytes(lv.tags, 'asked');
  return isCopy(lv) && asked !== undefined && lv.sizeBytes < asked + vg.extentSizeBytes;
}

/** A file system that is smaller than its device grows while it is mounted. */
export function planGrowth(
  { fsType }: Pick<MountAccess, 'fsType'>,
  { device }: Pick<Publishable, 'device'>,
  { done, fileSystem, target }: ObservedPublication,
  ease: Pick<GrowFileSystem, 'mayStaySmall'> & { readonly mustKnow?: true },
): PublicationDecision {
  if (done.hasTriedToGrow) return restPublished;
  if (fileSystem === undefined) return lookAt('file-system');
  // What cannot be read may be too small: whoever must know asks the program that makes it grow.
  const { mustKnow, ...allowed } = ease;
  if (fileSystem.kind !== 'found' && mustKnow !== true) return restPublished;
  const isFull = fileSystem.kind === 'found' && fileSystem.growsToBytes <= fileSystem.sizeBytes;
  if (isFull) return restPublished;
  const { path } = target;
  return act({ kind: 'grow-file-system', fsType, device: device.path, path, ...allowed });
}

function planNode(
  desired: PresentPublication,
  access: BlockAccess,
  volume: Publishable,
  observed: ObservedPublication,
): PublicationDecision {
  const { target } = observed;
  const mounted = observed.elsewhere.find((mount) => !mount.isNode);
  if (mounted !== undefined) return inUse(volume, `is mounted at ${mounted.mountPoint}`);
  if (target.kind !== 'absent' && target.kind !== 'file') {
    return blocked('TargetTaken', `${target.path} is no file but a ${target.kind}`);
  }
  // From the moment it is shown it may hold data: the mark goes first.
  const mustZero = access.zeroFirst && showsOldBlocks(volume.lv);
  if (isPending(volume) && mustZero) return planZeroing(volume, observed);
  if (mustNote(volume)) return act(noteRaw);
  if (target.kind === 'absent') return act({ kind: 'make-file', path: target.path });
  const { isReadOnly } = desired;
  const source = volume.device.path;
  return act({ kind: 'bind', source, path: target.path, isReadOnly, options: [] });
}

function planShownNode(
  desired: PresentPublication,
  volume: Publishable,
  observed: ObservedPublication,
  top: ObservedMount,
): PublicationDecision {
  if (!top.isNode) return differs(desired, `as ${top.fsType}`);
  if (observed.target.kind !== 'device') {
    return blocked('TargetTaken', `${observed.target.path} is a ${observed.target.kind}`);
  }
  if (top.isReadOnly !== desired.isReadOnly) {
    return differs(desired, top.isReadOnly ? 'read-only' : 'writable');
  }
  return mustNote(volume) ? act(noteRaw) : restPublished;
}

const noteRaw: InGroup = { kind: 'in-group', want: 'clear-marks', isRaw: true };

function mustNote(volume: Publishable): boolean {
  return isPending(volume) || isUnnoted(volume.vg, volume.lv);
}

function isPending({ lv }: Publishable): boolean {
  return lv.tags.includes(pendingTag);
}

function differs({ volume, targetPath }: PresentPublication, how: string): PublicationDecision {
  const message = `${volume.vg}/${volume.name} is already shown at ${targetPath}, but ${how}`;
  return blocked('PublishedDifferently', message);
}

function inUse({ vg, lv }: Publishable, how: string): PublicationDecision {
  return blocked('VolumeInUse', `${vg.name}/${lv.name} ${how}`);
}

export function nameOf(mount: ObservedMount): string {
  return `${mount.source} (${mount.fsType})`;
}
