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
  capacityWriteMs: 2_000,
  /** Changes of what is asked for that come together are acted upon together. */
  groupsSettleMs: 200,
  /** Groups that are not as they should be are looked at again after this. */
  groupsAgainMs: 30_000,
  /** What a look shows of groups, beside what was done with them, is told at most this often. */
  groupsLookMs: 10_000,
  /** How much room they have is told this often, where nothing else is to be told. */
  groupsRoomMs: 300_000,
  /** Where new disks are taken, they are looked for this often, also if nothing was heard of one. */
  devicesAgainMs: 30_000,
  /** How often the socket that kubelet knows us by is looked for. */
  registrationLookMs: 10_000,
  /** Work under way when we are told to stop may take so long to end well. */
  stopGraceMs: 20_000,
} as const;
