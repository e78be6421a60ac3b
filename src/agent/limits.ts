/** The limits of an agent in a cluster. */
export const agentLimits = {
  /** Objects that are worked on at once: what goes to one volume group waits in its lane. */
  volumesAtOnce: 32,
  /** What failed without certainty is tried again after this, then later and later. */
  retryFirstMs: 500,
  retryLongestMs: 60_000,
  /** What waits for another object is looked at again, also if nothing was heard of it. */
  waitLookMs: 10_000,
  /** Requests to the API server: a burst of claims is told at once. */
  requestsPerSecond: 50,
  requestsAtOnce: 150,
  /** The annotations of the Node are written at most this often, unless somebody decides by them. */
  nodeWriteMs: 60_000,
  /** Changes of a volume group that come together are told together. */
  capacitySettleMs: 200,
  /** One class is told at most this often. */
  capacityWriteMs: 700,
  /** How often the socket that kubelet knows us by is looked for. */
  registrationLookMs: 10_000,
  /** Work under way when we are told to stop may take so long to end well. */
  stopGraceMs: 20_000,
} as const;
