import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { showProblem } from '../decode.ts';
import type { LvmCluster, LvmClusterSpec, LvmDeviceClass } from '../objects/lvm-cluster.ts';
import type { Node } from '../objects/storage.ts';
import { checkCluster, checkCreation, checkUpdate, type Surroundings } from './check.ts';

const around: Surroundings = {
  ...{ namespace: 'quarry-system', others: [], nodes: [], reports: [] },
};

function cluster(spec: LvmClusterSpec, namespace = 'quarry-system'): LvmCluster {
  return { metadata: { name: 'mine', namespace, uid: 'u', resourceVersion: '1' }, spec };
}

function classes(...deviceClasses: readonly LvmDeviceClass[]): LvmCluster {
  return cluster({ storage: { deviceClasses } });
}

/** A class that nothing is wrong with. */
function vg1(changes: Partial<LvmDeviceClass> = {}): LvmDeviceClass {
  return { name: 'vg1', default: true, deviceSelector: { paths: ['/dev/sdb'] }, ...changes };
}

function thin(changes: Partial<NonNullable<LvmDeviceClass['thinPoolConfig']>> = {}) {
  return vg1({ thinPoolConfig: { name: 'pool', overprovisionRatio: 10, ...changes } });
}

function raid(
  raidConfig: NonNullable<LvmDeviceClass['raidConfig']>,
  disks: number,
  changes: Partial<LvmDeviceClass> = {},
) {
  const paths = Array.from({ length: disks }, (_, at) => `/dev/disk${at}`);
  return vg1({ raidConfig, deviceSelector: { paths }, ...changes });
}

function node(name: string, labels: Readonly<Record<string, string>>): Node {
  return { metadata: { name, uid: name, resourceVersion: '1', labels } };
}

function onDisk(disk: string) {
  const matchExpressions = [{ key: 'disk', operator: 'In', values: [disk] }];
  return { nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] } };
}

/** What is wrong, and how it is told. */
type Mistake = readonly [string, LvmCluster, string | readonly string[], Partial<Surroundings>?];

const at = 'spec.storage.deviceClasses[vg1]';

const mistakes: readonly Mistake[] = [
  [
    'another namespace',
    cluster({ storage: { deviceClasses: [vg1()] } }, 'default'),
    'metadata.namespace is "default": make it in quarry-system, where the operator looks for it',
  ],
  [
    'a second one',
    classes(vg1()),
    'metadata.name is "mine": change first instead: there can be one LVMCluster only',
    { others: ['first'] },
  ],
  [
    'no class',
    cluster({}),
    'spec.storage.deviceClasses is missing: name at least one class, or write \
ExternalConfiguration for spec.configurationPolicy when lvmd.yaml on each node is yours',
  ],
  [
    'classes with ExternalConfiguration',
    cluster({ configurationPolicy: 'ExternalConfiguration', storage: { deviceClasses: [vg1()] } }),
    'spec.storage.deviceClasses is ["vg1"]: leave the classes out: with configurationPolicy \
ExternalConfiguration lvmd.yaml on each node says what there is',
  ],
  [
    'two defaults',
    classes(vg1(), vg1({ name: 'vg2', deviceSelector: { paths: ['/dev/sdc'] } })),
    'spec.storage.deviceClasses is ["vg1","vg2"]: let one class be the default',
  ],
  [
    'a name that is too long',
    classes(vg1({ name: 'a'.repeat(64) })),
    `spec.storage.deviceClasses[${'a'.repeat(64)}].name is "${'a'.repeat(64)}": write at most 63 \
characters: lvmd.yaml and the annotations of nodes take no more`,
  ],
  [
    'a shared class',
    classes(vg1({ deviceAccessPolicy: 'shared' })),
    `${at}.deviceAccessPolicy is "shared": leave it out or write nodeLocal: shared device classes \
are not available yet`,
  ],
  [
    'a thin pool on a shared class',
    classes({ ...thin(), deviceAccessPolicy: 'shared' }),
    [
      `${at}.deviceAccessPolicy is "shared": leave it out or write nodeLocal: shared device \
classes are not available yet`,
      `${at}.thinPoolConfig is "pool": leave it out: a thin pool can be used by one node at a time \
only`,
    ],
  ],
  ['no file system', classes(vg1({ fstype: 'none' })), `${at}.fstype is "none": write xfs or ext4`],
  [
    'a selector without devices',
    classes(vg1({ deviceSelector: { paths: [] } })),
    `${at}.deviceSelector is {"paths":[]}: name devices under paths or optionalPaths, or leave \
deviceSelector out to take every disk that nobody uses`,
  ],
  [
    'two classes, one of them greedy',
    classes(vg1(), { name: 'vg2' }),
    'spec.storage.deviceClasses[vg2].deviceSelector is missing: name devices: a class without them \
takes every disk, also from the others',
  ],
  [
    'paths that are no devices',
    classes(vg1({ deviceSelector: { paths: ['sdb', '/dev/'], optionalPaths: ['/srv/x'] } })),
    [
      `${at}.deviceSelector.paths[0] is "sdb": write a path that starts with /dev/`,
      `${at}.deviceSelector.paths[1] is "/dev/": write a path that starts with /dev/`,
      `${at}.deviceSelector.optionalPaths[0] is "/srv/x": write a path that starts with /dev/`,
    ],
  ],
  [
    'paths that lead elsewhere',
    classes(vg1({ deviceSelector: { paths: ['/dev/../etc', '/dev//sdb'] } })),
    [
      `${at}.deviceSelector.paths[0] is "/dev/../etc": write it without //, . and ..`,
      `${at}.deviceSelector.paths[1] is "/dev//sdb": write it without //, . and ..`,
    ],
  ],
  [
    'a device twice in a class',
    classes(vg1({ deviceSelector: { paths: ['/dev/sdb'], optionalPaths: ['/dev/sdb'] } })),
    `${at}.deviceSelector.optionalPaths[0] is "/dev/sdb": name each device once`,
  ],
  [
    'a device in two classes on the same nodes',
    classes(vg1(), { name: 'vg2', deviceSelector: { paths: ['/dev/sdb'] } }),
    'spec.storage.deviceClasses[vg2].deviceSelector.paths[0] is "/dev/sdb": name it in one class: \
vg1 has it on the same nodes',
  ],
  [
    'a device in two classes that share a node',
    classes(vg1(), { ...vg1({ default: false }), name: 'vg2', ...onDisk('ssd') }),
    'spec.storage.deviceClasses[vg2].deviceSelector.paths[0] is "/dev/sdb": name it in one class, \
or part their nodes: vg1 has it on n1 and n3 too',
    { nodes: [node('n3', { disk: 'ssd' }), node('n2', {}), node('n1', { disk: 'ssd' })] },
  ],
  [
    'chunks with Host',
    classes(thin({ chunkSize: '128Ki', chunkSizeCalculationPolicy: 'Host' })),
    `${at}.thinPoolConfig.chunkSize is "128Ki": leave it out, or write Static for its policy: Host \
chooses the size by itself`,
  ],
  [
    'chunks that are too small',
    classes(thin({ chunkSize: '32Ki' })),
    `${at}.thinPoolConfig.chunkSize is "32Ki": write a multiple of 64Ki from 64Ki to 1Gi`,
  ],
  [
    'chunks that are too large',
    classes(thin({ chunkSize: '2Gi' })),
    `${at}.thinPoolConfig.chunkSize is "2Gi": write a multiple of 64Ki from 64Ki to 1Gi`,
  ],
  [
    'metadata with Host',
    classes(thin({ metadataSize: '1Gi' })),
    `${at}.thinPoolConfig.metadataSize is "1Gi": leave it out, or write Static for its policy: \
Host chooses the size by itself`,
  ],
  [
    'metadata that is too large',
    classes(thin({ metadataSize: '17Gi', metadataSizeCalculationPolicy: 'Static' })),
    `${at}.thinPoolConfig.metadataSize is "17Gi": write a size from 2Mi to 16Gi`,
  ],
  [
    'raid and thin together',
    classes({ ...raid({ type: 'raid1' }, 2), thinPoolConfig: thin().thinPoolConfig as never }),
    `${at}.raidConfig is "raid1": leave one of raidConfig and thinPoolConfig out`,
  ],
  [
    'mirrors of raid5',
    classes(raid({ type: 'raid5', mirrors: 1 }, 3)),
    `${at}.raidConfig.mirrors is 1: leave it out: only raid1 and raid10 have it`,
  ],
  [
    'stripes of raid1',
    classes(raid({ type: 'raid1', stripes: 2, stripeSize: '64Ki' }, 2)),
    [
      `${at}.raidConfig.stripes is 2: leave it out: raid1 has no stripes`,
      `${at}.raidConfig.stripeSize is "64Ki": leave it out: raid1 has no stripes`,
    ],
  ],
  [
    'a raid10 of three copies',
    classes(raid({ type: 'raid10', mirrors: 2 }, 6)),
    `${at}.raidConfig.mirrors is 2: write 1: lvm makes raid10 of two copies`,
  ],
  [
    'a raid6 of two stripes',
    classes(raid({ type: 'raid6', stripes: 2 }, 4)),
    `${at}.raidConfig.stripes is 2: write at least 3: lvm makes no smaller raid6`,
  ],
  [
    'an odd stripe size',
    classes(raid({ type: 'raid5', stripeSize: '100Ki' }, 3)),
    `${at}.raidConfig.stripeSize is "100Ki": write a power of two, such as 64Ki`,
  ],
  [
    'raid without devices',
    classes(vg1({ raidConfig: { type: 'raid1' }, deviceSelector: undefined as never })),
    `${at}.deviceSelector is missing: name at least 2 devices: raid1 is made of no fewer`,
  ],
  [
    'too few devices for raid5',
    classes(raid({ type: 'raid5' }, 2)),
    `${at}.deviceSelector is ["/dev/disk0","/dev/disk1"]: name at least 3 devices: raid5 is made \
of no fewer`,
  ],
  [
    'an odd number of devices for raid10',
    classes(raid({ type: 'raid10' }, 5)),
    `${at}.deviceSelector is ["/dev/disk0","/dev/disk1","/dev/disk2","/dev/disk3","/dev/disk4"]: \
name a multiple of 2 devices for raid10`,
  ],
  [
    'parameters that are ours',
    classes(
      vg1({
        storageClassOptions: {
          additionalParameters: { '': 'x', 'topolvm.io/device-class': 'x' },
        },
      }),
    ),
    [
      `${at}.storageClassOptions.additionalParameters is "": write a name for the parameter`,
      `${at}.storageClassOptions.additionalParameters is "topolvm.io/device-class": leave \
topolvm.io/device-class and csi.storage.k8s.io/fstype out: they follow from the device class`,
    ],
  ],
  [
    'labels that cannot be',
    classes(
      vg1({
        storageClassOptions: {
          additionalLabels: {
            'app.kubernetes.io/part-of': 'x',
            'owned-by.topolvm.io/name': 'x',
            '-team': 'x',
            'a/b/c': 'x',
            team: 'not this',
          },
        },
      }),
    ),
    [
      `${at}.storageClassOptions.additionalLabels is "app.kubernetes.io/part-of": take another \
label: this one is in use`,
      `${at}.storageClassOptions.additionalLabels is "owned-by.topolvm.io/name": take another \
label: this one is in use`,
      `${at}.storageClassOptions.additionalLabels is "-team": write a label such as example.com/team`,
      `${at}.storageClassOptions.additionalLabels is "a/b/c": write a label such as example.com/team`,
      `${at}.storageClassOptions.additionalLabels[team] is "not this": write at most 63 letters, \
digits, and - _ . in between`,
    ],
  ],
];

describe('an LVMCluster with a mistake in it is refused', () => {
  for (const [name, wrong, told, surroundings] of mistakes) {
    test(name, () => {
      const { problems } = checkCreation(wrong, { ...around, ...surroundings });
      assert.deepEqual(problems.map(showProblem), typeof told === 'string' ? [told] : told);
    });
  }
});

test('what is right is not refused', () => {
  const right: readonly LvmCluster[] = [
    classes(vg1()),
    classes({ name: 'vg1' }),
    classes(thin({ chunkSize: '64Ki' })),
    classes(thin({ chunkSizeCalculationPolicy: 'Host' })),
    classes(thin({ metadataSize: '2Mi', metadataSizeCalculationPolicy: 'Static' })),
    classes(raid({ type: 'raid1' }, 2)),
    classes(raid({ type: 'raid10', stripeSize: '128Ki' }, 4)),
    classes(raid({ type: 'raid6' }, 5)),
    classes(vg1({ deviceAccessPolicy: 'local', fstype: '' })),
    classes(vg1({ deviceAccessPolicy: 'nodeLocal', fstype: 'ext4' })),
    classes(vg1({ ...onDisk('ssd') }), {
      ...vg1({ default: false, ...onDisk('hdd') }),
      name: 'vg2',
    }),
    cluster({ configurationPolicy: 'ExternalConfiguration' }),
  ];
  for (const one of right) {
    assert.deepEqual(checkCreation(one, around).problems.map(showProblem), []);
  }
});

test('what may surprise is told', () => {
  const told = (one: LvmCluster, nodes: readonly Node[] = []) => checkCluster(one, nodes).warnings;
  assert.deepEqual(told(classes(vg1())), []);
  assert.deepEqual(told(classes({ name: 'vg1', deviceDiscoveryPolicy: 'Dynamic' })), [
    `${at}.deviceDiscoveryPolicy is Dynamic and no paths are named: every disk that appears on a \
node is taken`,
    'no device class is the default: claims that name no StorageClass get no volume of ours',
    `${at}.deviceSelector is missing: every disk that nobody uses is taken`,
  ]);
  assert.deepEqual(
    told(classes(thin({ sizePercent: 95, metadataSizeCalculationPolicy: 'Static' }))),
    [
      `${at}.thinPoolConfig.sizePercent is 95: above 90 little is left to grow the metadata of the \
pool`,
      `${at}.thinPoolConfig.metadataSize is missing: 1Gi is taken`,
    ],
  );
  const parted = classes(vg1(onDisk('ssd')), {
    ...vg1({ default: false }),
    name: 'vg2',
    nodeSelector: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'Exists' }] }],
    },
  });
  assert.deepEqual(told(parted, [node('n1', { disk: 'ssd' }), node('n2', { zone: 'a' })]), [
    'spec.storage.deviceClasses[vg2].deviceSelector.paths[0] is "/dev/sdb": vg1 names it too, and \
a node with the labels of both classes would give it to one of them only',
  ]);
});

type Change = readonly [string, LvmCluster, LvmCluster, string | readonly string[]];

const cannot = 'it cannot be changed; make another device class';

const changes: readonly Change[] = [
  [
    'the last class away',
    classes(vg1()),
    classes(),
    'spec.storage.deviceClasses is missing: leave at least one class, or delete the LVMCluster',
  ],
  [
    'the default class away',
    classes(vg1(), { name: 'vg2', deviceSelector: { paths: ['/dev/sdc'] } }),
    classes({ name: 'vg2', deviceSelector: { paths: ['/dev/sdc'] } }),
    `${at} is missing: leave it, or let another class be the default first`,
  ],
  [
    'a thin pool for a thick class',
    classes(vg1()),
    classes(thin()),
    `${at}.thinPoolConfig is "pool": leave it out: ${cannot}`,
  ],
  [
    'another pool',
    classes(thin()),
    classes(thin({ name: 'other', sizePercent: 80, chunkSize: '256Ki' })),
    [
      `${at}.thinPoolConfig.name is "other": keep it at "pool": ${cannot}`,
      `${at}.thinPoolConfig.sizePercent is 80: keep it at 90: ${cannot}`,
      `${at}.thinPoolConfig.chunkSize is "262144": keep it at "128Ki": ${cannot}`,
    ],
  ],
  [
    'less metadata',
    classes(thin({ metadataSizeCalculationPolicy: 'Static' })),
    classes(thin({ metadataSizeCalculationPolicy: 'Static', metadataSize: '512Mi' })),
    `${at}.thinPoolConfig.metadataSize is "512Mi": write at least 1Gi: metadata cannot shrink`,
  ],
  [
    'another raid',
    classes(raid({ type: 'raid1' }, 4)),
    classes(raid({ type: 'raid10' }, 4)),
    `${at}.raidConfig is {"type":"raid10"}: keep it at {"type":"raid1"}: ${cannot}`,
  ],
  [
    'other nodes',
    classes(vg1(onDisk('ssd'))),
    classes(vg1()),
    `${at}.nodeSelector is missing: keep it at ${JSON.stringify(onDisk('ssd').nodeSelector)}: \
${cannot}`,
  ],
  [
    'leave to wipe',
    classes(vg1()),
    classes(
      vg1({ deviceSelector: { paths: ['/dev/sdb'], forceWipeDevicesAndDestroyAllData: true } }),
    ),
    `${at}.deviceSelector.forceWipeDevicesAndDestroyAllData is true: keep it at false: ${cannot}`,
  ],
  [
    'from paths to every disk',
    classes(vg1()),
    classes({ name: 'vg1', default: true }),
    `${at}.deviceSelector is missing: leave at least one device: a class with paths never takes \
every disk`,
  ],
  [
    'another file system and other options',
    classes(vg1()),
    classes(vg1({ fstype: 'ext4', storageClassOptions: { reclaimPolicy: 'Retain' } })),
    [
      `${at}.storageClassOptions.reclaimPolicy is "Retain": keep it at "Delete": ${cannot}`,
      `${at}.fstype is "ext4": keep it at "xfs": ${cannot}`,
    ],
  ],
  [
    'another policy',
    classes(vg1()),
    cluster({ configurationPolicy: 'ExternalConfiguration', storage: { deviceClasses: [vg1()] } }),
    [
      'spec.storage.deviceClasses is ["vg1"]: leave the classes out: with configurationPolicy \
ExternalConfiguration lvmd.yaml on each node says what there is',
      'spec.configurationPolicy is "ExternalConfiguration": keep it at Managed: delete the \
LVMCluster and make it anew to change it',
    ],
  ],
];

describe('a change that cannot be made is refused', () => {
  for (const [name, was, is, told] of changes) {
    test(name, () => {
      const { problems } = checkUpdate(was, is, around);
      assert.deepEqual(problems.map(showProblem), typeof told === 'string' ? [told] : told);
    });
  }
});

test('a change that can be made is not refused', () => {
  const vg2 = { name: 'vg2', deviceSelector: { paths: ['/dev/sdc'] } };
  const right: readonly (readonly [LvmCluster, LvmCluster])[] = [
    [cluster({}), cluster({})],
    [cluster({}), classes(vg1())],
    [classes(vg1()), classes(vg1(), vg2)],
    [classes(vg1(), vg2), classes(vg1())],
    [classes(vg1(), vg2), classes({ ...vg1(), default: false }, { ...vg2, default: true })],
    [classes(thin()), classes(thin({ overprovisionRatio: 5, sizePercent: 90 }))],
    [classes(thin()), classes(thin({ chunkSize: '131072' }))],
    [
      classes(thin({ metadataSizeCalculationPolicy: 'Static' })),
      classes(thin({ metadataSizeCalculationPolicy: 'Static', metadataSize: '2Gi' })),
    ],
    [classes(vg1()), classes(vg1({ deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } }))],
    [classes(vg1()), classes(vg1({ deviceSelector: { paths: ['/dev/sdd'] } }))],
    [
      classes({ name: 'vg1', deviceDiscoveryPolicy: 'Static' }),
      classes({ name: 'vg1', deviceDiscoveryPolicy: 'Dynamic' }),
    ],
    [classes(vg1()), classes(vg1({ fstype: 'xfs', deviceAccessPolicy: 'local' }))],
    [classes(vg1()), classes(vg1({ storageClassOptions: { additionalLabels: { team: 'db' } } }))],
  ];
  for (const [was, is] of right) {
    assert.deepEqual(checkUpdate(was, is, around).problems.map(showProblem), []);
  }
});

test('what LVMS let pass may stay, and is told', () => {
  const long = vg1({ name: 'a'.repeat(70) });
  const { problems, warnings } = checkUpdate(classes(long), classes(long), around);
  assert.deepEqual(problems, []);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /write at most 63 characters/);
  const more = classes(long, { ...vg1({ default: false }), name: 'b'.repeat(70) });
  assert.equal(checkUpdate(classes(long), more, around).problems.length, 2);
});

test('a class that took every disk may name those that it has, and no others', () => {
  const told = (...devices: readonly string[]) => ({
    metadata: { name: 'n1', uid: 'u', resourceVersion: '1' },
    spec: {
      nodeStatus: [{ name: 'vg1', devices, deviceDiscoveryPolicy: 'RuntimeStatic' } as const],
    },
  });
  const greedy = classes({ name: 'vg1' });
  const named = classes({ name: 'vg1', deviceSelector: { paths: ['/dev/sdb', '/dev/sdc'] } });
  const problems = (...devices: readonly string[]) =>
    checkUpdate(greedy, named, { nodes: [], reports: [told(...devices)] }).problems;
  assert.deepEqual(problems('/dev/sdc', '/dev/sdb'), []);
  assert.equal(problems('/dev/sdb').length, 1, 'one that it does not have');
  assert.deepEqual(problems('/dev/sdb', '/dev/sdc', '/dev/sdd').map(showProblem), [
    `${at}.deviceSelector is ["/dev/sdb","/dev/sdc"]: name exactly the devices that it has, as its \
status shows them: n1 has /dev/sdb, /dev/sdc and /dev/sdd`,
  ]);
});

test('a path that moves in its list is no new mistake', () => {
  const overlap = (paths: readonly string[]) => [
    vg1(),
    { ...vg1({ default: false, ...onDisk('ssd') }), name: 'vg2', deviceSelector: { paths } },
  ];
  const nodes = [node('n1', { disk: 'ssd' })];
  const [was, is] = [overlap(['/dev/sdb']), overlap(['/dev/sdd', '/dev/sdb'])];
  const { problems } = checkUpdate(classes(...was), classes(...is), { nodes, reports: [] });
  assert.deepEqual(problems.map(showProblem), []);
});
