/** Made by `make generate` from tools/crds.ts; do not edit. */
export const lvmVolumeGroupSchema = {
  description: 'A device class of the LVMCluster, for the agents. Edit the LVMCluster.',
  type: 'object',
  properties: {
    apiVersion: { type: 'string', description: 'Group and version of this kind.' },
    kind: { type: 'string', description: 'LVMVolumeGroup.' },
    metadata: { type: 'object' },
    spec: {
      description: 'What is wanted: a device class of the LVMCluster, which is the one to edit.',
      'x-kubernetes-validations': [
        {
          rule: '!(has(self.raidConfig) && has(self.thinPoolConfig))',
          message: 'there can be raidConfig or thinPoolConfig, not both',
        },
        {
          rule: "(has(self.deviceAccessPolicy) && self.deviceAccessPolicy == 'shared') == (has(oldSelf.deviceAccessPolicy) && oldSelf.deviceAccessPolicy == 'shared')",
          message: 'deviceAccessPolicy cannot be changed: make another device class',
        },
        {
          rule: "!(has(self.deviceAccessPolicy) && self.deviceAccessPolicy == 'shared' && has(self.thinPoolConfig))",
          message:
            'a shared device class has no thinPoolConfig: one node at a time can use a thin pool',
        },
      ],
      type: 'object',
      properties: {
        default: { type: 'boolean', description: 'Claims that name no class get this one.' },
        deviceAccessPolicy: {
          type: 'string',
          enum: ['shared', 'nodeLocal', 'local'],
          description:
            'nodeLocal: each node makes a volume group of disks of its own. shared: all nodes use one volume group on disks that all of them see. local is another spelling of nodeLocal. It never changes.',
        },
        nodeSelector: {
          description:
            'The nodes whose disks are taken. Left out: all nodes whose taints are tolerated.',
          'x-kubernetes-map-type': 'atomic',
          type: 'object',
          required: ['nodeSelectorTerms'],
          properties: {
            nodeSelectorTerms: {
              description: 'A node is meant when one of these holds, all of it.',
              'x-kubernetes-list-type': 'atomic',
              type: 'array',
              items: {
                'x-kubernetes-map-type': 'atomic',
                type: 'object',
                properties: {
                  matchExpressions: {
                    description: 'Labels of the node.',
                    'x-kubernetes-list-type': 'atomic',
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['key', 'operator'],
                      properties: {
                        key: {
                          type: 'string',
                          description: 'The label, or metadata.name under matchFields.',
                        },
                        operator: {
                          type: 'string',
                          description: 'In, NotIn, Exists, DoesNotExist, Gt or Lt.',
                        },
                        values: {
                          description:
                            'For In and NotIn one or more, for Exists and DoesNotExist none, for Gt and Lt one whole number.',
                          'x-kubernetes-list-type': 'atomic',
                          type: 'array',
                          items: { type: 'string' },
                        },
                      },
                    },
                  },
                  matchFields: {
                    description: 'Fields of the node: metadata.name only.',
                    'x-kubernetes-list-type': 'atomic',
                    type: 'array',
                    items: {
                      type: 'object',
                      required: ['key', 'operator'],
                      properties: {
                        key: {
                          type: 'string',
                          description: 'The label, or metadata.name under matchFields.',
                        },
                        operator: {
                          type: 'string',
                          description: 'In, NotIn, Exists, DoesNotExist, Gt or Lt.',
                        },
                        values: {
                          description:
                            'For In and NotIn one or more, for Exists and DoesNotExist none, for Gt and Lt one whole number.',
                          'x-kubernetes-list-type': 'atomic',
                          type: 'array',
                          items: { type: 'string' },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
        deviceSelector: {
          description: 'The disks of the volume group. Left out: every disk that nobody uses.',
          type: 'object',
          properties: {
            paths: {
              description:
                'Devices that must be there on each node. Names that outlive a restart, such as /dev/disk/by-id/..., are better than /dev/sdb, which may be another disk tomorrow.',
              type: 'array',
              items: { type: 'string' },
            },
            optionalPaths: {
              description:
                'Devices that are taken where they are there; at least one has to be, on each node. One list can serve nodes with different disks.',
              type: 'array',
              items: { type: 'string' },
            },
            forceWipeDevicesAndDestroyAllData: {
              type: 'boolean',
              description:
                'Destroys what is on the named devices before they are taken, once for each disk. Devices in use are refused all the same.',
            },
          },
        },
        deviceDiscoveryPolicy: {
          type: 'string',
          enum: ['Static', 'Dynamic'],
          description:
            'Only without paths. Static: the disks that are there when the volume group is made. Dynamic: disks that appear later too.',
        },
        thinPoolConfig: {
          description:
            'Volumes come out of a thin pool. Left out: each has its room from the beginning.',
          type: 'object',
          required: ['name', 'overprovisionRatio'],
          properties: {
            name: { type: 'string', description: 'The name of the thin pool.' },
            sizePercent: {
              type: 'integer',
              minimum: 10,
              maximum: 100,
              description:
                'How much of the volume group the pool gets. What is left is for growing it and its metadata.',
              default: 90,
            },
            overprovisionRatio: {
              type: 'integer',
              minimum: 1,
              description:
                'How many times the size of the pool may be promised to volumes, up to 100. 1: no more.',
            },
            chunkSizeCalculationPolicy: {
              type: 'string',
              enum: ['Host', 'Static'],
              description: 'Static: chunkSize. Host: chosen by the size of the pool.',
              default: 'Static',
            },
            chunkSize: {
              anyOf: [{ type: 'integer' }, { type: 'string' }],
              description:
                'Only with Static: a multiple of 64Ki up to 1Gi, and 128Ki when it is left out. Larger where it cannot address a new pool.',
              pattern:
                '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
              'x-kubernetes-int-or-string': true,
            },
            metadataSizeCalculationPolicy: {
              type: 'string',
              enum: ['Host', 'Static'],
              description: 'Static: metadataSize. Host: chosen by the size of the pool.',
              default: 'Host',
            },
            metadataSize: {
              anyOf: [{ type: 'integer' }, { type: 'string' }],
              description:
                'Only with Static: from 2Mi to 16Gi, and 1Gi when it is left out. It may be raised.',
              pattern:
                '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
              'x-kubernetes-int-or-string': true,
            },
          },
        },
        raidConfig: {
          description: 'Volumes survive the loss of a disk. Not together with thinPoolConfig.',
          'x-kubernetes-validations': [
            {
              rule: 'oldSelf == self',
              message: 'raidConfig cannot be changed: make another device class',
            },
          ],
          type: 'object',
          required: ['type'],
          properties: {
            type: {
              type: 'string',
              enum: ['raid1', 'raid4', 'raid5', 'raid6', 'raid10'],
              description: 'How volumes are kept on several disks.',
            },
            mirrors: {
              type: 'integer',
              minimum: 1,
              description:
                'Copies beside the first one: for raid1 up to 10, for raid10 and left out 1.',
            },
            stripes: {
              type: 'integer',
              minimum: 2,
              description:
                'Disks that the data is spread over, in a RAID of up to 64, not for raid1.',
            },
            stripeSize: {
              anyOf: [{ type: 'integer' }, { type: 'string' }],
              description: 'A power of two from 4Ki on, not for raid1. 64Ki when it is left out.',
              pattern:
                '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
              'x-kubernetes-int-or-string': true,
            },
          },
        },
      },
    },
    status: { type: 'object', description: 'Nothing.', properties: {} },
  },
} as const;
