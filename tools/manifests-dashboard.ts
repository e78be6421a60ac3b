/** A page for Grafana: what there is, what is asked for, how long it takes. */
export function dashboard(): object {
  return {
    title: 'Quarry',
    uid: 'quarry',
    tags: ['storage', 'lvm'],
    schemaVersion: 39,
    version: 1,
    timezone: 'browser',
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: { list: [dataSource, nodes] },
    panels: panels.map(panelOf),
  };
}

type Panel = {
  readonly title: string;
  readonly expr: string;
  readonly legend: string;
  readonly unit: 'bytes' | 'percent' | 's' | 'ops' | 'short';
};

const ofNode = '{node=~"$node"}';

const panels: readonly Panel[] = [
  {
    title: 'What thick classes can give',
    expr: `topolvm_volumegroup_available_bytes${ofNode}`,
    ...{ legend: '{{node}} {{device_class}}', unit: 'bytes' },
  },
  {
    title: 'What thin pools may still promise',
    expr: `topolvm_thinpool_overprovisioned_available${ofNode}`,
    ...{ legend: '{{node}} {{device_class}}', unit: 'bytes' },
  },
  {
    title: 'Fill of thin pools: data',
    expr: `topolvm_thinpool_data_percent${ofNode}`,
    ...{ legend: '{{node}} {{device_class}}', unit: 'percent' },
  },
  {
    title: 'Fill of thin pools: metadata',
    expr: `topolvm_thinpool_metadata_percent${ofNode}`,
    ...{ legend: '{{node}} {{device_class}}', unit: 'percent' },
  },
  {
    title: 'RAID: 0 healthy, 1 degraded, 2 failed',
    expr: `lvms_raid_health_status${ofNode}`,
    ...{ legend: '{{node}} {{device_class}}', unit: 'short' },
  },
  {
    title: 'Calls by how they ended',
    expr: 'sum by (code) (rate(quarry_operations_total[5m]))',
    ...{ legend: '{{code}}', unit: 'ops' },
  },
  {
    title: 'Calls, 95 of 100 are faster',
    expr: 'histogram_quantile(0.95, sum by (method, le) (rate(quarry_operation_duration_seconds_bucket[5m])))',
    ...{ legend: '{{method}}', unit: 's' },
  },
  {
    title: 'Claims and snapshots: what failed, by whose fault',
    expr: 'sum by (method, fault) (rate(quarry_failures_total[5m]))',
    ...{ legend: '{{method}} {{fault}}', unit: 'ops' },
  },
  {
    title: 'Claims, 95 of 100 have their volume sooner',
    expr: 'histogram_quantile(0.95, sum by (le) (rate(quarry_operation_duration_seconds_bucket{method="csi.v1.Controller/CreateVolume"}[5m])))',
    ...{ legend: 'volume', unit: 's' },
  },
  {
    title: 'lvm, 95 of 100 are faster',
    expr: 'histogram_quantile(0.95, sum by (command, le) (rate(quarry_lvm_run_duration_seconds_bucket[5m])))',
    ...{ legend: '{{command}}', unit: 's' },
  },
  {
    title: 'Runs of lvm',
    expr: 'sum by (command, result) (rate(quarry_lvm_runs_total[5m]))',
    ...{ legend: '{{command}} {{result}}', unit: 'ops' },
  },
  {
    title: 'Changes that wait',
    expr: 'quarry_queue_length',
    ...{ legend: '{{pod}} {{volume_group}}', unit: 'short' },
  },
  {
    title: 'Since the last look at LVM',
    expr: 'time() - quarry_last_look_seconds',
    ...{ legend: '{{pod}}', unit: 's' },
  },
  {
    title: 'Trouble with the API server',
    expr: 'sum by (pod, what) (rate(quarry_cluster_trouble_total[5m]))',
    ...{ legend: '{{pod}} {{what}}', unit: 'ops' },
  },
  {
    title: 'Objects that the operator watches',
    expr: 'max by (kind) (quarry_objects)',
    ...{ legend: '{{kind}}', unit: 'short' },
  },
  {
    title: 'Volumes that belong to nobody',
    expr: 'max by (reason) (quarry_orphan_volumes)',
    ...{ legend: '{{reason}}', unit: 'short' },
  },
  {
    title: 'Memory',
    expr: 'process_resident_memory_bytes{job=~".*/(lvms-operator|vg-manager)"}',
    ...{ legend: '{{pod}}', unit: 'bytes' },
  },
];

const size = { w: 12, h: 8 } as const;
// biome-ignore lint/suspicious/noTemplateCurlyInString: it is Grafana's word
const source = { type: 'prometheus', uid: '${datasource}' } as const;

function panelOf({ title, expr, legend, unit }: Panel, index: number): object {
  const gridPos = { ...size, x: (index % 2) * size.w, y: Math.floor(index / 2) * size.h };
  return {
    ...{ id: index + 1, title, type: 'timeseries', datasource: source, gridPos },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: [{ refId: 'A', datasource: source, expr, legendFormat: legend }],
  };
}

const dataSource = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
};

const nodes = {
  name: 'node',
  label: 'Node',
  type: 'query',
  datasource: source,
  query: 'label_values(topolvm_volumegroup_size_bytes, node)',
  includeAll: true,
  multi: true,
  allValue: '.*',
  refresh: 2,
};
