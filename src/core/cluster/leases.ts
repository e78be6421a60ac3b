import type { ClusterNames } from './names.ts';

/** LVMS' name, so that neither acts while the other does. */
export const ourLease = '1136b8a6.topolvm.io';

/**
 * Those who did our work before: TopoLVM's controller and the sidecars beside it. While one of them
 * holds its lease it still acts, whatever became of the objects that started it.
 */
export function oldLeases({ driver }: ClusterNames): readonly string[] {
  const dashed = driver.replace(/[^A-Za-z0-9]/g, '-');
  return [
    'topolvm',
    dashed,
    `external-resizer-${dashed}`,
    `external-snapshotter-leader-${dashed}`,
    `external-health-monitor-leader-${driver}`,
  ];
}

/** All that somebody may hold who does what we do, in whatever namespace it runs. */
export function rivalLeases(names: ClusterNames): readonly string[] {
  return [ourLease, ...oldLeases(names)];
}
