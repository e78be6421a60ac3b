import type { CallEvent } from '../csi/call.ts';
import {
  Counter,
  type Family,
  Histogram,
  renderFamilies,
  type Sample,
} from '../process/registry.ts';
import type { Stores } from './duty.ts';
import type { Ended } from './endings.ts';

export type OperatorFigures = {
  readonly version: string;
  readonly stores: Stores;
  readonly isLeading: () => boolean;
  readonly droppedEvents: () => number;
  /** Volumes that nobody seems to have, by what they are. */
  readonly orphans: () => readonly { readonly reason: string; readonly count: number }[];
  readonly nowMs: () => number;
};

/** Who calls hears no more than a status: these say that it was not he. */
const ourFault: readonly CallEvent['code'][] = [
  'INTERNAL',
  'UNKNOWN',
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'DATA_LOSS',
  'UNIMPLEMENTED',
];

/** What happened is counted when it happens; how things are is read off when somebody asks. */
export class OperatorMetrics {
  readonly #figures: OperatorFigures;
  readonly #operations = new Counter({
    name: 'quarry_operations_total',
    help: 'Calls that ended, and what is done for claims and snapshots without one, by method and gRPC status.',
  });
  readonly #failures = new Counter({
    name: 'quarry_failures_total',
    help: 'What was tried for claims and snapshots and failed, by method and by whose fault.',
  });
  readonly #seconds = new Histogram({
    name: 'quarry_operation_duration_seconds',
    help: 'How long calls took, and how long claims and snapshots waited for what was done, by method.',
  });
  readonly #troubles = new Counter({
    name: 'quarry_cluster_trouble_total',
    help: 'Requests to the API server that failed and are tried again, by what was asked for.',
  });

  constructor(figures: OperatorFigures) {
    this.#figures = figures;
  }

  called({ method, code, durationMs }: CallEvent): void {
    const name = method.replace(/^\//, '');
    this.#operations.inc({ method: name, code });
    if (ourFault.includes(code)) this.#failures.inc({ method: name, fault: 'system' });
    this.#seconds.observe({ method: name }, durationMs / 1000);
  }

  ended({ method, code, fault, seconds }: Ended): void {
    this.#operations.inc({ method, code });
    if (fault !== undefined) this.#failures.inc({ method, fault });
    if (seconds !== undefined) this.#seconds.observe({ method }, seconds);
  }

  troubled(what: string): void {
    this.#troubles.inc({ what });
  }

  text(): string {
    return renderFamilies(this.families());
  }

  families(): readonly Family[] {
    const counted = [this.#operations, this.#failures, this.#seconds, this.#troubles];
    return [...counted.map((one) => one.family()), ...this.#now()];
  }

  #now(): readonly Family[] {
    const { version, stores, isLeading, droppedEvents, orphans, nowMs } = this.#figures;
    const objects = Object.entries(stores).map(([kind, { size }]) => ({
      ...{ labels: { kind }, value: size },
    }));
    return [
      gauge('quarry_leader', '1: this instance leads.', [one(isLeading() ? 1 : 0)]),
      gauge('quarry_objects', 'Objects that are watched, by kind.', objects),
      gauge(
        'quarry_orphan_volumes',
        'LogicalVolumes that no claim, PersistentVolume or snapshot has, by reason.',
        orphans().map(({ reason, count }) => ({ labels: { reason }, value: count })),
      ),
      gauge('quarry_events_dropped', 'Events that were told to nobody since the start.', [
        one(droppedEvents()),
      ]),
      gauge('quarry_build_info', 'The version that runs.', [{ labels: { version }, value: 1 }]),
      gauge('process_resident_memory_bytes', 'Resident memory.', [one(process.memoryUsage.rss())]),
      gauge('process_start_time_seconds', 'When the process started.', [
        one(Math.round(nowMs() / 1000 - process.uptime())),
      ]),
    ];
  }
}

function one(value: number): Sample {
  return { labels: {}, value };
}

function gauge(name: string, help: string, samples: readonly Sample[]): Family {
  return { name, help, type: 'gauge', samples };
}
