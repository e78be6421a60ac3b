import { z } from 'zod';
import type { LvmClusterSpec, LvmClusterStatus } from '../src/api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroupNodeStatusSpec,
  LvmVolumeGroupSpec,
} from '../src/api/objects/lvm-volume-group.ts';
import {
  condition,
  nodeSelector,
  optionalText,
  quantity,
  text,
  toleration,
} from './crds-kubernetes.ts';

/** LVMS' kinds: every field it has, with its defaults and rules, and ours beside them. */

/** Holds between an object and what is made of it, and only where both have the field. */
function fixed(message: string) {
  return { 'x-kubernetes-validations': [{ rule: 'oldSelf == self', message }] };
}

function flag(description: string) {
  return z.exactOptional(z.boolean().describe(description));
}

function count(description: string, range: { readonly minimum: number }) {
  return z.int().meta({ description, ...range });
}

function paths(description: string) {
  return z.exactOptional(z.array(z.string()).readonly().describe(description));
}

const deviceAccessPolicy = z.exactOptional(
  z.enum(['shared', 'nodeLocal', 'local']).describe(
    'nodeLocal: each node makes a volume group of disks of its own. shared: all nodes use one \
volume group on disks that all of them see. local is another spelling of nodeLocal. \
It never changes.',
  ),
);

/** A rule over an object and what is made of it, where the same can be written in many ways. */
function same(of: (self: string) => string): string {
  return `${of('self')} == ${of('oldSelf')}`;
}

function isShared(self: string): string {
  return `has(${self}.deviceAccessPolicy) && ${self}.deviceAccessPolicy == 'shared'`;
}

function fileSystem(self: string): string {
  const unsaid = `!has(${self}.fstype) || ${self}.fstype == ''`;
  return `(${unsaid} ? (${isShared(self)} ? 'none' : 'xfs') : ${self}.fstype)`;
}

const accessRules = [
  {
    rule: same((self) => `(${isShared(self)})`),
    message: 'deviceAccessPolicy cannot be changed: make another device class',
  },
  {
    rule: `!(${isShared('self')} && has(self.thinPoolConfig))`,
    message: 'a shared device class has no thinPoolConfig: one node at a time can use a thin pool',
  },
] as const;

const deviceSelector = z.exactOptional(
  z
    .object({
      paths: paths(
        'Devices that must be there on each node. Names that outlive a restart, such as \
/dev/disk/by-id/..., are better than /dev/sdb, which may be another disk tomorrow.',
      ),
      optionalPaths: paths(
        'Devices that are taken where they are there; at least one has to be, on each node. One \
list can serve nodes with different disks.',
      ),
      forceWipeDevicesAndDestroyAllData: flag(
        'Destroys what is on the named devices before they are taken, once for each disk. Devices \
in use are refused all the same.',
      ),
    })
    .readonly()
    .describe('The disks of the volume group. Left out: every disk that nobody uses.'),
);

const deviceDiscoveryPolicy = z.exactOptional(
  z.enum(['Static', 'Dynamic']).describe(
    'Only without paths. Static: the disks that are there when the volume group is made. Dynamic: \
disks that appear later too.',
  ),
);

const sizePolicy = z.enum(['Host', 'Static']);

const thinPoolConfig = z.exactOptional(
  z
    .object({
      name: text('The name of the thin pool.'),
      sizePercent: z.exactOptional(
        z.int().meta({
          description:
            'How much of the volume group the pool gets. What is left is for growing it and its metadata.',
          ...{ default: 90, minimum: 10, maximum: 100 },
        }),
      ),
      // No end here: LVMS took any ratio until 4.20, and such an object must stay changeable.
      overprovisionRatio: count(
        'How many times the size of the pool may be promised to volumes, up to 100. 1: no more.',
        { minimum: 1 },
      ),
      chunkSizeCalculationPolicy: z.exactOptional(
        sizePolicy.meta({
          description: 'Static: chunkSize. Host: chosen by the size of the pool.',
          default: 'Static',
        }),
      ),
      chunkSize: z.exactOptional(
        quantity(
          'Only with Static: a multiple of 64Ki up to 1Gi, and 128Ki when it is left out. ' +
            'Larger where it cannot address a new pool.',
        ),
      ),
      metadataSizeCalculationPolicy: z.exactOptional(
        sizePolicy.meta({
          description: 'Static: metadataSize. Host: chosen by the size of the pool.',
          default: 'Host',
        }),
      ),
      metadataSize: z.exactOptional(
        quantity(
          'Only with Static: from 2Mi to 16Gi, and 1Gi when it is left out. It may be raised.',
        ),
      ),
    })
    .readonly()
    .describe('Volumes come out of a thin pool. Left out: each has its room from the beginning.'),
);

const raidConfig = z.exactOptional(
  z
    .object({
      type: z
        .enum(['raid1', 'raid4', 'raid5', 'raid6', 'raid10'])
        .describe('How volumes are kept on several disks.'),
      mirrors: z.exactOptional(
        count('Copies beside the first one: for raid1 up to 10, for raid10 and left out 1.', {
          minimum: 1,
        }),
      ),
      stripes: z.exactOptional(
        count('Disks that the data is spread over, in a RAID of up to 64, not for raid1.', {
          minimum: 2,
        }),
      ),
      stripeSize: z.exactOptional(
        quantity('A power of two from 4Ki on, not for raid1. 64Ki when it is left out.'),
      ),
    })
    .readonly()
    .meta({
      description: 'Volumes survive the loss of a disk. Not together with thinPoolConfig.',
      ...fixed('raidConfig cannot be changed: make another device class'),
    }),
);

const storageClassOptions = z.exactOptional(
  z
    .object({
      reclaimPolicy: z.exactOptional(
        z.enum(['Delete', 'Retain']).meta({
          description: 'What becomes of a volume whose claim is deleted.',
          default: 'Delete',
          ...fixed('reclaimPolicy cannot be changed: make another device class'),
        }),
      ),
      volumeBindingMode: z.exactOptional(
        z.enum(['WaitForFirstConsumer', 'Immediate']).meta({
          description: 'When a volume is made: for the first pod, or at once.',
          default: 'WaitForFirstConsumer',
          ...fixed('volumeBindingMode cannot be changed: make another device class'),
        }),
      ),
      additionalParameters: z.exactOptional(
        z
          .record(z.string(), z.string())
          .readonly()
          .meta({
            description: 'More parameters of the StorageClass.',
            ...{ default: {}, maxProperties: 16 },
            ...fixed('additionalParameters cannot be changed: make another device class'),
          }),
      ),
      additionalLabels: z.exactOptional(
        z
          .record(z.string(), z.string())
          .readonly()
          .meta({ description: 'More labels of the StorageClass.', maxProperties: 16 }),
      ),
    })
    .readonly()
    .meta({ description: 'How the StorageClass is made.', default: {} }),
);

const whichNodes = nodeSelector(
  'The nodes whose disks are taken. Left out: all nodes whose taints are tolerated.',
);

const deviceClass = z
  .object({
    name: z.string().meta({
      description:
        'The name of the class and of its volume group; the StorageClass is called lvms-<name>.',
      ...{ minLength: 1, maxLength: 245, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' },
    }),
    default: flag('Claims that name no class get this one. One class at most.'),
    deviceAccessPolicy,
    fstype: z.exactOptional(
      z
        .enum(['', 'xfs', 'ext4', 'none'])
        .describe(
          'The file system of new volumes: xfs when it is left out. A shared class has none.',
        ),
    ),
    nodeSelector: z.exactOptional(whichNodes),
    ...{ deviceSelector, deviceDiscoveryPolicy, thinPoolConfig, raidConfig, storageClassOptions },
  })
  .readonly()
  .meta({
    'x-kubernetes-validations': [
      {
        rule: same(fileSystem),
        message: 'fstype cannot be changed: make another device class',
      },
      ...accessRules,
    ],
  });

export const lvmClusterSpec = z
  .object({
    tolerations: z.exactOptional(
      z.array(toleration).readonly().describe('Taints of nodes that are used all the same.'),
    ),
    configurationPolicy: z.exactOptional(
      z.enum(['Managed', 'ExternalConfiguration']).describe(
        'Managed, which it is when it is left out: volume groups are made as said here. \
ExternalConfiguration: lvmd.yaml on each node says what there is, and its administrator owns it.',
      ),
    ),
    storage: z.exactOptional(
      z
        .object({
          deviceClasses: z.exactOptional(
            z
              .array(deviceClass)
              .readonly()
              .meta({
                description: 'Each makes a volume group on its nodes, and a StorageClass.',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['name'],
              }),
          ),
        })
        .readonly()
        .describe('The classes of storage.'),
    ),
  })
  .readonly()
  .describe('What is wanted.');

function isExternal(self: string): string {
  const has = `has(${self}.spec) && has(${self}.spec.configurationPolicy)`;
  return `(${has} && ${self}.spec.configurationPolicy == 'ExternalConfiguration')`;
}

/** Nothing is said: as LVMS has it on MicroShift. */
function isOpen(self: string): string {
  return `!(has(${self}.spec) && (has(${self}.spec.configurationPolicy) || ${hasClasses(self)}))`;
}

function hasClasses(self: string): string {
  const { spec, classes } = { spec: `${self}.spec`, classes: `${self}.spec.storage.deviceClasses` };
  return `(has(${spec}.storage) && has(${classes}) && size(${classes}) > 0)`;
}

/** Of the whole object: it may have no spec. */
export const lvmClusterRules = [
  {
    rule: `${same(isExternal)} || (${isExternal('self')} && ${isOpen('oldSelf')})`,
    message: 'configurationPolicy cannot be changed: delete the LVMCluster and make it anew',
  },
  {
    rule: `!(${isExternal('self')} && ${hasClasses('self')})`,
    message: 'with configurationPolicy ExternalConfiguration there are no deviceClasses here',
  },
] as const;

export const lvmVolumeGroupSpec = z
  .object({
    default: flag('Claims that name no class get this one.'),
    deviceAccessPolicy,
    nodeSelector: z.exactOptional(whichNodes),
    ...{ deviceSelector, deviceDiscoveryPolicy, thinPoolConfig, raidConfig },
  })
  .readonly()
  .meta({
    description: 'What is wanted: a device class of the LVMCluster, which is the one to edit.',
    'x-kubernetes-validations': [
      {
        rule: '!(has(self.raidConfig) && has(self.thinPoolConfig))',
        message: 'there can be raidConfig or thinPoolConfig, not both',
      },
      ...accessRules,
    ],
  });

const raidStatus = z
  .object({
    status: z.enum(['Healthy', 'Degraded', 'Failed']).describe('Of all volumes together.'),
    memberCount: z.exactOptional(z.int().describe('Physical volumes of the group.')),
    degradedMemberCount: z.exactOptional(z.int().describe('Those that are missing or failing.')),
    minSyncPercent: z.exactOptional(
      z.int().describe('How far the volume has come that has most left to do.'),
    ),
    lvHealth: z.exactOptional(
      z
        .array(
          z
            .object({
              name: text('The LV.'),
              raidType: text('How it is kept.'),
              syncPercent: z.int().describe('How far its copies are in step.'),
              healthStatus: optionalText('As LVM says it; empty when all is well.'),
            })
            .readonly(),
        )
        .readonly()
        .describe('Each RAID volume.'),
    ),
  })
  .readonly()
  .describe('Of classes with raidConfig.');

const groupStatus = {
  name: optionalText('The volume group.'),
  status: optionalText('Ready, Progressing, Degraded or Failed.'),
  reason: optionalText('Why it is not Ready, and what to do about it.'),
  size: z.exactOptional(quantity('How large the volume group is.')),
  free: z.exactOptional(quantity('How much of it is in no LV.')),
  warnings: z.exactOptional(
    z.array(z.string()).readonly().describe('What will need somebody soon.'),
  ),
  devices: z.exactOptional(z.array(z.string()).readonly().describe('Its devices.')),
  excluded: z.exactOptional(
    z
      .array(
        z
          .object({
            name: text('The device.'),
            reasons: z.array(z.string()).readonly().describe('Why it was left alone.'),
          })
          .readonly(),
      )
      .readonly()
      .describe('Devices that were left alone.'),
  ),
  deviceDiscoveryPolicy: z.enum(['Preconfigured', 'RuntimeDynamic', 'RuntimeStatic']).meta({
    description:
      'Preconfigured: devices are named. RuntimeDynamic: new disks are taken. RuntimeStatic: they are not.',
    default: 'RuntimeStatic',
  }),
  raidStatus: z.exactOptional(raidStatus),
};

export const lvmVolumeGroupNodeStatusSpec = z
  .object({
    nodeStatus: z.exactOptional(
      z
        .array(z.object(groupStatus).readonly())
        .readonly()
        .describe('Each volume group of the node.'),
    ),
  })
  .readonly()
  .describe('What is, written by the agent of the node.');

const driverStatus = z
  .object({
    name: text('The CSI driver.'),
    nodes: z.int().describe('Nodes that should have it.'),
    registered: z.int().describe('Nodes whose kubelet knows it.'),
    message: optionalText('Which nodes do not have it, and why.'),
  })
  .readonly();

export const lvmClusterStatus = z
  .object({
    ready: z.exactOptional(z.boolean().describe('Is everything as wanted?')),
    state: optionalText('Ready, Progressing, Degraded, Failed or Unknown.'),
    conditions: z.exactOptional(
      z.array(condition).readonly().describe('ResourcesAvailable and VolumeGroupsReady.'),
    ),
    deviceClassStatuses: z.exactOptional(
      z
        .array(
          z
            .object({
              name: optionalText('The device class.'),
              nodeStatus: z.exactOptional(
                z
                  .array(z.object({ node: optionalText('The node.'), ...groupStatus }).readonly())
                  .readonly()
                  .describe('Its volume group on each node.'),
              ),
            })
            .readonly(),
        )
        .readonly()
        .describe('Each device class.'),
    ),
    drivers: z.exactOptional(z.array(driverStatus).readonly().describe('Each CSI driver.')),
  })
  .readonly()
  .describe('What is.');

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/** A type with its parts written out, so that two of them can be compared. */
type Flat<T> = T extends readonly (infer Item)[]
  ? readonly Flat<Item>[]
  : T extends object
    ? { [Key in keyof T]: Flat<T[Key]> }
    : T;

/** The compiler stops here when the schema and the type that the code reads differ in any field. */
export const lvmsSchemasAreTypes: [
  Equal<Flat<z.infer<typeof lvmClusterSpec>>, Flat<LvmClusterSpec>>,
  Equal<Flat<z.infer<typeof lvmClusterStatus>>, Flat<LvmClusterStatus>>,
  Equal<Flat<z.infer<typeof lvmVolumeGroupSpec>>, Flat<LvmVolumeGroupSpec>>,
  Equal<Flat<z.infer<typeof lvmVolumeGroupNodeStatusSpec>>, Flat<LvmVolumeGroupNodeStatusSpec>>,
] = [true, true, true, true];
