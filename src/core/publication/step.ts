import type { Blocked } from '../../base/failures.ts';
import type { Signatures } from '../observed.ts';
import type { Permit } from '../permit.ts';
import type { FsType } from './file-systems.ts';

/** One thing to do for a publication, as data. `lvm/publication-argv.ts` knows how it is spelled. */
export type PublicationStep =
  | FileStep
  | FormatLv
  | RenewUuid
  | Mount
  | Bind
  | Remount
  | Unmount
  | GrowFileSystem
  | InGroup;

export type PublicationStepKind = PublicationStep['kind'];

/** Done through the host's door, without a program. */
export type FileStep =
  | { readonly kind: 'make-directory'; readonly path: string }
  | { readonly kind: 'make-file'; readonly path: string }
  | { readonly kind: 'change-mode'; readonly path: string; readonly mode: number }
  /** Never more than an empty directory or one file. */
  | { readonly kind: 'remove-directory'; readonly path: string }
  | { readonly kind: 'remove-file'; readonly path: string };

export type FormatLv = {
  readonly kind: 'format-lv';
  readonly device: string;
  readonly lvUuid: string;
  readonly fsType: FsType;
  readonly fsUuid: string;
  readonly permit: Permit<'format-lv'>;
};

export type RenewUuid = {
  readonly kind: 'renew-uuid';
  readonly device: string;
  readonly fsType: FsType;
  readonly fsUuid: string;
};

export type Mount = {
  readonly kind: 'mount';
  readonly device: string;
  readonly path: string;
  readonly fsType: FsType;
  readonly isReadOnly: boolean;
  readonly options: readonly string[];
  /** What a person can do when it fails and trying again will not help. */
  readonly advice?: string;
};

/** Shows a device node, or a file system that is mounted already, at one more path. */
export type Bind = {
  readonly kind: 'bind';
  readonly source: string;
  readonly path: string;
  readonly isReadOnly: boolean;
  readonly options: readonly string[];
};

export type Remount = { readonly kind: 'remount-read-only'; readonly path: string };

/** Takes away what is on top at the path. */
export type Unmount = { readonly kind: 'unmount'; readonly path: string };

export type GrowFileSystem = {
  readonly kind: 'grow-file-system';
  readonly fsType: FsType;
  readonly device: string;
  readonly path: string;
  /** What is mounted can be used as it is, and whoever was not told its size yet asks again. */
  readonly mayStaySmall?: true;
};

/** Needs lvm, and so its turn in the queue of the volume group: see `in-group.ts`. */
export type InGroup = { readonly kind: 'in-group' } & GroupWant;

export type GroupWant =
  | { readonly want: 'activate' }
  /** `isRaw`: it is about to be shown as a raw device, which is noted on a thick volume. */
  | { readonly want: 'clear-marks'; readonly isRaw?: true }
  /** `probes`: what was on the volume just before. Zeroing destroys as formatting does. */
  | {
      readonly want: 'zero';
      readonly probes: readonly [Signatures, Signatures];
      /** A file system is made next: the volume keeps the mark that allows it. */
      readonly isForFormat?: true;
    };

/** What a plan says next. `look`: something is not known yet that would cost to find out. */
export type PublicationDecision =
  | { readonly kind: 'step'; readonly step: PublicationStep }
  | { readonly kind: 'look'; readonly at: 'file-system' | 'probes' | 'report' }
  | Blocked
  | { readonly kind: 'rest' };

export const restPublished: PublicationDecision = { kind: 'rest' };

export function act(step: PublicationStep): PublicationDecision {
  return { kind: 'step', step };
}

export function lookAt(at: 'file-system' | 'probes' | 'report'): PublicationDecision {
  return { kind: 'look', at };
}
