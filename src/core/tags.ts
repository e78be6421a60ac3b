import { type Bytes, bytes } from '../base/bytes.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';

/**
 * The marks we put on volumes, as LVM tags written by the very command that makes the volume.
 * A volume without them was made by somebody else and holds data.
 */
export const ownerTag = 'quarry';

/** Made but not yet formatted or wiped: only such a volume may ever be. */
export const pendingTag = 'quarry.pending';

/**
 * Made for somebody who prepares it himself, and who was not told of it yet: the command that made
 * it may have been cut off. The mark goes before anybody is told, so it never says of a volume in
 * use that nobody has used it; and it lets nothing be formatted.
 */
export const makingTag = 'quarry.making';

/** It was shown as a raw device: what it grows by must not show what the disks held before. */
export const rawTag = 'quarry.use=raw';

/** A copy that is not complete: the volume must not be used. */
export const copyingTag = 'quarry.copying';

/** Value of the `role` tag of the snapshot that a copy reads from. */
export const copySourceRole = 'copy-source';

/** Value of the `role` tag of a snapshot; volumes, clones among them, have no role. */
export const snapshotRole = 'snapshot';

/** Taken of a volume that nobody had used yet: what is made of it is as good as new. */
export const unusedTag = 'quarry.unused';

/** Value of the `role` tag of a thin pool, by which a pool that is half made is known. */
export const thinPoolRole = 'thin-pool';

/** Value of the `role` tag of a volume that is made and removed to wake up a thin pool. */
export const poolMessengerRole = 'pool-messenger';

/** On members of a group snapshot: all were taken, and nothing was written in between. */
export const sealedTag = 'quarry.group-sealed';

const prefixes = {
  class: 'quarry.class=',
  source: 'quarry.source=',
  /** What the source is: a `volume` or a `snapshot`. */
  from: 'quarry.from=',
  copied: 'quarry.copied=',
  /** How far a new raw volume was overwritten with zeroes. */
  zeroed: 'quarry.zeroed=',
  /** A raw volume grew, and from here on its new end is not overwritten yet. */
  grownFrom: 'quarry.grown-from=',
  /** UUIDs of the volumes for which the file system on an unused copy may have been made. */
  madeFor: 'quarry.made-for=',
  name: 'quarry.name=',
  role: 'quarry.role=',
  /** When it was asked for, in milliseconds since 1970: a retry tells the same time. */
  created: 'quarry.created=',
  /** The size that was asked for, by which a repeated request is known. */
  asked: 'quarry.asked=',
  /** The group snapshot it is a part of. */
  group: 'quarry.group=',
  /** How that group snapshot was called, and how many members it has. */
  'group-name': 'quarry.group-name=',
  'group-size': 'quarry.group-size=',
} as const;

export type TagKey = keyof typeof prefixes;

export function tagOf(key: TagKey, value: string): string {
  return `${prefixes[key]}${encode(value)}`;
}

export function readTag(tags: readonly string[], key: TagKey): string | undefined {
  const prefix = prefixes[key];
  const tag = tags.find((candidate) => candidate.startsWith(prefix));
  return tag === undefined ? undefined : decode(tag.slice(prefix.length));
}

/** A number of bytes that was noted; `undefined` where there is none that can be read. */
export function readBytes(tags: readonly string[], key: TagKey): Bytes | undefined {
  const note = readTag(tags, key) ?? '';
  return /^[0-9]+$/.test(note) ? bytes(BigInt(note)) : undefined;
}

/** All tags of a key, so that none is left when they go. */
export function tagsOf(tags: readonly string[], key: TagKey): readonly string[] {
  return tags.filter((tag) => tag.startsWith(prefixes[key]));
}

export function isOurs(tags: readonly string[]): boolean {
  return tags.includes(ownerTag);
}

/**
 * Tags that a caller gives stand beside ours. One that looks like ours would lie about the volume:
 * a pending mark from outside would let a volume with data be formatted.
 */
export function checkCallerTags(tags: readonly string[]): Blocked | undefined {
  const bad = tags.find((tag) => !callerTag.test(tag) || isReserved(tag));
  if (bad === undefined) return undefined;
  const why = isReserved(bad)
    ? `tags that begin with ${ownerTag} are ours`
    : `a tag has 1 to ${limits.tagLengthMax} letters, digits and _ + . - / = ! : & #`;
  return blocked('InvalidRequest', `the tag ${show(bad)} cannot be used: ${why}`);
}

const callerTag = new RegExp(`^(?!-)[A-Za-z0-9_+./=!:&#-]{1,${limits.tagLengthMax}}$`);

function isReserved(tag: string): boolean {
  return tag === ownerTag || tag.startsWith(`${ownerTag}.`);
}

/** LVM allows letters, digits and `_ + . - / = ! : & #`; `!` starts an escape of ours. */
function encode(value: string): string {
  let encoded = '';
  for (const character of value) {
    encoded += /^[A-Za-z0-9_+./=:&#-]$/.test(character)
      ? character
      : `!${(character.codePointAt(0) ?? 0).toString(16)}.`;
  }
  return encoded;
}

function decode(text: string): string {
  return text.replace(/!([0-9a-f]{1,6})\./g, (all, hex: string) => {
    const point = Number.parseInt(hex, 16);
    // Anybody may write such a tag: what is no character stays as it stands.
    return point > 0x10ffff ? all : String.fromCodePoint(point);
  });
}
