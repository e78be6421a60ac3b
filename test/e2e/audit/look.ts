import type { Cluster } from '../../../lab/cluster/index.ts';
import type { Guest } from '../../../lab/index.ts';

/** The few fields that the auditor compares, of objects and of what the nodes have. */
export type Meta = {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
};
export type Volume = {
  readonly metadata: Meta;
  readonly spec: {
    readonly csi?: { readonly driver: string; readonly volumeHandle: string };
    readonly capacity: { readonly storage: string };
    readonly claimRef?: { readonly uid?: string };
    readonly storageClassName?: string;
  };
  readonly status: { readonly phase: string };
};
export type Claim = {
  readonly metadata: Meta;
  readonly spec: {
    readonly volumeName?: string;
    readonly storageClassName?: string;
    readonly resources?: { readonly requests?: { readonly storage?: string } };
    readonly dataSource?: { readonly kind: string; readonly name: string };
  };
  readonly status: {
    readonly phase: string;
    readonly capacity?: { readonly storage: string };
    readonly allocatedResourceStatuses?: { readonly storage?: string };
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
};
export type Logical = {
  readonly metadata: Meta;
  readonly spec: { readonly nodeName: string; readonly size: string };
  readonly status?: {
    readonly volumeID?: string;
    readonly currentSize?: string;
    readonly code?: number;
    readonly message?: string;
  };
};
export type Pod = {
  readonly metadata: Meta;
  readonly spec: {
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
      readonly ephemeral?: object;
    }[];
  };
  readonly status: { readonly phase: string };
};
export type Snapshot = {
  readonly metadata: Meta;
  readonly spec: { readonly source: { readonly persistentVolumeClaimName?: string } };
  readonly status?: { readonly readyToUse?: boolean; readonly error?: object };
};
export type Content = {
  readonly metadata: Meta;
  readonly spec: {
    readonly driver: string;
    readonly volumeSnapshotRef: { readonly name: string; readonly namespace: string };
  };
  readonly status?: { readonly snapshotHandle?: string };
};
export type StorageClass = {
  readonly metadata: Meta;
  readonly provisioner: string;
  readonly volumeBindingMode?: string;
  readonly parameters?: Readonly<Record<string, string>>;
};
export type StorageCapacity = {
  readonly metadata: Meta;
  readonly storageClassName: string;
  readonly nodeTopology?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly capacity?: string;
  readonly maximumVolumeSize?: string;
};

export type Managed = { readonly metadata: Meta };

export type Lv = {
  readonly group: string;
  readonly name: string;
  readonly sizeBytes: bigint;
  readonly pool: string;
  readonly attributes: string;
  /** As the kernel writes it; nothing while it is not active. */
  readonly device: string;
};
export type Pv = { readonly group: string; readonly freeBytes: bigint };
export type Mount = { readonly target: string; readonly device: string };

export type NodeSeen = {
  readonly name: string;
  /** Without those that are parts of others. */
  readonly lvs: readonly Lv[];
  readonly pvs: readonly Pv[];
  readonly extentBytes: bigint;
  readonly mounts: readonly Mount[];
  /** Devices of device mapper that no LV stands for, and those that are suspended. */
  readonly strayDevices: readonly string[];
};

export type Seen = {
  /** Whose volumes are looked at; its domain is that of LogicalVolumes too. */
  readonly driver: string;
  readonly volumes: readonly Volume[];
  readonly claims: readonly Claim[];
  readonly logical: readonly Logical[];
  readonly pods: readonly Pod[];
  readonly snapshots: readonly Snapshot[];
  readonly contents: readonly Content[];
  readonly classes: readonly StorageClass[];
  readonly capacities: readonly StorageCapacity[];
  /** LVMClusters, and what is made of them for groups and nodes. */
  readonly managed: readonly Managed[];
  readonly nodes: readonly NodeSeen[];
};

export async function lookAtEverything(cluster: Cluster, driver = 'topolvm.io'): Promise<Seen> {
  const list = async <T>(path: string): Promise<readonly T[]> =>
    (await cluster.api.get<{ readonly items: readonly T[] }>(path))?.items ?? [];
  const storage = '/apis/storage.k8s.io/v1';
  const snapshot = '/apis/snapshot.storage.k8s.io/v1';
  const lvms = '/apis/lvm.topolvm.io/v1alpha1';
  const nodes = await Promise.all(cluster.nodes.map(lookAtNode));
  return {
    ...{ driver, nodes },
    volumes: await list<Volume>('/api/v1/persistentvolumes'),
    claims: await list<Claim>('/api/v1/persistentvolumeclaims'),
    logical: await list<Logical>(`/apis/${driver}/v1/logicalvolumes`),
    pods: await list<Pod>('/api/v1/pods'),
    snapshots: await list<Snapshot>(`${snapshot}/volumesnapshots`),
    contents: await list<Content>(`${snapshot}/volumesnapshotcontents`),
    classes: await list<StorageClass>(`${storage}/storageclasses`),
    capacities: await list<StorageCapacity>(`${storage}/csistoragecapacities`),
    // None of them where LVMClusters were never installed.
    managed: (
      await Promise.all(managedKinds.map((kind) => list<Managed>(`${lvms}/${kind}`)))
    ).flat(),
  };
}

const managedKinds = ['lvmclusters', 'lvmvolumegroups', 'lvmvolumegroupnodestatuses'] as const;

const lvFields = [
  ...['vg_name', 'lv_name', 'lv_dm_path', 'lv_size', 'origin_size', 'pool_lv', 'lv_attr'],
  ...['lv_kernel_major', 'lv_kernel_minor'],
];

const script = `set -e
lvm lvs --all --reportformat json --units b --nosuffix --options ${lvFields.join()}
echo ===
lvm pvs --reportformat json --units b --nosuffix --options vg_name,pv_free,vg_extent_size
echo ===
findmnt --json --list --output TARGET,MAJ:MIN
echo ===
dmsetup info --columns --noheadings --separator=' ' --options name,suspended
`;

type Row = Readonly<Record<string, string>>;

export async function lookAtNode(guest: Guest): Promise<NodeSeen> {
  const parts = (await guest.sh(script)).split('===\n');
  const [lvText = '', pvText = '', mountText = '', deviceText = ''] = parts;
  const lvs = rowsOf(lvText, 'lv');
  const pvs = rowsOf(pvText, 'pv').filter((row) => row['vg_name'] !== '');
  const { filesystems } = JSON.parse(mountText) as { readonly filesystems: readonly Row[] };
  return {
    name: guest.name,
    lvs: lvs.filter((row) => !row['lv_name']?.startsWith('[')).map(lvOf),
    pvs: pvs.map((row) => ({
      group: text(row, 'vg_name'),
      freeBytes: BigInt(text(row, 'pv_free')),
    })),
    extentBytes: BigInt(pvs[0]?.['vg_extent_size'] ?? '0'),
    mounts: filesystems.map((row) => ({
      target: text(row, 'target'),
      device: text(row, 'maj:min'),
    })),
    strayDevices: strays(deviceText, lvs),
  };
}

function rowsOf(report: string, kind: 'lv' | 'pv'): readonly Row[] {
  const parsed = JSON.parse(report) as {
    readonly report: readonly Record<string, readonly Row[]>[];
  };
  return parsed.report.flatMap((part) => part[kind] ?? []);
}

function text(row: Row, field: string): string {
  return row[field] ?? '';
}

function lvOf(row: Row): Lv {
  // Of a snapshot that is no thin one LVM calls the room for changes its size.
  const isCow = /^s/i.test(text(row, 'lv_attr'));
  const major = text(row, 'lv_kernel_major');
  return {
    group: text(row, 'vg_name'),
    name: text(row, 'lv_name'),
    sizeBytes: BigInt(text(row, isCow ? 'origin_size' : 'lv_size')),
    pool: text(row, 'pool_lv'),
    attributes: text(row, 'lv_attr'),
    device: major === '-1' ? '' : `${major}:${text(row, 'lv_kernel_minor')}`,
  };
}

/** Layers that LVM makes under an LV end with a word of its own: `data-pool-tpool`. */
function strays(devices: string, lvs: readonly Row[]): readonly string[] {
  const names = lvs.map((row) => text(row, 'lv_dm_path').replace('/dev/mapper/', ''));
  return devices
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([name = '']) => name !== '' && name !== 'No')
    .flatMap(([name = '', state = '']) => {
      if (state === 'Suspended') return [`${name} is suspended`];
      const isKnown = names.some((known) => name === known || name.startsWith(`${known}-`));
      return isKnown ? [] : [`${name} stands for no LV`];
    });
}
