/** Made by `make generate` from tools/crds.ts; do not edit. */
export const logicalVolumeSchema = {
  description: 'A volume or a snapshot on one node. Its UID is the name of the LV.',
  type: 'object',
  properties: {
    apiVersion: { type: 'string', description: 'Group and version of this kind.' },
    kind: { type: 'string', description: 'LogicalVolume.' },
    metadata: { type: 'object' },
    spec: {
      description: 'What is wanted.',
      type: 'object',
      required: ['name', 'nodeName', 'size'],
      properties: {
        name: {
          type: 'string',
          description: 'The name that was asked for: pvc-<uid of the claim> or snapshot-<uid>.',
        },
        nodeName: {
          type: 'string',
          description: 'The node that holds the volume. It never changes: a volume does not move.',
        },
        size: {
          anyOf: [{ type: 'integer' }, { type: 'string' }],
          description:
            'The size that is wanted, for example 10Gi. Raise it to grow the volume; it never shrinks.',
          pattern:
            '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
          'x-kubernetes-int-or-string': true,
        },
        deviceClass: {
          type: 'string',
          description:
            'The device class of lvmd.yaml to make it in. Empty: the default of the node.',
        },
        lvcreateOptionClass: {
          type: 'string',
          description:
            'The lvcreate-option-class of lvmd.yaml whose options replace those of the device class.',
        },
        source: {
          type: 'string',
          description: 'The name of the LogicalVolume that this one begins as a copy of, if any.',
        },
        accessType: {
          type: 'string',
          description: 'Only with a source. ro: a snapshot. rw: a volume made from the source.',
        },
      },
    },
    status: {
      description: 'What is, written by the agent of the node after it is true.',
      type: 'object',
      properties: {
        volumeID: {
          type: 'string',
          description: 'Set when the LV is there: its name, and the volumeHandle of the volume.',
        },
        currentSize: {
          anyOf: [{ type: 'integer' }, { type: 'string' }],
          description:
            'The size that LVM really gave, in whole extents. Missing on very old objects.',
          pattern:
            '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
          'x-kubernetes-int-or-string': true,
        },
        code: {
          type: 'integer',
          description: 'How the last try ended, as a gRPC code: 0 is success, 8 is no room left.',
          format: 'int32',
        },
        message: {
          type: 'string',
          description: 'Why the last try failed, and what to do about it.',
        },
      },
    },
  },
} as const;
