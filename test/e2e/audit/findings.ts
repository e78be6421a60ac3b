import type { Layout } from '../layout.ts';
import { bytesOf } from '../quantity.ts';
import { capacityFindings } from './capacity.ts';
import { claimFindings } from './claims.ts';
import type { Logical, Lv, Meta, NodeSeen, Pod, Seen, Volume } from './look.ts';
import { snapshotFindings } from './snapshots.ts';

/** What is leaked, lost or stuck, as sentences. Nothing of it may be true when all is at rest. */
export function findingsIn(
  seen: Seen,
  layout: Layout,
  /** Claims that somebody lets wait on purpose: `NAMESPACE/NAME`. */
  waiting: ReadonlySet<string> = new Set(),
): readonly string[] {
  return [
    ...volumeFindings(seen),
    ...claimFindings(seen, layout, waiting),
    ...snapshotFindings(seen),
    ...lvFindings(seen, layout),
    ...poolFindings(seen, layout),
    ...mountFindings(seen),
    ...finalizerFindings(seen),
    ...capacityFindings(seen, layout),
  ];
}

function oursOf({ driver, volumes }: Seen): readonly Volume[] {
  return volumes.filter(({ spec }) => spec.csi?.driver === driver);
}

function volumeFindings(seen: Seen): readonly string[] {
  const { logical, contents } = seen;
  const ours = oursOf(seen);
  const handles = new Set([
    ...ours.map(({ spec }) => spec.csi?.volumeHandle),
    ...contents.map(({ status }) => status?.snapshotHandle),
  ]);
  const byUid = new Map(logical.map((one) => [one.metadata.uid, one]));
  return [
    ...logical
      .filter(({ metadata }) => !handles.has(metadata.uid))
      .map(({ metadata }) => `LogicalVolume ${metadata.name} belongs to nothing`),
    ...logical.flatMap(logicalFindings),
    ...ours.flatMap(({ metadata, spec, status }) => {
      const found = byUid.get(spec.csi?.volumeHandle ?? '');
      const name = `PersistentVolume ${metadata.name}`;
      if (found === undefined) return [`${name} has no LogicalVolume`];
      const given = bytesOf(found.status?.currentSize ?? '0');
      return [
        ...(status.phase === 'Bound' ? [] : [`${name} is ${status.phase}`]),
        ...(bytesOf(spec.capacity.storage) > given
          ? [`${name} says more than its volume has`]
          : []),
        ...('quarry.io/unpublished' in (found.metadata.annotations ?? {})
          ? [`LogicalVolume ${found.metadata.name} is marked as never published`]
          : []),
      ];
    }),
  ];
}

function logicalFindings({ metadata, spec, status }: Logical): readonly string[] {
  const name = `LogicalVolume ${metadata.name}`;
  if (status?.code) return [`${name} has the code ${status.code}: ${status.message ?? ''}`];
  if (status?.volumeID !== metadata.uid) return [`${name} has no volume`];
  if (status.currentSize === undefined) return [`${name} has no size`];
  if (bytesOf(spec.size) > bytesOf(status.currentSize)) return [`${name} has not grown`];
  return [];
}

/** LVs in our groups that are the host's own. */
function foreignIn(layout: Layout): ReadonlySet<string> {
  return new Set(
    Object.values(layout).flatMap(({ group, foreign = [] }) =>
      foreign.map((name) => `${group}/${name}`),
    ),
  );
}

/** A thin pool is made for a class, or is somebody's who was here before. */
function poolFindings({ nodes }: Seen, layout: Layout): readonly string[] {
  const own = Object.values(layout).flatMap(({ group, pool }) =>
    pool === undefined ? [] : [`${group}/${pool.name}`],
  );
  const known = new Set([...own, ...foreignIn(layout)]);
  return nodes.flatMap((node) =>
    node.lvs
      .filter((lv) => isPool(lv) && !known.has(`${lv.group}/${lv.name}`))
      .map(({ group, name }) => `thin pool ${group}/${name} on ${node.name} is of no class`),
  );
}

function lvFindings({ nodes, logical }: Seen, layout: Layout): readonly string[] {
  const foreign = foreignIn(layout);
  const byUid = new Map(logical.map((one) => [one.metadata.uid, one]));
  const places = new Map<string, string>();
  const found = nodes.flatMap((node) => [
    ...node.strayDevices.map((what) => `${node.name}: device ${what}`),
    ...volumesOf(node).flatMap((lv) => {
      if (foreign.has(`${lv.group}/${lv.name}`)) return [];
      const owner = byUid.get(lv.name);
      const name = `LV ${lv.group}/${lv.name} on ${node.name}`;
      places.set(lv.name, node.name);
      if (owner === undefined) return [`${name} has no LogicalVolume`];
      const told = bytesOf(owner.status?.currentSize ?? '0');
      return [
        ...(owner.spec.nodeName === node.name ? [] : [`${name} belongs to ${owner.spec.nodeName}`]),
        ...(lv.sizeBytes === told ? [] : [`${name} has ${lv.sizeBytes} bytes, not ${told}`]),
      ];
    }),
  ]);
  const lost = logical
    .filter(({ metadata, spec }) => places.get(metadata.uid) !== spec.nodeName)
    .map(({ metadata }) => `LogicalVolume ${metadata.name} has no LV`);
  return [...found, ...lost];
}

/** Without thin pools. */
export function volumesOf({ lvs }: Pick<NodeSeen, 'lvs'>): readonly Lv[] {
  return lvs.filter((lv) => !isPool(lv));
}

function isPool({ attributes }: Lv): boolean {
  return attributes.startsWith('t');
}

/** Where kubelet has a volume for a pod, as a file system and as a device. */
const places = [
  /\/pods\/(?<pod>[^/]+)\/volumes\/kubernetes\.io~csi\/(?<volume>[^/]+)\/mount$/,
  /\/pods\/(?<pod>[^/]+)\/volumeDevices\/kubernetes\.io~csi\/(?<volume>[^/]+)$/,
  /\/volumeDevices\/publish\/(?<volume>[^/]+)\/(?<pod>[^/]+)$/,
  /\/volumeDevices\/(?<volume>[^/]+)\/dev\/(?<pod>[^/]+)$/,
] as const;

function placeOf(target: string): { readonly pod: string; readonly volume: string } | undefined {
  for (const pattern of places) {
    const { pod, volume } = pattern.exec(target)?.groups ?? {};
    if (pod !== undefined && volume !== undefined) return { pod, volume };
  }
  return undefined;
}

function mountFindings(seen: Seen): readonly string[] {
  const handleOf = new Map(
    oursOf(seen).map(({ metadata, spec }) => [metadata.name, spec.csi?.volumeHandle]),
  );
  return seen.nodes.flatMap((node) => {
    const lvs = volumesOf(node);
    const wanted = wantedOn(seen, node.name);
    const shown = new Set<string>();
    const wrong = node.mounts.flatMap(({ target, device }) => {
      const place = placeOf(target);
      const lv = lvs.find((one) => one.device === device);
      if (place === undefined)
        return lv === undefined ? [] : [`${node.name}: ${target} is a mount`];
      if (place.volume !== '' && !wanted.has(`${place.pod} ${place.volume}`)) {
        return [`${node.name}: ${target} is mounted for no pod`];
      }
      shown.add(`${place.pod} ${place.volume}`);
      const isWrong = lv !== undefined && handleOf.get(place.volume) !== lv.name;
      return isWrong ? [`${node.name}: ${target} shows ${lv.name}`] : [];
    });
    const missing = [...wanted].flatMap(([key, pod]) =>
      shown.has(key) || pod.status.phase !== 'Running'
        ? []
        : [`${node.name}: pod ${pod.metadata.name} runs without ${key.split(' ')[1]}`],
    );
    return [...wrong, ...missing, ...openFindings(seen, node, shown)];
  });
}

/** Pods of a node by their volumes: `UID VOLUME`. */
function wantedOn(seen: Seen, node: string): ReadonlyMap<string, Pod> {
  const { pods, claims } = seen;
  const ours = new Set(oursOf(seen).map(({ metadata }) => metadata.name));
  const volumeOf = new Map(
    claims.map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, spec.volumeName]),
  );
  const wanted = new Map<string, Pod>();
  for (const pod of pods.filter(({ spec }) => spec.nodeName === node)) {
    for (const { name, persistentVolumeClaim, ephemeral } of pod.spec.volumes ?? []) {
      const own = ephemeral === undefined ? undefined : `${pod.metadata.name}-${name}`;
      const claim = persistentVolumeClaim?.claimName ?? own;
      const volume = volumeOf.get(`${pod.metadata.namespace}/${claim}`);
      if (volume !== undefined && ours.has(volume))
        wanted.set(`${pod.metadata.uid} ${volume}`, pod);
    }
  }
  return wanted;
}

/** Whatever holds a volume open that nobody has mounted will keep it from being removed. */
function openFindings(
  { volumes }: Seen,
  node: NodeSeen,
  shown: ReadonlySet<string>,
): readonly string[] {
  const names = new Set([...shown].map((key) => key.split(' ')[1]));
  const mounted = new Set(
    volumes
      .filter(({ metadata }) => names.has(metadata.name))
      .map(({ spec }) => spec.csi?.volumeHandle),
  );
  return volumesOf(node)
    .filter(({ name, attributes }) => attributes[5] === 'o' && !mounted.has(name))
    .map(({ group, name }) => `${node.name}: LV ${group}/${name} is open, and no pod has it`);
}

const allowedFinalizers = {
  PersistentVolume: [
    'kubernetes.io/pv-protection',
    'external-provisioner.volume.kubernetes.io/finalizer',
  ],
  // Whoever was cloned once keeps the second until it is deleted.
  claim: ['kubernetes.io/pvc-protection', 'provisioner.storage.kubernetes.io/cloning-protection'],
  LogicalVolume: ['topolvm.io/logicalvolume', 'topolvm.cybozu.com/logicalvolume'],
  pod: [],
} as const satisfies Record<string, readonly string[]>;

function finalizerFindings(seen: Seen): readonly string[] {
  const kinds: readonly [keyof typeof allowedFinalizers, readonly { readonly metadata: Meta }[]][] =
    [
      ['PersistentVolume', seen.volumes],
      ['claim', seen.claims],
      ['LogicalVolume', seen.logical],
      ['pod', seen.pods],
    ];
  const left = kinds.flatMap(([kind, objects]) => {
    const allowed: readonly string[] = allowedFinalizers[kind];
    return objects.flatMap(({ metadata }) =>
      (metadata.finalizers ?? [])
        .filter((name) => !allowed.includes(name))
        .map((name) => `${kind} ${metadata.name} still has the finalizer ${name}`),
    );
  });
  const { volumes, claims, logical, pods, snapshots, contents, managed } = seen;
  const stuck = [...volumes, ...claims, ...logical, ...pods, ...snapshots, ...contents, ...managed]
    .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
    .map(({ metadata }) => `${metadata.name} is stuck in deletion`);
  return [...left, ...stuck];
}
