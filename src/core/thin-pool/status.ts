import type { Bytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { findLv, findVg, type ObservedHost, type ObservedLv } from '../observed.ts';
import type { DesiredThinPool } from './desired.ts';
import { planThinPool } from './plan.ts';

export type ThinPoolStatus = {
  readonly name: string;
  readonly state: 'Ready' | 'Progressing' | 'Degraded' | 'Failed' | 'Absent';
  readonly reason: string;
  readonly sizeBytes: Bytes | undefined;
  readonly dataPercent: number | undefined;
  readonly metadataPercent: number | undefined;
};

export function thinPoolStatus(desired: DesiredThinPool, host: ObservedHost): ThinPoolStatus {
  const vg = findVg(host, desired.vg);
  const pool = vg === undefined ? undefined : findLv(vg, desired.name);
  const common = {
    name: `${desired.vg}/${desired.name}`,
    sizeBytes: pool?.sizeBytes,
    dataPercent: pool?.dataPercent,
    metadataPercent: pool?.metadataPercent,
  };
  const decision = planThinPool(desired, host);
  switch (decision.kind) {
    case 'step':
      return { ...common, state: 'Progressing', reason: `next: ${decision.step.kind}` };
    case 'blocked': {
      const state = pool === undefined ? 'Failed' : 'Degraded';
      return { ...common, state, reason: `${decision.code}: ${decision.message}` };
    }
    case 'rest': {
      if (pool === undefined) return { ...common, state: 'Absent', reason: '' };
      const complaint = poolComplaint(pool);
      return { ...common, state: complaint === '' ? 'Ready' : 'Degraded', reason: complaint };
    }
  }
}

/** Is a pool that is told of in these words filling up? The texts of `poolComplaint`. */
export function tellsOfFill(text: string): boolean {
  return /^data [\d.]+ %, metadata [\d.]+ % full$|^out_of_data$/.test(text);
}

export function poolComplaint(pool: ObservedLv): string {
  if (pool.health !== '') return pool.health;
  const fill = Math.max(pool.dataPercent ?? 0, pool.metadataPercent ?? 0);
  if (fill < limits.thinPoolWarnPercent) return '';
  return `data ${pool.dataPercent ?? 0} %, metadata ${pool.metadataPercent ?? 0} % full`;
}
