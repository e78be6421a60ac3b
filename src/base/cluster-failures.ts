import { type FailureRow, row } from './failure-row.ts';

/** The rows of `failures` that only a cluster has. */
export const clusterFailures = {
  // What a claim needs of the cluster is not there, or is not as it must be.
  StorageClassMissing: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Create it, or make a new claim that names an existing one.',
  ),
  ClaimUnsupported: row(
    'INVALID_ARGUMENT',
    'never',
    'user',
    'Make a new claim without the named field.',
  ),
  SourceNotReady: row(
    'UNAVAILABLE',
    'backoff',
    'user',
    'Wait if the source is being made: the claim is tried again by itself.',
  ),
  SourceUnusable: row(
    'FAILED_PRECONDITION',
    'after-change',
    'user',
    'Make a new claim with another source, or correct what is named.',
  ),
  SnapshotsNotInstalled: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Install the snapshot CRDs and a snapshot-controller.',
  ),
  DriverNotOnNode: row(
    'UNAVAILABLE',
    'backoff',
    'administrator',
    'Look whether the agent runs there and kubelet has registered the driver.',
  ),
  NoNodeAllowed: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'administrator',
    'Correct allowedTopologies of the StorageClass, or label a node.',
  ),
  NodeSilent: row(
    'UNAVAILABLE',
    'backoff',
    'administrator',
    'Look at the node and its agent: the work goes on by itself when they answer.',
  ),
  NodeUnknown: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'user',
    'Use a node that is in the cluster and runs the driver.',
  ),
  LogicalVolumeMissing: row(
    'FAILED_PRECONDITION',
    'after-change',
    'administrator',
    'Destroy the LV on its node with lvremove, or set the reclaim policy to Retain to keep it.',
  ),
  SourceOnOtherNode: row(
    'RESOURCE_EXHAUSTED',
    'after-change',
    'user',
    'Run the pod on the node of the source: a copy begins where its source is.',
  ),
  NotLeading: row(
    'UNAVAILABLE',
    'backoff',
    'system',
    'Ask again: another instance leads, or none does for a moment.',
  ),
  VersionSkew: row(
    'UNAVAILABLE',
    'backoff',
    'administrator',
    'Finish the roll-out of operator and agents, or undo it: it is tried again by itself.',
  ),
  RegistrationRefused: row(
    'FAILED_PRECONDITION',
    'backoff',
    'administrator',
    "Read kubelet's reason and its log; another driver may have this name or another topology.",
  ),
  ClusterUnavailable: row(
    'UNAVAILABLE',
    'backoff',
    'system',
    'Look at the API server; it is tried again.',
  ),
  ClusterRefused: row(
    'INTERNAL',
    'after-change',
    'administrator',
    'Look at the permissions of the operator, and whether its CRDs are installed.',
  ),
} as const satisfies Record<string, FailureRow>;
