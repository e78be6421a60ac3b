/** Something that is wrong in a cluster, for whoever has to set it right. */
export type Finding = {
  readonly code: FindingCode;
  readonly object: ObjectRef;
  /** The node that it is about, where it is about one. */
  readonly node?: string;
  readonly what: string;
  readonly why: string;
  readonly remedy: string;
  /** What there is to know beside it, one by one: devices, pods, volumes. */
  readonly details: readonly string[];
};

export type ObjectRef = {
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
};

export type FindingRow = {
  /** When it is found. */
  readonly when: string;
  readonly why: string;
  readonly remedy: string;
};

export type FindingCode = keyof typeof findings;

/** Everything that is looked for, in the order in which it is told: causes before consequences. */
export const findings = {
  NotInstalled: row(
    'Nothing of Quarry is found: no operator, no agents, or no kind LogicalVolume.',
    'Nobody makes volumes.',
    'Install it, or name the namespace where it is with --namespace.',
  ),
  DriverMissing: row(
    'There is no CSIDriver object of the name of the driver.',
    'Kubernetes does not ask the driver how much room there is, and pods may land anywhere.',
    'Apply the manifests again: the CSIDriver is one of them.',
  ),
  OperatorNotReady: row(
    'Pods of the operator are not ready, or there are fewer than wanted.',
    'While no operator is ready no claim is bound, grown or deleted. What is mounted stays.',
    'Look at the reason, then at the log: kubectl logs of the pod, with --previous after a crash.',
  ),
  AgentNotReady: row(
    'The agent of a node is not ready.',
    'Volumes of this node are neither made nor mounted anew. What is mounted stays.',
    'Look at the node, then at the log of the agent, with --previous after a crash.',
  ),
  AgentMissing: row(
    'A node that an LVMCluster means has no agent.',
    'Nobody makes volume groups there.',
    'Look at the DaemonSet: its nodeSelector and tolerations must let it run there.',
  ),
  VersionsSkewed: row(
    'Operator and agents run different images.',
    'They were not tested together. During a roll-out this is so for some minutes.',
    'Wait for the roll-out to end; if it does not, look at the pods that still have the old image.',
  ),
  NewWorkRefused: row(
    'The operator and the agent of a node have told versions that do not go together.',
    'Volumes of this node are served. None is made, grown, copied or removed there.',
    'Finish the roll-out, or undo it: what waits is done by itself then.',
  ),
  DriverNotRegistered: row(
    'An agent runs on a node whose kubelet does not know the driver.',
    'No pod with one of our volumes can start there.',
    "Look at kubelet's log, and whether --kubelet-root of the agents is kubelet's directory.",
  ),
  WebhookUnreachable: row(
    'A webhook is registered, and nobody answers for it or API servers do not know whom to believe.',
    'API servers refuse every change of an LVMCluster.',
    'Bring the operator up, started with --webhook-address. It writes the caBundle by itself.',
  ),
  ClusterIgnored: row(
    'An LVMCluster has no status although it is not new.',
    'Nobody acts on it: no volume group is made.',
    'Give --lvm-clusters to operator and agents, and make it in the namespace of the operator.',
  ),
  ClusterIncomplete: row(
    'What an LVMCluster needs could not be made, as its condition says.',
    'Classes that it names cannot be used until it is.',
    'Do what the condition says.',
  ),
  DeletionWaits: row(
    'An LVMCluster or a class of it is being deleted and waits.',
    'Disks are given back only when no volume is left on them.',
    'Delete what is named, or bring the nodes back; Retain keeps volumes until you delete them.',
  ),
  ClassWithoutNode: row(
    'A device class means no node.',
    'Claims of its StorageClass wait for ever.',
    'Compare its nodeSelector with the labels of the nodes, and tolerations with their taints.',
  ),
  GroupNotTold: row(
    'An agent is ready and has told nothing of a class that its node should have.',
    'Whether there is a volume group is not known, and no volume is made there.',
    'Look whether the agents have --lvm-clusters, and at the log of the one on the node.',
  ),
  NoDevices: row(
    'A class finds no device that it can take on a node.',
    'There is no volume group, and so no room, on this node.',
    'Look at the reasons beside the devices; add a disk, or correct deviceSelector.',
  ),
  ForeignSignature: row(
    'A device that a class wants holds something, and is left alone.',
    'What is on a disk is never overwritten unless somebody says so.',
    'Look what it is. Only if nobody needs it, clear it (wipefs); else take it out of the class.',
  ),
  DeviceMissing: row(
    'A device of a volume group, or one that a class names, is not there.',
    'Nothing is made or grown in this group, and volumes on the device cannot be used.',
    'Bring the disk back, or repair the group as the guide on trouble says.',
  ),
  PoolFull: row(
    'A thin pool is filling up, or is full.',
    'A full pool takes nothing new, and writes to its volumes wait and then fail.',
    'Add a device to the class, grow the pool, or delete volumes and snapshots.',
  ),
  RaidDegraded: row(
    'Volumes of a RAID class have lost a copy.',
    'The next disk that fails may take their data with it.',
    'Replace the disk and repair the volumes as the guide on trouble says.',
  ),
  GroupUnwell: row(
    'A volume group is not as it should be for any other reason.',
    'Volumes of this class may not be made there.',
    'Do what the reason says.',
  ),
  CapacityMissing: row(
    'A node does not tell how much room a class has.',
    'The scheduler sends no pod with a new volume there.',
    'Look at the log of the agent of the node.',
  ),
  ClaimWaits: row(
    'A claim of one of our classes waits.',
    'Its pod does not start.',
    'Do what the event says; kubectl describe pvc shows all of them.',
  ),
  VolumeRefused: row(
    'A LogicalVolume has an error code: its node refused it.',
    'The volume was not made, or has not grown.',
    'Do what the message says. A claim is tried again by itself.',
  ),
  VolumeUnwell: row(
    'The agent says that something is wrong with a volume.',
    'Reads or writes may fail, or will when one more thing fails.',
    'Do what the guide on trouble says about these words.',
  ),
  VolumeStranded: row(
    'A LogicalVolume is on a node that is not in the cluster.',
    'Its data is on the disks of that node and nowhere else.',
    'Bring the node back under its name; to give it up: kubectl annotate it quarry.io/discard=true.',
  ),
  LogicalVolumeMissing: row(
    'A PersistentVolume is in use, and no LogicalVolume has its volume handle.',
    'It neither grows nor is it copied, and nobody removes its LV when the claim goes.',
    'Copy the data to a new claim while it can be read, delete this one, and remove the LV by hand.',
  ),
  StrayVolumes: row(
    'A node has LVs with our tags that no LogicalVolume names.',
    'They take room, and may hold somebody’s data: nobody removes them.',
    'Look on the node whose they are, and remove with lvremove only what nobody needs.',
  ),
  VolumeOrphaned: row(
    'A LogicalVolume that no claim and no PersistentVolume has.',
    'It takes room, and may be all that is left of somebody’s data: it is never removed by itself.',
    'Make a PersistentVolume with its id as volumeHandle, or delete the LogicalVolume.',
  ),
  SnapshotOrphaned: row(
    'The LogicalVolume of a snapshot that no VolumeSnapshotContent has, where the kind is served.',
    'It takes room, and may have been kept on purpose: it is never removed by itself.',
    'Make a VolumeSnapshotContent with its id as snapshotHandle, or delete the LogicalVolume.',
  ),
} as const satisfies Record<string, FindingRow>;

function row(when: string, why: string, remedy: string): FindingRow {
  return { when, why, remedy };
}

type Facts = Pick<Finding, 'object' | 'what'> &
  Partial<Pick<Finding, 'node' | 'remedy' | 'details'>>;

export function finding(code: FindingCode, facts: Facts): Finding {
  const { why, remedy } = findings[code];
  return { code, why, remedy, details: [], ...facts };
}

/** Messages of ours tell what to do along with what happened. */
export function parted(message: string): Pick<Facts, 'what' | 'remedy'> {
  const [what = '', remedy] = message.split(' Remedy: ');
  return remedy === undefined ? { what } : { what, remedy };
}

/** `Kind namespace/name` */
export function showObject({ kind, namespace, name }: ObjectRef): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
