import { lvmClusterSchema } from './generated/lvm-cluster-schema.ts';
import { lvmVolumeGroupNodeStatusSchema } from './generated/lvm-volume-group-node-status-schema.ts';
import { lvmVolumeGroupSchema } from './generated/lvm-volume-group-schema.ts';

export const lvmsGroup = 'lvm.topolvm.io';

/** LVMS' kinds, in the version it has. */
export const lvmsCrds = [
  definition('LVMCluster', lvmClusterSchema, [
    { name: 'Status', type: 'string', jsonPath: '.status.state' },
    { name: 'Policy', type: 'string', jsonPath: '.spec.configurationPolicy', priority: 1 },
  ]),
  definition('LVMVolumeGroup', lvmVolumeGroupSchema, [
    { name: 'Default', type: 'boolean', jsonPath: '.spec.default' },
    { name: 'Pool', type: 'string', jsonPath: '.spec.thinPoolConfig.name' },
    { name: 'Raid', type: 'string', jsonPath: '.spec.raidConfig.type' },
  ]),
  definition('LVMVolumeGroupNodeStatus', lvmVolumeGroupNodeStatusSchema, [
    { name: 'Groups', type: 'string', jsonPath: '.spec.nodeStatus[*].name' },
    { name: 'Status', type: 'string', jsonPath: '.spec.nodeStatus[*].status' },
  ]),
] as const;

type Column = {
  readonly name: string;
  readonly type: string;
  readonly jsonPath: string;
  /** 1: with `-o wide` only. */
  readonly priority?: number;
};

function definition(kind: string, schema: object, columns: readonly Column[]) {
  const singular = kind.toLowerCase();
  const plural = singular.endsWith('s') ? `${singular}es` : `${singular}s`;
  const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${lvmsGroup}` },
    spec: {
      group: lvmsGroup,
      names: { kind, listKind: `${kind}List`, plural, singular },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: [...columns, age],
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}
