import { lvmdCapacities } from '../core/lvmd-capacity.ts';
import { findVg, type ObservedHost } from '../core/observed.ts';
import { type RaidHealth, raidHealth } from '../core/raid-health.ts';
import type { CallEvent } from '../csi/call.ts';
import type { Engine } from '../engine/engine.ts';
import {
  Counter,
  type Family,
  Histogram,
  type Labels,
  renderFamilies,
} from '../process/registry.ts';
import type { LvmdConfiguration } from './lvmd-config.ts';
import type { ProgramRun } from './metered-host.ts';

type Parts = {
  readonly node: string;
  readonly version: string;
  readonly engine: Engine;
  readonly configuration: LvmdConfiguration;
  readonly nowMs: () => number;
};

/**
 * What happened is counted when it happens. How things are is read off the newest report when
 * somebody asks, so that asking runs no lvm and nothing here can be out of date by itself.
 */
export class Metrics {
  readonly #parts: Parts;
  readonly #operations = new Counter({
    name: 'quarry_operations_total',
    help: 'Calls that ended, by method and gRPC status.',
  });
  readonly #operationSeconds = new Histogram({
    name: 'quarry_operation_duration_seconds',
    help: 'How long calls took, by method; streams are left out.',
  });
  readonly #lvmRuns = new Counter({
    name: 'quarry_lvm_runs_total',
    help: 'Runs of lvm, looks among them, by command and how they ended.',
  });
  readonly #lvmSeconds = new Histogram({
    name: 'quarry_lvm_run_duration_seconds',
    help: 'How long runs of lvm took, by command.',
  });
  readonly #programRuns = new Counter({
    name: 'quarry_program_runs_total',
    help: 'Runs of other programs, by name and how they ended.',
  });
  readonly #refreshes = new Counter({
    name: 'quarry_refreshes_total',
    help: 'Reports of the whole host that were taken in.',
  });
  #lastLookMs: number | undefined;
  #strays: number | undefined;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** When a look at the host last worked. */
  get lastLookMs(): number | undefined {
    return this.#lastLookMs;
  }

  looked(): void {
    this.#lastLookMs = this.#parts.nowMs();
    this.#refreshes.inc({});
  }

  strayed(count: number): void {
    this.#strays = count;
  }

  called({ method, code, durationMs }: CallEvent): void {
    const name = method.replace(/^\//, '');
    this.#operations.inc({ method: name, code });
    // A stream lasts as long as somebody listens.
    if (!name.endsWith('/Watch'))
      this.#operationSeconds.observe({ method: name }, durationMs / 1000);
  }

  ran({ command, result, durationMs }: ProgramRun): void {
    const [program, verb = ''] = command.argv;
    if (program === 'lvm') {
      this.#lvmRuns.inc({ command: verb, result });
      this.#lvmSeconds.observe({ command: verb }, durationMs / 1000);
    } else this.#programRuns.inc({ program, result });
  }

  text(): string {
    return renderFamilies(this.families());
  }

  families(): readonly Family[] {
    const { engine } = this.#parts;
    const host = engine.model.newest?.host;
    return [
      ...(host === undefined ? [] : [...this.#topolvm(host), ...this.#lvms(host)]),
      ...[this.#operations, this.#operationSeconds, this.#lvmRuns].map((one) => one.family()),
      ...[this.#lvmSeconds, this.#programRuns, this.#refreshes].map((one) => one.family()),
      ...this.#own(),
      ...this.#process(),
    ];
  }

  /** Names and labels are TopoLVM's: dashboards and alerts in the field read them. */
  #topolvm(host: ObservedHost): readonly Family[] {
    const { node, configuration } = this.#parts;
    const all = lvmdCapacities(configuration.classes, host);
    const labelled = all.map((one) => ({
      ...one,
      labels: { node, device_class: one.deviceClass },
    }));
    const pools = labelled.flatMap(({ labels, thinPool }) =>
      thinPool === undefined ? [] : [{ labels, ...thinPool }],
    );
    return [
      gauge('topolvm_volumegroup_size_bytes', 'Size of the volume group of a device class.', [
        ...labelled.map(({ labels, vgSizeBytes }) => ({ labels, value: vgSizeBytes })),
      ]),
      gauge(
        'topolvm_volumegroup_available_bytes',
        'What a thick class can give; for a thin class what is free in its volume group.',
        labelled.map(({ labels, vgFreeBytes }) => ({ labels, value: vgFreeBytes })),
      ),
      gauge('topolvm_thinpool_size_bytes', 'Size of the thin pool of a device class.', [
        ...pools.map(({ labels, sizeBytes }) => ({ labels, value: sizeBytes })),
      ]),
      gauge('topolvm_thinpool_data_percent', 'How full the data of the thin pool is.', [
        ...pools.map(({ labels, dataPercent }) => ({ labels, value: dataPercent })),
      ]),
      gauge('topolvm_thinpool_metadata_percent', 'How full the metadata of the thin pool is.', [
        ...pools.map(({ labels, metadataPercent }) => ({ labels, value: metadataPercent })),
      ]),
      gauge(
        'topolvm_thinpool_overprovisioned_available',
        'Bytes that the thin pool may still promise.',
        pools.map(({ labels, overprovisionBytes }) => ({ labels, value: overprovisionBytes })),
      ),
    ];
  }

  /** LVMS' names, for classes whose group has RAID volumes. */
  #lvms(host: ObservedHost): readonly Family[] {
    const { node, configuration } = this.#parts;
    const raids = configuration.classes.flatMap(({ name, vg: vgName }) => {
      const vg = findVg(host, vgName);
      const health = vg === undefined ? undefined : raidHealth(vg);
      return health === undefined ? [] : [{ labels: { node, device_class: name }, health }];
    });
    const family = (name: string, help: string, value: (health: RaidHealth) => number) =>
      gauge(`lvms_raid_${name}`, help, [
        ...raids.map(({ labels, health }) => ({ labels, value: value(health) })),
      ]);
    return [
      family('health_status', '0 healthy, 1 degraded, 2 failed.', ({ status }) => statuses[status]),
      family('sync_in_progress', '1 while copies are brought into step.', ({ syncPercent }) =>
        (syncPercent ?? 100) < 100 ? 1 : 0,
      ),
      family('member_count', 'Devices of the volume group.', ({ members }) => members),
      family('degraded_count', 'Devices that are missing.', ({ missingMembers }) => missingMembers),
      family('sync_percent', 'Of the volume furthest behind.', (health) => health.syncPercent ?? 0),
    ];
  }

  #own(): readonly Family[] {
    const { engine, configuration } = this.#parts;
    const { state, sinceMs, refused } = configuration.state;
    const queues = [...engine.queueLengths()];
    return [
      gauge('quarry_queue_length', 'Changes that wait, by volume group.', [
        ...queues.map(([vg, length]) => ({ labels: { volume_group: vg }, value: length })),
      ]),
      single('quarry_configuration_good', '1: the file is in force; 0: the last good one is.', {
        value: state === 'good' ? 1 : 0,
      }),
      single('quarry_configuration_since_seconds', 'When the configuration became as it is.', {
        value: sinceMs / 1000,
      }),
      gauge('quarry_device_class_refused', 'Device classes in which nothing new can be made.', [
        ...refused.map(({ name }) => ({ labels: { device_class: name }, value: 1 })),
      ]),
      gauge('quarry_stray_volumes', 'LVs with our tags that no LogicalVolume names.', [
        ...(this.#strays === undefined ? [] : [{ labels: {}, value: this.#strays }]),
      ]),
      gauge('quarry_last_look_seconds', 'When a look at the host last worked.', [
        ...(this.#lastLookMs === undefined ? [] : [{ labels: {}, value: this.#lastLookMs / 1000 }]),
      ]),
    ];
  }

  #process(): readonly Family[] {
    const { version, nowMs } = this.#parts;
    return [
      single('quarry_build_info', 'The version that runs.', { value: 1, labels: { version } }),
      single('process_resident_memory_bytes', 'Resident memory.', {
        value: process.memoryUsage.rss(),
      }),
      single('process_start_time_seconds', 'When the process started.', {
        value: Math.round(nowMs() / 1000 - process.uptime()),
      }),
    ];
  }
}

const statuses: { readonly [status in RaidHealth['status']]: number } = {
  healthy: 0,
  degraded: 1,
  failed: 2,
};

function gauge(name: string, help: string, samples: Family['samples']): Family {
  return { name, help, type: 'gauge', samples };
}

function single(
  name: string,
  help: string,
  { value, labels = {} }: { readonly value: number; readonly labels?: Labels },
): Family {
  return gauge(name, help, [{ labels, value }]);
}
