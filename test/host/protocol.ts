/** What a test asks the driver in the guest, one JSON line each; see `driver.ts`. */
export type Ask =
  | { readonly op: 'apply'; readonly node: unknown }
  | { readonly op: 'create'; readonly node: unknown; readonly request: VolumeAsk }
  | { readonly op: 'delete'; readonly vg: string; readonly name: string }
  | { readonly op: 'snapshot'; readonly node: unknown; readonly request: SourceAsk }
  | { readonly op: 'clone'; readonly node: unknown; readonly request: SourceAsk & VolumeAsk }
  | { readonly op: 'remove-pool'; readonly node: unknown }
  | { readonly op: 'remove-vg'; readonly node: unknown }
  | { readonly op: 'release'; readonly node: unknown; readonly device: string }
  | { readonly op: 'publish'; readonly request: PublicationAsk }
  | { readonly op: 'unpublish' | 'grow' | 'stats'; readonly volume: string; readonly path: string }
  | { readonly op: 'mounts' }
  | { readonly op: 'look' }
  | { readonly op: 'observe' }
  | { readonly op: 'recover' }
  | { readonly op: 'burst'; readonly asks: readonly Ask[] };

export type VolumeAsk = {
  readonly name: string;
  readonly className: string;
  readonly size: string;
};

/** A volume of the group `vg`, by name; `fsType` undefined is the raw device. */
export type PublicationAsk = {
  readonly volume: string;
  readonly path: string;
  readonly fsType?: string;
  readonly flags?: readonly string[];
  readonly isReadOnly?: boolean;
  readonly zeroFirst?: boolean;
};

export type SourceAsk = {
  readonly name: string;
  readonly source: string;
  readonly className: string;
};

/** A command the driver started: what it was and what became of it. */
export type Ran = {
  readonly argv: readonly string[];
  readonly effect: 'reads' | 'changes';
  readonly exitCode: number | undefined;
  readonly durationMs: number;
};

export type Answer = {
  readonly id: number;
  /** `settled`, `blocked` with its code, or `failed` with the code of an OperationError. */
  readonly kind: 'settled' | 'blocked' | 'failed';
  readonly code?: string;
  readonly message?: string;
  readonly value?: unknown;
  readonly ran: readonly Ran[];
};

/** Said by the driver the moment a changing command was started. */
export type Started = { readonly started: readonly string[]; readonly count: number };

/** Where the driver kills itself: around its n-th changing command. */
export type Death = { readonly when: 'before' | 'during' | 'after'; readonly count: number };
