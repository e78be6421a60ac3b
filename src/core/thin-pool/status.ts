import { type Bytes, noBytes } from '../../base/bytes.ts';
import { limits } from '../../base/limits.ts';
import { showBytes } from '../../base/show.ts';
import {
  findLv,
  findVg,
  type ObservedHost,
  type ObservedLv,
  type ObservedVg,
} from '../observed.ts';
import { addressable, type DesiredThinPool, metadataWish, shapeOfPool } from './desired.ts';
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

/** From where on it takes nothing new. */
export function poolComplaint(pool: ObservedLv): string {
  if (pool.health === 'out_of_data') return `ThinPoolFull: ${pool.health}`;
  if (pool.health !== '') return `ThinPoolUnhealthy: ${pool.health}`;
  if (fillOf(pool) < limits.thinPoolFullPercent) return '';
  return `ThinPoolFull: ${fillText(pool)}: it takes nothing new`;
}

/** What stops nothing yet. */
export function poolWarnings(desired: DesiredThinPool, vg: ObservedVg): readonly string[] {
  const pool = findLv(vg, desired.name);
  const texts = [
    ...(pool === undefined ? [] : [fillWarning(pool), metadataWarning(desired, vg, pool)]),
    chunkWarning(desired, vg, pool),
  ];
  return texts.flatMap((text) => text ?? []);
}

/** Nobody can change it. It is only not as it was asked for. */
function chunkWarning(desired: DesiredThinPool, vg: ObservedVg, pool: ObservedLv | undefined) {
  const { chunkSizeBytes: asked } = desired;
  const { chunkSizeBytes: made } = pool ?? shapeOfPool(desired, vg);
  if (asked === undefined || made === undefined || made <= asked) return undefined;
  const verb = pool === undefined ? 'gets' : 'has';
  return (
    `${verb} chunks of ${showBytes(made)}, not of ${showBytes(asked)} as asked for: with those ` +
    `it could have ${showBytes(addressable(asked))} at most`
  );
}

function fillWarning(pool: ObservedLv): string | undefined {
  const fill = fillOf(pool);
  if (fill < limits.thinPoolWarnPercent || fill >= limits.thinPoolFullPercent) return undefined;
  return `is filling: ${fillText(pool)}; delete volumes, or add devices to its group`;
}

/** It stays as it is, and nothing else would tell so. */
function metadataWarning(desired: DesiredThinPool, vg: ObservedVg, pool: ObservedLv) {
  const wish = metadataWish(desired, vg, pool);
  if (wish === undefined || wish.lacking === noBytes) return undefined;
  const { present, wanted, takes, lacking } = wish;
  return (
    `has ${showBytes(present)} of metadata, and ${showBytes(wanted)} are wanted: with its spare ` +
    `copy that takes ${showBytes(takes)}, ${showBytes(lacking)} more than is free; add devices ` +
    'to its group'
  );
}

function fillOf({ dataPercent = 0, metadataPercent = 0 }: ObservedLv): number {
  return Math.max(dataPercent, metadataPercent);
}

/** In whole percent: a text that changes with every write would be told with every write. */
function fillText({ dataPercent = 0, metadataPercent = 0 }: ObservedLv): string {
  return `data ${Math.floor(dataPercent)} %, metadata ${Math.floor(metadataPercent)} % full`;
}
