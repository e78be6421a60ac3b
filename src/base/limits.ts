import { GiB, KiB, MiB } from './bytes.ts';

/** Every limit, once, with its unit in its name. Docs and messages are made from these. */
export const limits = {
  /** All annotations of an object may have 256 KiB together, and others write some too. */
  inventoryCharactersMax: 131_072,
  /** What was asked of a group stands in an annotation, beside what its nodes note there. */
  askedCharactersMax: 65_536,
  /** LVs without an object that a Node names: each takes some 50 characters of these. */
  strayNamesMax: 100,
  /** A plan that does not come to rest after so many steps is a bug. */
  passesMax: 200,

  /** A reading command may be killed after this. */
  readTimeoutMs: 60_000,
  /** A changing command that takes longer counts as failed once it is gone; it is not ended. */
  changeTimeoutMs: 120_000,
  /** Copying one slice of a clone, or moving extents, may be slow on a slow disk. */
  copyTimeoutMs: 3_600_000,
  /** How often an earlier life's commands are looked for, after a start. */
  strayLookMs: 200,
  /** Between asking a reading command to stop and killing it. */
  killGraceMs: 2_000,
  /** Both streams of one command together. */
  outputBytesMax: 64 * 1024 * 1024,
  /** How much of stderr goes into a message. */
  messageBytesMax: 2_000,

  /** Changes waiting for one volume group. */
  queueLengthMax: 10_000,
  /** Changes of one volume group that share one refresh. */
  burstLengthMax: 64,
  /** So many changes that came later are let go before one that only takes marks off. */
  passedByMax: 64,
  /** A change made by somebody else is seen after at most this long. */
  foreignChangeNoticedMs: 60_000,
  /** A refresh asked for by a hint waits so long for further hints. */
  hintSettleMs: 250,
  /** A look at what the kernel bore out waits until no change has run for so long. */
  quietMs: 1_000,
  /**
   * Changes that the kernel bore out are believed without a report for so long, or for so many
   * times what a look takes: where looks are slow they would stand in the way of changes.
   */
  witnessedMs: 5_000,
  witnessedLooks: 20,
  witnessedMsMax: 30_000,
  /** A step found stale is planned again at most so often before the caller is told. */
  staleRetriesMax: 8,
  /** A refresh that failed is tried again after this. */
  refreshRetryMs: 5_000,

  /** TopoLVM rounds sizes up to this before LVM rounds them to extents. */
  sectorBytes: 4n * KiB,
  extentSizeBytes: 4n * MiB,
  /** Asked for no size in particular, TopoLVM gives this much. */
  volumeBytesDefault: 1n * GiB,
  /** Less than this is of no use: TopoLVM's minima. */
  blockBytesMin: 8n * MiB,
  ext4BytesMin: 32n * MiB,
  xfsBytesMin: 300n * MiB,
  btrfsBytesMin: 200n * MiB,
  /** LVM's text metadata needs about 2 KiB a volume at worst: room for 2,000 volumes, twice. */
  vgMetadataBytes: 16n * MiB,
  /** A copy that was cut off goes on from a multiple of this. */
  copySliceBytes: 256n * MiB,
  /** Zeroing a new raw volume that was cut off goes on from a multiple of this. */
  zeroSliceBytes: 64n * GiB,
  /** A file or device that gives no answer for so long counts as failed. */
  fileTimeoutMs: 20_000,
  /** File systems are frozen for a group snapshot for at most so long. */
  freezeMsMax: 60_000,
  /** A device that does not empty its cache for so long has failed. */
  flushTimeoutMs: 120_000,
  /** One dead device holds one of them for ever; each costs about 12 KiB. libuv has 4 by itself. */
  fileThreads: 32,
  /** Linux takes no longer path. */
  pathLengthMax: 4095,

  /** CoW snapshots: room reserved for changes, as a share of the origin. */
  cowReservePercent: 20n,
  cowReserveBytesMin: 64n * MiB,
  /** What lvcreate chooses for a CoW snapshot, and what the kernel notes of each changed chunk. */
  cowChunkBytes: 4n * KiB,
  cowChunkNoteBytes: 16n,
  /** A CoW snapshot fuller than this is grown. */
  cowGrowAtPercent: 70,
  cowGrowByPercent: 20n,

  thinPoolChunkBytes: 128n * KiB,
  thinPoolChunkBytesMin: 64n * KiB,
  thinPoolChunkBytesMax: 1n * GiB,
  thinPoolMetadataBytesMin: 2n * MiB,
  thinPoolMetadataBytesMax: 16n * GiB,
  /** dm-thin spends 64 bytes of metadata for each chunk it maps. */
  thinPoolMetadataBytesPerChunk: 64n,
  thinPoolSizePercentMin: 10,
  thinPoolSizePercentMax: 100,
  thinPoolSizePercentAdvised: 90,
  /** Above this fill of data or metadata new thin volumes are refused. */
  thinPoolFullPercent: 95,
  /** From this fill on a pool is warned of. */
  thinPoolWarnPercent: 80,
  /** A pool that may grow by itself does so from this fill on, by this share of its size. */
  thinPoolGrowAtPercent: 75,
  thinPoolGrowByPercent: 20n,
  /** How often the kernel is asked how full pools and CoW snapshots are: no lvm run. */
  fillLookMs: 10_000,
  overprovisionRatioMax: 100,
  /** lvmd.yaml takes no longer name, and a part of an annotation's key neither. */
  deviceClassNameLengthMax: 63,

  /** Steps for comparing the classes of one LVMCluster; one that needs more is refused. */
  comparisonsMax: 10_000_000,

  stripesMax: 128,
  mirrorsMax: 10,
  /** Disks of one RAID, with parity and copies: lvm takes no more. */
  raidImagesMax: 64,
  stripeSizeBytes: 64n * KiB,
  /** LVM makes no smaller ones. */
  stripeSizeBytesMin: 4n * KiB,

  /** A longer lvmd.yaml is a mistake, for LVMS too. */
  lvmdFileBytesMax: 2 * 1024 * 1024,
  /** Merges (`<<`) of merges would grow without end. */
  lvmdMergedKeysMax: 10_000,
  /** TopoLVM keeps so much free in a thick class that says nothing else. */
  lvmdSpareBytes: 10n * GiB,
  /** 8 EiB, where LVM ends; TopoLVM would wrap around soon after. */
  lvmdSpareGibMax: 8_589_934_592,
  /** TopoLVM names no end for ratios and factors, but its arithmetic has one. */
  lvmdRatioMax: 1_000_000,

  /** Several writes of one edit are taken together. */
  configSettleMs: 200,
  /** Where the kernel tells no changes the file is read again after so long. */
  configPollMs: 10_000,
  /** Who watches lvmd's socket hears the same values again after so long, as from TopoLVM. */
  lvmdWatchMs: 600_000,

  /** A claim whose volume did not grow is tried again after this, then later and later. */
  expandRetryMs: 1_000,
  /** What cannot work until somebody changes something is tried again after this. */
  infeasibleRetryMs: 300_000,
  /** Nobody waits longer for one volume to grow; the volume goes on growing. */
  expandWaitMs: 60_000,
  /** Volumes that grow at once, over all nodes. One that waits for a dead node costs nothing else. */
  expandWorkers: 64,
  /** How often a VolumeAttributesClass that a claim names is looked for while there is none. */
  attributesClassLookMs: 30_000,
  /** A Node that was away for less than this has not failed. */
  nodeFailedMs: 300_000,

  /** LVM: VG and LV name together with the escaping of hyphens must fit a dm name. */
  dmNameLengthMax: 127,
  lvNameLengthMax: 127,
  /** LVM's own. */
  tagLengthMax: 1_024,
  /** An unused copy of an unused copy notes so many of those it comes from. */
  madeForMax: 8,
  /** What udev tells of several devices is taken together. */
  deviceSettleMs: 1_000,
  /** How often udev is looked for where it cannot be heard. */
  deviceWatchAgainMs: 60_000,
  /** Disks smaller than this are never worth a volume group. */
  deviceBytesMin: 16n * MiB,

  /** The kernel's room for the path of a unix socket. */
  socketPathBytesMax: 107,
  /** How long an instance that starts waits for one that starts with it to give way. */
  socketClaimWaitMs: 1_000,
  /** What an instance that died while it claimed a socket left behind is removed after this. */
  socketLitterAgeMs: 600_000,
  /** One gRPC message, in either direction; kubelet's own limit. */
  grpcMessageBytesMax: 4 * 1024 * 1024,
  /** Connections to metrics and probes at a time. */
  httpConnectionsMax: 32,
  /** A request for metrics or a probe that takes longer is dropped. */
  httpTimeoutMs: 10_000,
  /** Calls that run when a server stops may take so long to end. */
  grpcStopGraceMs: 20_000,

  /** A claim or a volume of the cluster that failed is tried again after this, and later. */
  clusterRetryMs: 1_000,
  clusterRetryMsMax: 300_000,
  /** Claims, or volumes to be removed, that are worked on at a time. */
  clusterWorkers: 128,
  /** A claim that cannot be granted as it is waits so long, unless its class changes. */
  claimHoldMs: 300_000,
  /** After so long without an answer of its node a volume is asked for again later. */
  nodeAnswerMs: 60_000,
  /** How often guards are looked for that nobody needs any more. */
  guardSweepMs: 300_000,
} as const;
