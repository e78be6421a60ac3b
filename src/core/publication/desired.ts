import { type Blocked, blocked } from '../../base/failures.ts';
import { limits } from '../../base/limits.ts';
import { show, showList } from '../../base/show.ts';
import { defaultFsType, type FsType, fileSystems, isFsType } from './file-systems.ts';

/** A volume shown at a path of the node, as a file system or as the raw device. */
export type PresentPublication = {
  readonly presence: 'present';
  readonly volume: PublishedVolume;
  readonly targetPath: string;
  readonly access: Access;
  readonly isReadOnly: boolean;
  /** Nobody else may use it, not even at another path of this node. */
  readonly isExclusive: boolean;
};

/** Nothing of the volume may be left at the path. What else is there is not ours to take away. */
export type AbsentPublication = {
  readonly presence: 'absent';
  readonly volume: UnpublishedVolume;
  readonly targetPath: string;
};

export type DesiredPublication = PresentPublication | AbsentPublication;

export type PublishedVolume = {
  readonly vg: string;
  readonly name: string;
  readonly uuid: string;
};

/** The volume may be gone by now: what is not known of it any more is left out. */
export type UnpublishedVolume = {
  readonly name: string;
  readonly vg?: string | undefined;
  readonly uuid?: string | undefined;
};

export type Access =
  /** `zeroFirst`: what others left on the disks must not be readable in a new thick volume. */
  | { readonly kind: 'block'; readonly zeroFirst: boolean }
  | {
      readonly kind: 'mount';
      readonly fsType: FsType;
      readonly flags: readonly string[];
      /** A new thick volume is overwritten before a file system is made on it. */
      readonly zeroFirst: boolean;
    };

export type PublicationRequest = {
  readonly volume: PublishedVolume;
  readonly targetPath: string;
  readonly access:
    | { readonly kind: 'block'; readonly zeroFirst?: boolean }
    /** `fsType` '' is ext4. */
    | {
        readonly kind: 'mount';
        readonly fsType: string;
        readonly flags: readonly string[];
        readonly zeroFirst?: boolean;
      };
  readonly isReadOnly: boolean;
  readonly isExclusive?: boolean;
};

export function desiredPublication(request: PublicationRequest): PresentPublication | Blocked {
  const { volume, access, isExclusive = false } = request;
  const targetPath = checkPath(request.targetPath);
  if (typeof targetPath !== 'string') return targetPath;
  if (access.kind === 'block') {
    const raw = { kind: 'block', zeroFirst: access.zeroFirst ?? false } as const;
    const { isReadOnly } = request;
    return { presence: 'present', volume, targetPath, access: raw, isReadOnly, isExclusive };
  }
  const fsType = access.fsType === '' ? defaultFsType : access.fsType;
  if (!isFsType(fsType)) {
    const known = showList(Object.keys(fileSystems));
    return blocked('UnknownFileSystem', `${show(fsType)} is none of ${known}`);
  }
  const mode = mountMode(access.flags, request.isReadOnly);
  if ('kind' in mode) return mode;
  const { zeroFirst = false } = access;
  const mounted = { kind: 'mount', fsType, flags: mode.flags, zeroFirst } as const;
  const { isReadOnly } = mode;
  return { presence: 'present', volume, targetPath, access: mounted, isReadOnly, isExclusive };
}

export function absentPublication(request: {
  readonly volume: UnpublishedVolume;
  readonly targetPath: string;
}): AbsentPublication | Blocked {
  const targetPath = checkPath(request.targetPath);
  if (typeof targetPath !== 'string') return targetPath;
  return { presence: 'absent', volume: request.volume, targetPath };
}

/** One spelling for each path: the kernel's table of mounts knows no other. */
export function checkPath(path: string): string | Blocked {
  if (!path.startsWith('/') || unprintable(path) || path.length > limits.pathLengthMax) {
    return blocked('InvalidTargetPath', `${show(path)} is no absolute path`);
  }
  const parts = path.split('/').filter((part) => part !== '');
  if (parts.length === 0 || parts.includes('.') || parts.includes('..')) {
    return blocked('InvalidTargetPath', `${show(path)} is no path a volume can be shown at`);
  }
  return `/${parts.join('/')}`;
}

/** These would make something else of the mount than a volume at its path. */
const operations: ReadonlySet<string> = new Set([
  ...['bind', 'rbind', 'move', 'remount', 'x-mount.subdir'],
  // Any of these puts a device of its own between the volume and the mount.
  ...['loop', 'offset', 'sizelimit', 'encryption'],
]);
const operationStarts = ['make-', 'verity.'] as const;

type MountMode = { readonly flags: readonly string[]; readonly isReadOnly: boolean };

function mountMode(given: readonly string[], wantsReadOnly: boolean): MountMode | Blocked {
  const bad = given.find(unprintable);
  if (bad !== undefined) return badFlag(bad, 'it has characters that no option has');
  const flags = given.flatMap(splitFlags);
  const isReadOnly = wantsReadOnly || flags.some((flag) => keyOf(flag) === 'ro');
  const writable = flags.find((flag) => keyOf(flag) === 'rw');
  if (isReadOnly && writable !== undefined) {
    return badFlag(writable, 'the volume is wanted read-only');
  }
  const others = flags.filter((flag) => !['ro', 'rw'].includes(keyOf(flag)));
  const operation = others.find((flag) => isOperation(keyOf(flag)));
  if (operation !== undefined) return badFlag(operation, 'it makes another kind of mount');
  return { flags: [...new Set(others)], isReadOnly };
}

/** mount takes values for words that stand alone otherwise, such as `ro=recursive`. */
function keyOf(flag: string): string {
  return (flag.split('=', 1)[0] ?? '').trim().toLowerCase();
}

function isOperation(key: string): boolean {
  return operations.has(key) || operationStarts.some((start) => key.startsWith(start));
}

/** Commas separate options, except between quotes: an SELinux context may have some. */
function splitFlags(flag: string): readonly string[] {
  const parts = flag.match(/(?:"[^"]*"|[^,"])+/g) ?? [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

function unprintable(text: string): boolean {
  return text.split('').some((character) => character.charCodeAt(0) < 0x20);
}

function badFlag(flag: string, why: string): Blocked {
  return blocked('InvalidMountOptions', `the mount flag ${show(flag)} cannot be used: ${why}`);
}
