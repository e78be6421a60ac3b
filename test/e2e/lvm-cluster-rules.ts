import type { LvmCluster, LvmDeviceClass, LvmRaid } from '../../src/api/objects/lvm-cluster.ts';
import { clusterOf, type Draft } from './lvm-cluster-scene.ts';

/** What is wrong with a draft, and how the API server says so. */
export type Rule = readonly [what: string, draft: Draft, why: RegExp];

/** A class that nothing is wrong with, of a disk that nobody has. */
function vg1(changes: object = {}): LvmDeviceClass {
  return { name: 'vg1', default: true, deviceSelector: { paths: ['/dev/none'] }, ...changes };
}

function thin(changes: object = {}): LvmDeviceClass {
  return vg1({ thinPoolConfig: { name: 'pool', overprovisionRatio: 10, ...changes } });
}

function raid(raidConfig: LvmRaid, disks: number): LvmDeviceClass {
  const paths = Array.from({ length: disks }, (_, at) => `/dev/none${at}`);
  return vg1({ raidConfig, deviceSelector: { paths } });
}

function options(storageClassOptions: object): LvmDeviceClass {
  return vg1({ storageClassOptions });
}

function paths(...names: readonly string[]): LvmDeviceClass {
  return vg1({ deviceSelector: { paths: names } });
}

function one(what: string, wrong: LvmDeviceClass, why: RegExp): Rule {
  return [what, clusterOf([wrong]), why];
}

function two(what: string, second: object, why: RegExp): Rule {
  const other = { name: 'vg2', deviceSelector: { paths: ['/dev/none2'] }, ...second };
  return [what, clusterOf([vg1(), other]), why];
}

function withSpec(draft: Draft, spec: object): Draft {
  return { ...draft, spec: { ...draft.spec, ...spec } };
}

const external: LvmCluster['spec'] = { configurationPolicy: 'ExternalConfiguration' };
const onLinux = nodesWith('kubernetes.io/os', 'linux');

export function nodesWith(key: string, value: string) {
  const matchExpressions = [{ key, operator: 'In', values: [value] }];
  return { nodeSelectorTerms: [{ matchExpressions }] };
}

/** While there is no LVMCluster. */
export const creationRules: readonly Rule[] = [
  [
    'another namespace',
    { ...clusterOf([vg1()]), metadata: { name: 'mine', namespace: 'default' } },
    /metadata.namespace.*make it in quarry-system, where the operator looks for it/,
  ],
  ['no class', clusterOf([]), /deviceClasses is missing: name at least one class/],
  [
    'classes beside ExternalConfiguration',
    withSpec(clusterOf([vg1()]), external ?? {}),
    /with configurationPolicy ExternalConfiguration there are no deviceClasses here/,
  ],
  two('two defaults', { default: true }, /let one class be the default/),
  two('a greedy class', { deviceSelector: undefined }, /a class without them takes every disk/),
  two(
    'a disk that another class has',
    { deviceSelector: { paths: ['/dev/none'] } },
    /name it in one class: vg1 has it on the same nodes/,
  ),
  two(
    'a disk that another class has on nodes that are told in other words',
    { deviceSelector: { paths: ['/dev/none'] }, nodeSelector: onLinux },
    /or part their nodes: vg1 has it on n1 and n2 too/,
  ),
  one('a long name', vg1({ name: 'a'.repeat(64) }), /write at most 63 characters/),
  one('a shared class', vg1({ deviceAccessPolicy: 'shared' }), /not available yet/),
  one(
    'a shared class with a thin pool',
    { ...thin(), deviceAccessPolicy: 'shared' },
    /a shared device class has no thinPoolConfig/,
  ),
  one('no file system', vg1({ fstype: 'none' }), /write xfs or ext4/),
  one('a file system of others', vg1({ fstype: 'btrfs' }), /fstype: Unsupported value/),
  one('a selector without paths', vg1({ deviceSelector: {} }), /name devices under paths or/),
  one('a path elsewhere', paths('/srv/disk'), /write a path that starts with \/dev\//),
  one('a path that leads elsewhere', paths('/dev/../srv'), /write it without \/\/, \. and \.\./),
  one('a path twice', paths('/dev/none', '/dev/none'), /name each device once/),
  one(
    'chunks where the host chooses',
    thin({ chunkSizeCalculationPolicy: 'Host', chunkSize: '128Ki' }),
    /chunkSize is .*Host chooses the size by itself/,
  ),
  one('small chunks', thin({ chunkSize: '32Ki' }), /write a multiple of 64Ki from 64Ki/),
  one('odd chunks', thin({ chunkSize: '100Ki' }), /write a multiple of 64Ki from 64Ki to 1Gi/),
  one('large chunks', thin({ chunkSize: '2Gi' }), /write a multiple of 64Ki from 64Ki/),
  one(
    'metadata where the host chooses',
    thin({ metadataSize: '1Gi' }),
    /metadataSize is .*Host chooses the size by itself/,
  ),
  one(
    'much metadata',
    thin({ metadataSizeCalculationPolicy: 'Static', metadataSize: '17Gi' }),
    /write a size from 2Mi to 16Gi/,
  ),
  one('a pool with a space', thin({ name: 'my pool' }), /name is .*only letters, digits and/),
  one('a pool without a name', thin({ name: '' }), /thinPoolConfig.name is .*it is empty or dots/),
  one('a pool of LVM’s', thin({ name: 'x_tmeta' }), /name is .*LVM keeps this name for itself/),
  one('a long pool', thin({ name: 'x'.repeat(130) }), /it is longer than 127 characters/),
  one('a large promise', thin({ overprovisionRatio: 101 }), /overprovisionRatio.*100/),
  one('a tiny pool', thin({ sizePercent: 9 }), /sizePercent.*greater than or equal to 10/),
  one(
    'RAID with a thin pool',
    { ...thin(), ...raid({ type: 'raid1' }, 2), thinPoolConfig: thin().thinPoolConfig as never },
    /leave one of raidConfig and thinPoolConfig out/,
  ),
  one('raid5 with mirrors', raid({ type: 'raid5', mirrors: 1 }, 3), /only raid1 and raid10 have/),
  one('raid1 with stripes', raid({ type: 'raid1', stripes: 2 }, 2), /raid1 has no stripes/),
  one(
    'a stripe size of raid1',
    raid({ type: 'raid1', stripeSize: '64Ki' }, 2),
    /raid1 has no stripes/,
  ),
  one('raid10 with three copies', raid({ type: 'raid10', mirrors: 2 }, 6), /raid10 of two copies/),
  one('raid6 with two stripes', raid({ type: 'raid6', stripes: 2 }, 4), /lvm makes no smaller/),
  one('odd stripes', raid({ type: 'raid5', stripeSize: '100Ki' }, 3), /write a power of two/),
  one('thin stripes', raid({ type: 'raid5', stripeSize: '2Ki' }, 3), /write at least 4Ki: lvm/),
  one('raid1 with many mirrors', raid({ type: 'raid1', mirrors: 11 }, 12), /write at most 10:/),
  one('raid5 with many stripes', raid({ type: 'raid5', stripes: 129 }, 130), /write at most 128:/),
  one(
    'RAID without paths',
    vg1({ raidConfig: { type: 'raid1' }, deviceSelector: undefined }),
    /deviceSelector is missing: name at least 2 devices/,
  ),
  one('raid5 with two disks', raid({ type: 'raid5' }, 2), /name at least 3 devices/),
  one('raid10 with five disks', raid({ type: 'raid10' }, 5), /name a multiple of 2 devices/),
  one(
    'a parameter of ours',
    options({ additionalParameters: { 'topolvm.io/device-class': 'x' } }),
    /they follow from the device class/,
  ),
  one(
    'the file system as a parameter',
    options({ additionalParameters: { 'csi.storage.k8s.io/fstype': 'xfs' } }),
    /they follow from the device class/,
  ),
  one('no parameter', options({ additionalParameters: { '': 'x' } }), /write a name for the param/),
  one(
    'a label of ours',
    options({ additionalLabels: { 'app.kubernetes.io/part-of': 'x' } }),
    /take another label: this one is in use/,
  ),
  one('a strange label', options({ additionalLabels: { '-x': 'x' } }), /write a label such as/),
  one('a strange value', options({ additionalLabels: { x: 'a b' } }), /write at most 63 letters/),
];

/** What is taken, and what is said of it: `kubectl` prints it as a warning. */
export const warnings: readonly Rule[] = [
  one(
    'no default',
    vg1({ default: false }),
    /no device class is the default: claims that name no StorageClass/,
  ),
  one('a pool without room', thin({ sizePercent: 95 }), /sizePercent is 95: above 90 little is/),
  one(
    'a greedy class',
    vg1({ deviceSelector: undefined }),
    /deviceSelector is missing: every disk that nobody uses is taken/,
  ),
  one(
    'metadata of a size that is not told',
    thin({ metadataSizeCalculationPolicy: 'Static' }),
    /metadataSize is missing: 1Gi is taken/,
  ),
  one(
    'every disk, also later',
    vg1({ deviceSelector: undefined, deviceDiscoveryPolicy: 'Dynamic' }),
    /deviceDiscoveryPolicy is Dynamic and no paths are named: every disk/,
  ),
];

/** A class of mirrors on nodes that a label tells, with leave to wipe what is on their disks. */
export function mirrorOf(deviceSelector: LvmDeviceClass['deviceSelector']): LvmDeviceClass {
  return {
    ...{ name: 'vg3', fstype: 'ext4', nodeSelector: onLinux, raidConfig: { type: 'raid1' } },
    deviceSelector: { ...deviceSelector, forceWipeDevicesAndDestroyAllData: true },
  };
}

/** Of an LVMCluster with three classes: a thin one that is the default, a thick one and mirrors. */
export function changeRules(
  pool: LvmDeviceClass,
  plain: LvmDeviceClass,
  mirror: LvmDeviceClass,
): readonly Rule[] {
  const all = [pool, plain, mirror];
  return [
    [
      'a second one',
      { ...clusterOf([pool]), metadata: { name: 'other', namespace: 'quarry-system' } },
      /change mine instead: there can be one LVMCluster only/,
    ],
    ['without its classes', clusterOf([]), /leave at least one class, or delete the LVMCluster/],
    ['without its default', clusterOf([plain, mirror]), /let another class be the default first/],
    [
      'another policy',
      withSpec(clusterOf([]), external ?? {}),
      /configurationPolicy cannot be changed: delete the LVMCluster and make it anew/,
    ],
    ...poolRules(pool, all),
    ...plainRules(plain, all),
    ...mirrorRules(mirror, all),
    [
      'from paths to every disk',
      clusterOf([pool, { name: plain.name, fstype: 'ext4' }, mirror]),
      /a class with paths never takes every disk/,
    ],
  ];
}

/** How one class of an LVMCluster may not be changed, while the others stay as they are. */
function changes(one: LvmDeviceClass, all: readonly LvmDeviceClass[]) {
  return (what: string, changed: object, why: RegExp): Rule => {
    return [
      what,
      clusterOf(all.map((each) => (each === one ? { ...each, ...changed } : each))),
      why,
    ];
  };
}

function poolRules(pool: LvmDeviceClass, all: readonly LvmDeviceClass[]): readonly Rule[] {
  const of = changes(pool, all);
  const inPool = (changed: object) => ({ thinPoolConfig: { ...pool.thinPoolConfig, ...changed } });
  return [
    of('another pool', inPool({ name: 'p2' }), /thinPoolConfig.name is .*make another device/),
    of('another share', inPool({ sizePercent: 80 }), /sizePercent is 80: keep it at 90/),
    of('other chunks', inPool({ chunkSize: '256Ki' }), /chunkSize is .*keep it at .*128Ki/),
    of(
      'chunks that the host chooses',
      inPool({ chunkSizeCalculationPolicy: 'Host' }),
      /chunkSizeCalculationPolicy is .*keep it at .*Static/,
    ),
    of('huge chunks', inPool({ chunkSize: '2Gi' }), /write a multiple of 64Ki from 64Ki/),
    of('much metadata', inPool({ metadataSize: '17Gi' }), /write a size from 2Mi to 16Gi/),
    of('less metadata', inPool({ metadataSize: '8Mi' }), /at least 16Mi: metadata cannot shr/),
    of('no pool', { thinPoolConfig: undefined }, /thinPoolConfig is missing: keep it at/),
  ];
}

function plainRules(plain: LvmDeviceClass, all: readonly LvmDeviceClass[]): readonly Rule[] {
  const [first, ...rest] = plain.deviceSelector?.optionalPaths ?? [];
  const of = changes(plain, all);
  const forceWipe = { forceWipeDevicesAndDestroyAllData: true };
  return [
    of('a pool', { thinPoolConfig: thin().thinPoolConfig }, /thinPoolConfig is .*leave it out/),
    of('RAID', { raidConfig: { type: 'raid1' } }, /raidConfig is .*leave it out/),
    of('other nodes', { nodeSelector: onLinux }, /nodeSelector is .*leave it out/),
    of('another file system', { fstype: 'xfs' }, /fstype cannot be changed/),
    of(
      'leave to wipe',
      { deviceSelector: { ...plain.deviceSelector, ...forceWipe } },
      /forceWipeDevicesAndDestroyAllData is true: keep it at false/,
    ),
    of(
      'another reclaim policy',
      { storageClassOptions: { reclaimPolicy: 'Retain' } },
      /reclaimPolicy/,
    ),
    of(
      'another binding mode',
      { storageClassOptions: { volumeBindingMode: 'Immediate' } },
      /volumeBindingMode is .*keep it at .*WaitForFirstConsumer/,
    ),
    of(
      'other parameters',
      { storageClassOptions: { additionalParameters: { x: 'y' } } },
      /additionalParameters is .*it cannot be changed/,
    ),
    of('a shared class', { deviceAccessPolicy: 'shared' }, /deviceAccessPolicy cannot be/),
    of(
      'a path twice',
      { deviceSelector: { optionalPaths: [first, first, ...rest] } },
      /name each device once/,
    ),
  ];
}

function mirrorRules(mirror: LvmDeviceClass, all: readonly LvmDeviceClass[]): readonly Rule[] {
  const { optionalPaths } = mirror.deviceSelector ?? {};
  const of = changes(mirror, all);
  return [
    of('no RAID', { raidConfig: undefined }, /raidConfig is missing: keep it at .*raid1/),
    of('other RAID', { raidConfig: { type: 'raid10' } }, /raidConfig is .*keep it at .*raid1/),
    of('more copies', { raidConfig: { type: 'raid1', mirrors: 2 } }, /raidConfig is .*keep it/),
    of('all nodes', { nodeSelector: undefined }, /nodeSelector is missing: keep it at/),
    of(
      'fewer nodes',
      { nodeSelector: nodesWith('kubernetes.io/hostname', 'n1') },
      /nodeSelector is .*keep it at/,
    ),
    of(
      'no leave to wipe',
      { deviceSelector: { optionalPaths } },
      /forceWipeDevicesAndDestroyAllData is false: keep it at true/,
    ),
  ];
}
