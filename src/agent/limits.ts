/** The limits of an agent in a cluster. */
export const agentLimits = {
  /** Objects that are worked on at once: what goes to one volume group waits in its lane. */
  volumesAtOnce: 32,
  /** What failed without certainty is tried again after this, then later and later. */
  retryFirstMs: 500,
  retryLongestMs: 60_000,
  /** Work under way when we are told to stop may take so long to end well. */
  stopGraceMs: 20_000,
} as const;
