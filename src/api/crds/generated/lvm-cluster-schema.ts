/** Made by `make generate` from tools/crds.ts; do not edit. */
export const lvmClusterSchema = {
  description: 'Which disks of which nodes make which classes of storage.',
  type: 'object',
  properties: {
    apiVersion: { type: 'string', description: 'Group and version of this kind.' },
    kind: { type: 'string', description: 'LVMCluster.' },
    metadata: { type: 'object' },
    spec: {
      description: 'What is wanted.',
      type: 'object',
      properties: {
        tolerations: {
          description: 'Taints of nodes that are used all the same.',
          type: 'array',
          items: {
            type: 'object',
            properties: {
              key: {
                type: 'string',
                description: 'The key of the taint. Left out, with operator Exists: every taint.',
              },
              operator: {
                type: 'string',
                description: 'Exists, or Equal, which it is when it is left out.',
              },
              value: { type: 'string', description: 'The value of the taint, for Equal.' },
              effect: {
                type: 'string',
                description: 'NoSchedule, PreferNoSchedule or NoExecute. Left out: all of them.',
              },
              tolerationSeconds: {
                type: 'integer',
                description: 'For how long NoExecute is tolerated.',
                format: 'int64',
              },
            },
          },
        },
        configurationPolicy: {
          type: 'string',
          enum: ['Managed', 'ExternalConfiguration'],
          description:
            'Managed, which it is when it is left out: volume groups are made as said here. ExternalConfiguration: lvmd.yaml on each node says what there is, and its administrator owns it.',
        },
        storage: {
          description: 'The classes of storage.',
          type: 'object',
          properties: {
            deviceClasses: {
              description: 'Each makes a volume group on its nodes, and a StorageClass.',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['name'],
              type: 'array',
              items: {
                'x-kubernetes-validations': [
                  {
                    rule: "(!has(self.fstype) || self.fstype == '' ? (has(self.deviceAccessPolicy) && self.deviceAccessPolicy == 'shared' ? 'none' : 'xfs') : self.fstype) == (!has(oldSelf.fstype) || oldSelf.fstype == '' ? (has(oldSelf.deviceAccessPolicy) && oldSelf.deviceAccessPolicy == 'shared' ? 'none' : 'xfs') : oldSelf.fstype)",
                    message: 'fstype cannot be changed: make another device class',
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
                required: ['name'],
                properties: {
                  name: {
                    type: 'string',
                    description:
                      'The name of the class and of its volume group; the StorageClass is called lvms-<name>.',
                    minLength: 1,
                    maxLength: 245,
                    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
                  },
                  default: {
                    type: 'boolean',
                    description: 'Claims that name no class get this one. One class at most.',
                  },
                  deviceAccessPolicy: {
                    type: 'string',
                    enum: ['shared', 'nodeLocal', 'local'],
                    description:
                      'nodeLocal: each node makes a volume group of disks of its own. shared: all nodes use one volume group on disks that all of them see. local is another spelling of nodeLocal. It never changes.',
                  },
                  fstype: {
                    type: 'string',
                    enum: ['', 'xfs', 'ext4', 'none'],
                    description:
                      'The file system of new volumes: xfs when it is left out. A shared class has none.',
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
                    description:
                      'The disks of the volume group. Left out: every disk that nobody uses.',
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
                    description:
                      'Volumes survive the loss of a disk. Not together with thinPoolConfig.',
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
                        description:
                          'A power of two from 4Ki on, not for raid1. 64Ki when it is left out.',
                        pattern:
                          '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
                        'x-kubernetes-int-or-string': true,
                      },
                    },
                  },
                  storageClassOptions: {
                    description: 'How the StorageClass is made.',
                    default: {},
                    type: 'object',
                    properties: {
                      reclaimPolicy: {
                        type: 'string',
                        enum: ['Delete', 'Retain'],
                        description: 'What becomes of a volume whose claim is deleted.',
                        default: 'Delete',
                        'x-kubernetes-validations': [
                          {
                            rule: 'oldSelf == self',
                            message: 'reclaimPolicy cannot be changed: make another device class',
                          },
                        ],
                      },
                      volumeBindingMode: {
                        type: 'string',
                        enum: ['WaitForFirstConsumer', 'Immediate'],
                        description: 'When a volume is made: for the first pod, or at once.',
                        default: 'WaitForFirstConsumer',
                        'x-kubernetes-validations': [
                          {
                            rule: 'oldSelf == self',
                            message:
                              'volumeBindingMode cannot be changed: make another device class',
                          },
                        ],
                      },
                      additionalParameters: {
                        description: 'More parameters of the StorageClass.',
                        default: {},
                        maxProperties: 16,
                        'x-kubernetes-validations': [
                          {
                            rule: 'oldSelf == self',
                            message:
                              'additionalParameters cannot be changed: make another device class',
                          },
                        ],
                        type: 'object',
                        additionalProperties: { type: 'string' },
                      },
                      additionalLabels: {
                        description: 'More labels of the StorageClass.',
                        maxProperties: 16,
                        type: 'object',
                        additionalProperties: { type: 'string' },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
    status: {
      description: 'What is.',
      type: 'object',
      properties: {
        ready: { type: 'boolean', description: 'Is everything as wanted?' },
        state: { type: 'string', description: 'Ready, Progressing, Degraded, Failed or Unknown.' },
        conditions: {
          description: 'ResourcesAvailable and VolumeGroupsReady.',
          type: 'array',
          items: {
            type: 'object',
            required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
            properties: {
              type: {
                type: 'string',
                description: 'What it is about.',
                maxLength: 316,
                pattern:
                  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
              },
              status: {
                type: 'string',
                enum: ['True', 'False', 'Unknown'],
                description: 'Does it hold?',
              },
              reason: {
                type: 'string',
                description: 'Why, as one word for programs.',
                minLength: 1,
                maxLength: 1024,
                pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
              },
              message: {
                type: 'string',
                description: 'Why, and what to do about it, for people.',
                maxLength: 32768,
              },
              lastTransitionTime: {
                type: 'string',
                description: 'Since when the status is what it is.',
                format: 'date-time',
              },
              observedGeneration: {
                type: 'integer',
                minimum: 0,
                description: 'The generation of the object that this was found for.',
                format: 'int64',
              },
            },
          },
        },
        deviceClassStatuses: {
          description: 'Each device class.',
          type: 'array',
          items: {
            type: 'object',
            properties: {
              name: { type: 'string', description: 'The device class.' },
              nodeStatus: {
                description: 'Its volume group on each node.',
                type: 'array',
                items: {
                  type: 'object',
                  required: ['deviceDiscoveryPolicy'],
                  properties: {
                    node: { type: 'string', description: 'The node.' },
                    name: { type: 'string', description: 'The volume group.' },
                    status: {
                      type: 'string',
                      description: 'Ready, Progressing, Degraded or Failed.',
                    },
                    reason: {
                      type: 'string',
                      description: 'Why it is not Ready, and what to do about it.',
                    },
                    size: {
                      anyOf: [{ type: 'integer' }, { type: 'string' }],
                      description: 'How large the volume group is.',
                      pattern:
                        '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
                      'x-kubernetes-int-or-string': true,
                    },
                    free: {
                      anyOf: [{ type: 'integer' }, { type: 'string' }],
                      description: 'How much of it is in no LV.',
                      pattern:
                        '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
                      'x-kubernetes-int-or-string': true,
                    },
                    warnings: {
                      description: 'What will need somebody soon.',
                      type: 'array',
                      items: { type: 'string' },
                    },
                    devices: {
                      description: 'Its devices.',
                      type: 'array',
                      items: { type: 'string' },
                    },
                    excluded: {
                      description: 'Devices that were left alone.',
                      type: 'array',
                      items: {
                        type: 'object',
                        required: ['name', 'reasons'],
                        properties: {
                          name: { type: 'string', description: 'The device.' },
                          reasons: {
                            description: 'Why it was left alone.',
                            type: 'array',
                            items: { type: 'string' },
                          },
                        },
                      },
                    },
                    deviceDiscoveryPolicy: {
                      type: 'string',
                      enum: ['Preconfigured', 'RuntimeDynamic', 'RuntimeStatic'],
                      description:
                        'Preconfigured: devices are named. RuntimeDynamic: new disks are taken. RuntimeStatic: they are not.',
                      default: 'RuntimeStatic',
                    },
                    raidStatus: {
                      description: 'Of classes with raidConfig.',
                      type: 'object',
                      required: ['status'],
                      properties: {
                        status: {
                          type: 'string',
                          enum: ['Healthy', 'Degraded', 'Failed'],
                          description: 'Of all volumes together.',
                        },
                        memberCount: {
                          type: 'integer',
                          description: 'Physical volumes of the group.',
                        },
                        degradedMemberCount: {
                          type: 'integer',
                          description: 'Those that are missing or failing.',
                        },
                        minSyncPercent: {
                          type: 'integer',
                          description: 'How far the volume has come that has most left to do.',
                        },
                        lvHealth: {
                          description: 'Each RAID volume.',
                          type: 'array',
                          items: {
                            type: 'object',
                            required: ['name', 'raidType', 'syncPercent'],
                            properties: {
                              name: { type: 'string', description: 'The LV.' },
                              raidType: { type: 'string', description: 'How it is kept.' },
                              syncPercent: {
                                type: 'integer',
                                description: 'How far its copies are in step.',
                              },
                              healthStatus: {
                                type: 'string',
                                description: 'As LVM says it; empty when all is well.',
                              },
                            },
                          },
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
        drivers: {
          description: 'Each CSI driver.',
          type: 'array',
          items: {
            type: 'object',
            required: ['name', 'nodes', 'registered'],
            properties: {
              name: { type: 'string', description: 'The CSI driver.' },
              nodes: { type: 'integer', description: 'Nodes that should have it.' },
              registered: { type: 'integer', description: 'Nodes whose kubelet knows it.' },
              message: { type: 'string', description: 'Which nodes do not have it, and why.' },
            },
          },
        },
      },
    },
  },
  'x-kubernetes-validations': [
    {
      rule: "(has(self.spec) && has(self.spec.configurationPolicy) && self.spec.configurationPolicy == 'ExternalConfiguration') == (has(oldSelf.spec) && has(oldSelf.spec.configurationPolicy) && oldSelf.spec.configurationPolicy == 'ExternalConfiguration') || ((has(self.spec) && has(self.spec.configurationPolicy) && self.spec.configurationPolicy == 'ExternalConfiguration') && !(has(oldSelf.spec) && (has(oldSelf.spec.configurationPolicy) || (has(oldSelf.spec.storage) && has(oldSelf.spec.storage.deviceClasses) && size(oldSelf.spec.storage.deviceClasses) > 0))))",
      message: 'configurationPolicy cannot be changed: delete the LVMCluster and make it anew',
    },
    {
      rule: "!((has(self.spec) && has(self.spec.configurationPolicy) && self.spec.configurationPolicy == 'ExternalConfiguration') && (has(self.spec.storage) && has(self.spec.storage.deviceClasses) && size(self.spec.storage.deviceClasses) > 0))",
      message: 'with configurationPolicy ExternalConfiguration there are no deviceClasses here',
    },
  ],
} as const;
