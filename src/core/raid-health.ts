import type { ObservedVg } from './observed.ts';

/** How the RAID volumes of a group are, as LVMS tells it. */
export type RaidHealth = {
  readonly status: 'healthy' | 'degraded' | 'failed';
  readonly members: number;
  readonly missingMembers: number;
  /** Of the volume that is furthest behind; nothing where LVM cannot tell. */
  readonly syncPercent: number | undefined;
};

/** Nothing in a group without a RAID volume. */
export function raidHealth(vg: ObservedVg): RaidHealth | undefined {
  const raids = vg.lvs.filter((lv) => lv.kind.startsWith('raid') && !lv.isInternal);
  if (raids.length === 0) return undefined;
  const missingMembers = vg.pvs.filter((pv) => pv.isMissing).length;
  const failed = raids.filter(({ health }) => health !== '' && health !== 'partial').length;
  const isDegraded = missingMembers > 0 || raids.some(({ health }) => health !== '');
  const percents = raids.flatMap(({ syncPercent }) => syncPercent ?? []);
  return {
    status: failed === raids.length ? 'failed' : isDegraded ? 'degraded' : 'healthy',
    members: vg.pvs.length,
    missingMembers,
    syncPercent: percents.length === 0 ? undefined : Math.min(...percents),
  };
}
