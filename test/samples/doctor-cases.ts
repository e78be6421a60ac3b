import type { FindingCode } from '../../src/core/doctor/finding.ts';
import type { ClusterPicture } from '../../src/core/doctor/picture.ts';
import * as sample from './cluster-picture.ts';

const { healthy, longAgo, justNow } = sample;

/** Each row changes one thing, and says what is found, of which object, in which words. */
export type Case = {
  readonly title: string;
  readonly change: Partial<ClusterPicture>;
  readonly found: readonly (readonly [FindingCode, string, RegExp])[];
  /** Of the first. */
  readonly details?: readonly (string | RegExp)[];
  readonly remedy?: RegExp;
};

/** Reports of both nodes, of which the first tells of these groups. */
export const report = (
  ...groups: Parameters<typeof sample.report> extends [string, ...infer R] ? R : []
) => ({
  reports: [
    sample.report('n1', ...groups),
    sample.report('n2', sample.groupStatus(), sample.raidGroup()),
  ],
});
const lvmCluster = 'LVMCluster quarry-system/mine';
/** The agent of the second node is otherwise. */
export const agent = (more: Parameters<typeof sample.pod>[2]) => [
  ...healthy.pods.slice(0, 3),
  sample.pod('vg-manager-2', 'node', { node: 'n2', ...more }),
];

export const workloads: readonly Case[] = [
  {
    title: 'nothing is installed',
    change: {
      deployments: [],
      daemonSets: [],
      pods: [],
      namespace: undefined,
      clusters: [],
      reports: [],
      csiDrivers: [],
    },
    found: [['NotInstalled', 'Deployment lvms-operator', /no operator and no agent/]],
  },
  {
    title: 'the kind of volumes is missing',
    change: { servesLogicalVolumes: false, logicalVolumes: [] },
    found: [['NotInstalled', 'CustomResourceDefinition logicalvolumes.topolvm.io', /is missing/]],
    remedy: /quarry crds/,
  },
  {
    title: 'there is no CSIDriver',
    change: { csiDrivers: [] },
    found: [['DriverMissing', 'CSIDriver topolvm.io', /no CSIDriver topolvm\.io/]],
  },
  {
    title: 'one pod of the operator crashes',
    change: {
      deployments: [{ ...sample.operator, status: { readyReplicas: 1 } }],
      pods: [
        sample.pod('lvms-operator-a', 'controller', { status: sample.notReady }),
        ...healthy.pods.slice(1),
      ],
    },
    found: [['OperatorNotReady', 'Deployment quarry-system/lvms-operator', /^1 of 2 pods/]],
    details: ['lvms-operator-a on n1: CrashLoopBackOff: back-off 5m0s: it ended with 2 before'],
  },
  {
    title: 'there are agents and no operator',
    change: { deployments: [], pods: healthy.pods.slice(2) },
    found: [['OperatorNotReady', 'Deployment quarry-system/lvms-operator', /there is no operator/]],
  },
  {
    title: 'an agent is not ready',
    change: { pods: agent({ status: sample.notReady }) },
    found: [
      ['AgentNotReady', 'Pod quarry-system/vg-manager-2', /agent on n2 .*: CrashLoopBackOff/],
    ],
  },
  {
    title: 'an agent is not ready because its node is away',
    change: {
      pods: agent({ status: { ...sample.notReady, containerStatuses: [] } }),
      nodes: [
        sample.node('n1'),
        sample.node('n2', {
          spec: { taints: [{ key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' }] },
        }),
      ],
    },
    found: [['AgentNotReady', 'Pod quarry-system/vg-manager-2', /its node is unreachable/]],
  },
  {
    title: 'pods of agents cannot be made',
    change: {
      daemonSets: [{ ...sample.agents, status: { desiredNumberScheduled: 3, numberReady: 2 } }],
    },
    found: [['AgentMissing', 'DaemonSet quarry-system/vg-manager', /3 nodes .* 2 pods/]],
    remedy: /events/,
  },
  {
    title: 'there is an operator and no agents',
    change: { daemonSets: [], pods: healthy.pods.slice(0, 2) },
    found: [['AgentMissing', 'DaemonSet quarry-system/vg-manager', /there are no agents/]],
  },
  {
    title: 'a node that is meant has no agent',
    change: {
      daemonSets: [{ ...sample.agents, status: { desiredNumberScheduled: 1 } }],
      pods: healthy.pods.slice(0, 3),
    },
    found: [['AgentMissing', 'DaemonSet quarry-system/vg-manager', /^n2 is meant/]],
  },
  {
    title: 'one agent has another version',
    change: {
      pods: agent({
        spec: { nodeName: 'n2', containers: [{ name: 'main', image: 'example/quarry:0.2.0' }] },
      }),
    },
    found: [['VersionsSkewed', 'Deployment quarry-system/lvms-operator', /0\.1\.0 and 0\.2\.0/]],
    details: ['0.1.0: lvms-operator-a, lvms-operator-b and vg-manager-1', '0.2.0: vg-manager-2'],
  },
  {
    title: 'one agent has another build of the same version',
    change: {
      pods: agent({
        spec: {
          nodeName: 'n2',
          containers: [{ name: 'main', image: 'example/quarry:0.1.0@sha256:2' }],
        },
      }),
    },
    found: [['VersionsSkewed', 'Deployment quarry-system/lvms-operator', /^2 different images/]],
    details: [
      /^example\/quarry:0\.1\.0@sha256:1+: /,
      'example/quarry:0.1.0@sha256:2: vg-manager-2',
    ],
  },
  {
    title: 'operator and agent of a node do not go together',
    change: {
      nodes: [
        sample.node('n1'),
        sample.node('n2', {
          metadata: {
            ...sample.node('n2').metadata,
            annotations: {
              ...sample.node('n2').metadata.annotations,
              'quarry.io/operator-version': '{"version":"0.3.0","protocol":3,"oldestProtocol":2}',
              'quarry.io/agent-version': '{"version":"0.1.0","protocol":1,"oldestProtocol":1}',
            },
          },
        }),
      ],
    },
    found: [['NewWorkRefused', 'Node n2', /operator is 0\.3\.0 .* agent of n2 is 0\.1\.0/]],
  },
  {
    title: 'kubelet does not know the driver',
    change: { csiNodes: [sample.csiNode('n1', 'topolvm.io'), sample.csiNode('n2', 'other.io')] },
    found: [['DriverNotRegistered', 'CSINode n2', /kubelet of n2/]],
  },
  {
    title: 'nobody answers for the webhook',
    change: { endpoints: [sample.slice(false)] },
    found: [
      ['WebhookUnreachable', 'MutatingWebhookConfiguration lvms.quarry.io', /cannot ask/],
      ['WebhookUnreachable', 'ValidatingWebhookConfiguration lvms.quarry.io', /cannot ask/],
    ],
    details: [/no ready endpoint of Service quarry-system\/lvms-webhook-service/],
  },
  {
    title: 'the webhook has no authority',
    change: { webhooks: [sample.registration('ValidatingWebhookConfiguration', '')] },
    found: [['WebhookUnreachable', 'ValidatingWebhookConfiguration lvms.quarry.io', /cannot ask/]],
    details: ['vlvmcluster.kb.io has no caBundle'],
  },
];

export const clusters: readonly Case[] = [
  {
    title: 'nobody acts on an LVMCluster',
    change: {
      clusters: [
        sample.cluster({ metadata: sample.meta('mine', { namespace: 'default' }), status: {} }),
      ],
      deployments: [
        sample.workload('lvms-operator', 'controller', {
          args: ['operator'],
          status: { readyReplicas: 2 },
        }),
      ],
    },
    found: [['ClusterIgnored', 'LVMCluster default/mine', /no status/]],
    details: [
      'it is in default, and the operator in quarry-system',
      'lvms-operator was started without --lvm-clusters',
    ],
  },
  {
    title: 'something could not be made',
    change: {
      clusters: [
        sample.cluster({
          status: {
            state: 'Progressing',
            conditions: [
              {
                ...({ type: 'ResourcesAvailable', status: 'False' } as const),
                ...{ reason: 'ResourcesSyncIncomplete', message: 'first\nsecond' },
                lastTransitionTime: justNow,
              },
            ],
          },
        }),
      ],
    },
    found: [['ClusterIncomplete', lvmCluster, /^ResourcesSyncIncomplete: first$/]],
    details: ['second'],
  },
  {
    title: 'a deletion waits for volumes',
    change: {
      clusters: [
        sample.cluster({
          metadata: sample.meta('mine', { namespace: 'quarry-system', deletionTimestamp: longAgo }),
        }),
      ],
    },
    found: [['DeletionWaits', lvmCluster, /since 2020-01-01/]],
    details: ['device class vg1 holds claim default/data'],
  },
  {
    title: 'a class that goes waits for a node',
    change: {
      groups: healthy.groups.map((group) => ({
        ...group,
        metadata: {
          ...group.metadata,
          ...(group.metadata.name === 'safe' ? { deletionTimestamp: longAgo } : {}),
        },
      })),
    },
    found: [['DeletionWaits', 'LVMVolumeGroup quarry-system/safe', /being deleted/]],
    details: ['n1 has not given it back yet', 'n2 has not given it back yet'],
  },
  {
    title: 'a class means no node',
    change: {
      clusters: [
        sample.cluster({
          classes: [
            ...sample.deviceClasses,
            {
              name: 'far',
              nodeSelector: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'Exists' }] }],
              },
            },
          ],
        }),
      ],
    },
    found: [['ClassWithoutNode', lvmCluster, /class far: none of 2 nodes/]],
  },
  {
    title: 'an agent tells nothing of a class',
    change: { clusters: [sample.lateCluster()], ...report(sample.raidGroup()) },
    found: [['GroupNotTold', lvmCluster, /agent of n1 .* class vg1/]],
  },
];
