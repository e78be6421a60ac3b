import { logicalVolumeSchema } from './generated/logical-volume-schema.ts';

/** The group that TopoLVM has, and the one it had before. One instance serves one of them. */
export const groups = { current: 'topolvm.io', legacy: 'topolvm.cybozu.com' } as const;

export type CrdOptions = {
  readonly group: string;
  /**
   * With it agents can ask for the volumes of their node. Kubernetes knows it from 1.30 on; kubectl
   * refuses to send an older server a field that it does not know.
   */
  readonly hasSelectableFields: boolean;
};

/** The first minor version of Kubernetes 1 that knows `selectableFields`. */
export const selectableFieldsMinor = 30;

export function logicalVolumeCrd({ group, hasSelectableFields }: CrdOptions) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `logicalvolumes.${group}` },
    spec: {
      group,
      names: {
        kind: 'LogicalVolume',
        listKind: 'LogicalVolumeList',
        plural: 'logicalvolumes',
        singular: 'logicalvolume',
      },
      scope: 'Cluster',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          ...(hasSelectableFields ? { selectableFields: [{ jsonPath: '.spec.nodeName' }] } : {}),
          additionalPrinterColumns: columns,
          schema: { openAPIV3Schema: logicalVolumeSchema },
        },
      ],
    },
  } as const;
}

/** What `kubectl get logicalvolumes` shows; those of priority 1 with `-o wide` only. */
const columns = [
  { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' },
  { name: 'Class', type: 'string', jsonPath: '.spec.deviceClass' },
  { name: 'Wanted', type: 'string', jsonPath: '.spec.size' },
  { name: 'Size', type: 'string', jsonPath: '.status.currentSize' },
  { name: 'Source', type: 'string', jsonPath: '.spec.source', priority: 1 },
  { name: 'Volume', type: 'string', jsonPath: '.status.volumeID', priority: 1 },
  { name: 'Message', type: 'string', jsonPath: '.status.message', priority: 1 },
  { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
] as const;
