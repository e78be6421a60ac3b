/** The limits of the door to the cluster. Those of leases are `LeaseTimes`, chosen by who leads. */
export const kubeLimits = {
  /** A request, from its place in the queue of connections to the last byte of the answer. */
  requestTimeoutMs: 30_000,
  /** One answer: a page of the largest objects that etcd takes is far below. */
  answerBytesMax: 64 * 1024 * 1024,
  /** One event of a watch: etcd refuses objects beyond 1.5 MiB. */
  lineBytesMax: 8 * 1024 * 1024,
  /** Connections for requests; watches have their own. */
  connectionsMax: 8,
  /** A connection that nobody used for so long is closed. */
  connectionIdleMs: 60_000,
  /** How soon the kernel asks a silent peer whether it is still there. */
  tcpKeepAliveMs: 15_000,

  /** Objects in one page of a list. */
  pageLength: 500,
  /** A list that has more does not end. */
  pagesMax: 10_000,
  /** A server sends a bookmark every minute, the first one after two: this is a dead connection. */
  watchIdleMs: 180_000,
  /** After so many watches in a row that told nothing at all there is another list. */
  silentWatchesMax: 2,
  /** The server ends a watch after a time in this range; then it goes on where it was. */
  watchSecondsMin: 300,
  watchSecondsMax: 600,
  /** A watch that ends sooner and told nothing is trouble. */
  watchMsMin: 1_000,

  /** How long to wait after the first trouble, and at most. */
  backoffMsMin: 800,
  backoffMsMax: 30_000,
  /** A server may ask for more patience than this; it is not granted. */
  retryAfterMsMax: 60_000,
  /** How often one request is sent while the server answers that it is too busy. */
  attemptsMax: 5,

  /** Files with tokens and certificates are read again after so long. */
  credentialsReadMs: 10_000,
  /** A program that gives credentials may ask a person to log in. */
  credentialsProgramMs: 60_000,

  /** Requests in a second, and at once. */
  requestsPerSecond: 20,
  requestsAtOnce: 40,
} as const;
