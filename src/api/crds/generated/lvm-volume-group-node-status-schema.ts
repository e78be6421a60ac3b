/** Made by `make generate` from tools/crds.ts; do not edit. */
export const lvmVolumeGroupNodeStatusSchema = {
  description: 'The volume groups of the node whose name it has.',
  type: 'object',
  properties: {
    apiVersion: { type: 'string', description: 'Group and version of this kind.' },
    kind: { type: 'string', description: 'LVMVolumeGroupNodeStatus.' },
    metadata: { type: 'object' },
    spec: {
      description: 'What is, written by the agent of the node.',
      type: 'object',
      properties: {
        nodeStatus: {
          description: 'Each volume group of the node.',
          type: 'array',
          items: {
            type: 'object',
            required: ['deviceDiscoveryPolicy'],
            properties: {
              name: { type: 'string', description: 'The volume group.' },
              status: { type: 'string', description: 'Ready, Progressing, Degraded or Failed.' },
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
              devices: { description: 'Its devices.', type: 'array', items: { type: 'string' } },
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
                  memberCount: { type: 'integer', description: 'Physical volumes of the group.' },
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
    status: { type: 'object', description: 'Nothing.', properties: {} },
  },
} as const;
