import {
  labelsOf,
  type Manifest,
  names,
  type Role,
  type Settings,
  selectorOf,
} from './manifests-settings.ts';

/** Endings that are our fault. Others say that something was asked for that cannot be. */
const ourFault = 'INTERNAL|UNKNOWN|UNAVAILABLE|DEADLINE_EXCEEDED|DATA_LOSS|UNIMPLEMENTED';

/** What is done for claims and snapshots: why it failed is known better than a status tells. */
const duties = 'csi.v1.(Group)?Controller/.*';

/** How much of a month may fail: the rest of the objective of docs/guides/slo.md. */
const callBudget = 0.001;

type Alert = {
  readonly alert: string;
  readonly expr: string;
  /** How long it must be true first. */
  readonly for: string;
  readonly severity: 'warning' | 'critical';
  readonly summary: string;
  /** What it means, and what to do. */
  readonly description: string;
};

const on = '{{ $labels.device_class }} on {{ $labels.node }}';

export const alerts: readonly Alert[] = [
  {
    alert: 'QuarryCallsFailFast',
    expr: burns({ windows: ['1h', '5m'], factor: 14.4 }),
    ...{ for: '2m', severity: 'critical' },
    summary: 'Calls of the driver fail.',
    description:
      'At this rate the month is used up within two days. The log of {{ $labels.pod }} has a line for each call that failed.',
  },
  {
    alert: 'QuarryCallsFailSlowly',
    expr: burns({ windows: ['6h', '30m'], factor: 6 }),
    ...{ for: '15m', severity: 'warning' },
    summary: 'Some calls of the driver fail.',
    description:
      'At this rate the month is used up within five days. The log of {{ $labels.pod }} has a line for each call that failed.',
  },
  {
    alert: 'QuarryClaimsFail',
    expr: ['1h', '15m'].map(failedDuties).join(' and '),
    ...{ for: '10m', severity: 'warning' },
    summary: 'Claims or snapshots fail, and not by what they ask for.',
    description:
      'More than one try in twenty of {{ $labels.method }}. Events of the claims and the log of the operator say why; each is tried again.',
  },
  {
    alert: 'QuarryClaimsSlow',
    expr: slowerThan('quarry_operation_duration_seconds', {
      selector: 'method="csi.v1.Controller/CreateVolume"',
      ...{ le: '10', share: 0.05 },
    }),
    ...{ for: '30m', severity: 'warning' },
    summary: 'More than one claim in twenty waits over ten seconds for its volume.',
    description:
      'Copies are left out. quarry_lvm_run_duration_seconds of the agents tells whether lvm is slow, quarry_cluster_trouble_total whether the API server is.',
  },
  {
    alert: 'QuarryMountsSlow',
    expr: slowerThan('quarry_operation_duration_seconds', {
      selector: 'method=~".*/NodePublishVolume"',
      ...{ le: '5', share: 0.05 },
    }),
    ...{ for: '30m', severity: 'warning' },
    summary: 'More than one mount in twenty takes over five seconds.',
    description:
      'Pods on {{ $labels.pod }} wait for their volumes. quarry_lvm_run_duration_seconds tells whether lvm is slow, quarry_queue_length whether much is asked for at once.',
  },
  {
    alert: 'QuarryLvmSlow',
    expr: slowerThan('quarry_lvm_run_duration_seconds', {
      selector: '',
      ...{ le: '10', share: 0.05 },
    }),
    ...{ for: '30m', severity: 'warning' },
    summary: 'More than one run of lvm in twenty takes over ten seconds.',
    description: 'A disk of {{ $labels.pod }} may be failing, or somebody else holds the lock.',
  },
  {
    alert: 'QuarryHostNotSeen',
    expr: 'time() - quarry_last_look_seconds > 300',
    ...{ for: '1m', severity: 'critical' },
    summary: 'An agent has not seen its disks for five minutes.',
    description:
      'Nothing can be made or removed there, and its capacity is old. /readyz of {{ $labels.pod }} says why; often a disk does not answer.',
  },
  {
    alert: 'QuarryAgentDown',
    expr: `up{job=~".*/${names.agent}"} == 0`,
    ...{ for: '10m', severity: 'critical' },
    summary: 'An agent does not answer.',
    description:
      'Volumes that are mounted stay so. Pods that begin or end on the node of {{ $labels.pod }} wait.',
  },
  {
    alert: 'QuarryRestartsOften',
    expr: 'changes(process_start_time_seconds{job=~".*/(lvms-operator|vg-manager)"}[1h]) > 3',
    ...{ for: '0m', severity: 'warning' },
    summary: 'A process of Quarry was started four times within an hour.',
    description: 'The last words of {{ $labels.pod }} are in `kubectl logs --previous`.',
  },
  {
    alert: 'QuarryNobodyLeads',
    expr: 'sum(quarry_leader) == 0 or absent(quarry_leader)',
    ...{ for: '5m', severity: 'critical' },
    summary: 'No operator leads.',
    description:
      'Claims get no volumes, and nothing grows or is deleted; what is mounted stays so. /status of the operator, its log and the event OldControllerActs say what it waits for: often a lease that an old sidecar still holds.',
  },
  {
    alert: 'QuarryApiServerTrouble',
    expr: 'sum by (pod) (rate(quarry_cluster_trouble_total[15m])) > 0.2',
    ...{ for: '15m', severity: 'warning' },
    summary: 'Requests to the API server fail.',
    description:
      'The log of {{ $labels.pod }} says which. Forbidden means that a rule is missing: install the manifests of this version.',
  },
  {
    alert: 'QuarryOrphans',
    expr: 'sum by (reason) (quarry_orphan_volumes) > 0',
    ...{ for: '1h', severity: 'warning' },
    summary: 'Volumes or snapshots take room, and no object of Kubernetes has them.',
    description:
      'They are kept until somebody says otherwise: events on the LogicalVolumes name them, with what can be done. Reason: {{ $labels.reason }}.',
  },
  {
    alert: 'QuarryStrays',
    expr: 'sum by (pod) (quarry_stray_volumes) > 0',
    ...{ for: '1h', severity: 'warning' },
    summary: 'A node has volumes that no LogicalVolume names.',
    description:
      'quarry doctor and the annotation quarry.io/stray-volumes of the Node name them. They are left alone: look whose they are before you remove one. Agent: {{ $labels.pod }}.',
  },
  ...poolAlerts('Data', 'topolvm_thinpool_data_percent'),
  ...poolAlerts('Metadata', 'topolvm_thinpool_metadata_percent'),
  {
    alert: 'QuarryVolumeGroupAlmostFull',
    expr: 'topolvm_volumegroup_available_bytes / topolvm_volumegroup_size_bytes < 0.05 unless on (node, device_class) topolvm_thinpool_size_bytes',
    ...{ for: '30m', severity: 'warning' },
    summary: 'A volume group can give less than a twentieth of its size.',
    description: `New volumes of class ${on} will be refused soon: add a disk, or delete volumes.`,
  },
  ...raidAlerts(),
  {
    alert: 'QuarryConfigurationRefused',
    expr: 'quarry_configuration_good == 0',
    ...{ for: '10m', severity: 'warning' },
    summary: 'The last good lvmd.yaml is in force, not the newest.',
    description: '/status of {{ $labels.pod }} says what is wrong with the file.',
  },
  {
    alert: 'QuarryClassRefused',
    expr: 'quarry_device_class_refused == 1',
    ...{ for: '10m', severity: 'warning' },
    summary: 'In a device class nothing new can be made.',
    description: 'The group or pool of {{ $labels.device_class }} is missing on {{ $labels.pod }}.',
  },
  {
    alert: 'QuarryQueueLong',
    expr: 'quarry_queue_length > 100',
    ...{ for: '15m', severity: 'warning' },
    summary: 'Many changes wait for one volume group.',
    description: '{{ $labels.volume_group }} of {{ $labels.pod }} is slower than it is asked.',
  },
];

/** Both windows: it fails now, and it has failed for long enough to matter. */
function burns({ windows, factor }: { windows: readonly string[]; factor: number }): string {
  const limit = Number((factor * callBudget).toFixed(4));
  return windows
    .map((window) => {
      const calls = `method!~"${duties}"`;
      const bad = `quarry_operations_total{${calls},code=~"${ourFault}"}[${window}]`;
      const all = `quarry_operations_total{${calls}}[${window}]`;
      return `sum by (pod) (rate(${bad})) / sum by (pod) (rate(${all})) > ${limit}`;
    })
    .join(' and ');
}

function failedDuties(window: string): string {
  const bad = `quarry_failures_total{fault="system"}[${window}]`;
  const all = `quarry_operations_total{method=~"${duties}"}[${window}]`;
  return `sum by (method) (rate(${bad})) / sum by (method) (rate(${all})) > 0.05`;
}

type Slow = { readonly selector: string; readonly le: string; readonly share: number };

function slowerThan(metric: string, { selector, le, share }: Slow): string {
  const words = [selector, `le="${le}"`].filter((word) => word !== '').join(',');
  const fast = `sum by (pod) (rate(${metric}_bucket{${words}}[1h]))`;
  const all = `sum by (pod) (rate(${metric}_count${selector === '' ? '' : `{${selector}}`}[1h]))`;
  return `1 - ${fast} / ${all} > ${share}`;
}

function poolAlerts(what: 'Data' | 'Metadata', metric: string): readonly Alert[] {
  const advice = `Extend the pool of class ${on} before it is full: every volume in it fails then.`;
  return [
    {
      alert: `QuarryThinPool${what}AlmostFull`,
      expr: `${metric} > 80`,
      ...{ for: '5m', severity: 'warning' },
      summary: `The ${what.toLowerCase()} of a thin pool is 80 % full.`,
      description: advice,
    },
    {
      alert: `QuarryThinPool${what}Full`,
      expr: `${metric} > 95`,
      ...{ for: '1m', severity: 'critical' },
      summary: `The ${what.toLowerCase()} of a thin pool is 95 % full.`,
      description: advice,
    },
  ];
}

function raidAlerts(): readonly Alert[] {
  const moved =
    'max_over_time(lvms_raid_sync_percent[30m]) - min_over_time(lvms_raid_sync_percent[30m])';
  return [
    {
      alert: 'QuarryRaidDegraded',
      expr: 'lvms_raid_health_status == 1',
      ...{ for: '5m', severity: 'warning' },
      summary: 'A RAID has lost a device.',
      description: `Class ${on} goes on with what is left, and cannot lose another. Replace the disk: see "trouble" in the guides.`,
    },
    {
      alert: 'QuarryRaidFailed',
      expr: 'lvms_raid_health_status == 2',
      ...{ for: '1m', severity: 'critical' },
      summary: 'No RAID of a group can be used.',
      description: `Too many devices are gone from class ${on}: bring them back. Conditions of the volumes and "trouble" in the guides say what else can be done.`,
    },
    {
      alert: 'QuarryRaidSyncSlow',
      expr: `lvms_raid_sync_in_progress == 1 and ${moved} < 1`,
      ...{ for: '30m', severity: 'warning' },
      summary: 'Copies of a RAID are hardly brought into step.',
      description: `Within half an hour class ${on} came less than a hundredth further, and until it is done it may not survive another device. A disk may be failing, or be too busy.`,
    },
  ];
}

export function prometheusRule({ namespace }: Settings): Manifest {
  return {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: 'quarry', namespace },
    spec: {
      groups: [
        {
          name: 'quarry',
          rules: alerts.map(({ severity, summary, description, ...rule }) => ({
            ...rule,
            labels: { severity },
            annotations: { summary, description },
          })),
        },
      ],
    },
  };
}

/** Whom Prometheus asks. The job of what it finds is `<namespace>/<name>`. */
export function podMonitors({ namespace }: Settings): readonly Manifest[] {
  return (['operator', 'agent'] as const).map((role: Role) => ({
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PodMonitor',
    metadata: { name: names[role], namespace, labels: labelsOf(role) },
    spec: {
      selector: { matchLabels: selectorOf(role) },
      podMetricsEndpoints: [{ port: 'metrics', path: '/metrics', interval: '30s' }],
    },
  }));
}
