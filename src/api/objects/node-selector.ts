/** Which nodes are meant: one of the terms has to hold. */
export type NodeSelector = { readonly nodeSelectorTerms: readonly NodeSelectorTerm[] };

/** All of it has to hold. A term with nothing in it holds nowhere. */
export type NodeSelectorTerm = {
  readonly matchExpressions?: readonly NodeRequirement[];
  readonly matchFields?: readonly NodeRequirement[];
};

export type NodeRequirement = {
  readonly key: string;
  /** In, NotIn, Exists, DoesNotExist, Gt or Lt. */
  readonly operator: string;
  readonly values?: readonly string[];
};

export type Toleration = {
  readonly key?: string;
  /** Exists, or Equal, which it is when it is left out. */
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
  readonly tolerationSeconds?: number;
};

export type Taint = { readonly key: string; readonly value?: string; readonly effect: string };
