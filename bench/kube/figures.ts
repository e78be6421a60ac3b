/** What `make bench-kube` found. All times are in milliseconds, all memory is in MiB. */

export type Burst = {
  readonly claims: number;
  readonly pods: number;
  /** From the request that makes a claim until it is Bound, for each of them. */
  readonly boundMs: readonly number[];
  /** From the request that makes a pod until it is Ready. */
  readonly readyMs: readonly number[];
  /** From the first request until the last claim was Bound. */
  readonly allBoundMs: number;
  /** What the nodes did until then. */
  readonly time: NodeTime;
};

/** Seconds of the processors of all nodes. */
export type NodeTime = {
  readonly udev: number;
  /** Programs that the processes of the side ran: lvm, mkfs, mount. */
  readonly programs: number;
  readonly own: number;
  readonly kubelet: number;
  readonly others: number;
};

/** Writes to the API server, by resource, of all processes of one side. */
export type Writes = Readonly<Record<string, number>>;

export type LvmRuns = { readonly changes: number; readonly looks: number };

export type ProcessFigures = {
  readonly name: string;
  readonly node: string;
  readonly rssMiB: number;
  readonly peakMiB: number;
  readonly anonMiB: number;
  readonly pssMiB: number;
  readonly idleMillicores: number;
};

/** Of an LVMCluster with one thin class on one bare disk of each node. */
export type LvmClusterFigures = {
  readonly nodes: number;
  /** From the request that makes it until it is Ready, for each round. */
  readonly readyMs: readonly number[];
  /** From the request that deletes it until it is gone. */
  readonly goneMs: readonly number[];
  /** How long nothing changed, and what was written in that time. */
  readonly idleSeconds: number;
  readonly writes: Writes;
  readonly processes: readonly ProcessFigures[];
};

export type SideFigures = {
  readonly side: string;
  /** Those with the same number of claims are taken together. */
  readonly bursts: readonly Burst[];
  readonly counted: { readonly claims: number; readonly writes: Writes };
  readonly lvm: { readonly claims: number; readonly runs: LvmRuns };
  readonly processes: readonly ProcessFigures[];
};
