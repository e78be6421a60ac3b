import { type Lv, sizeBytes, thinVolumesOf, type Vg } from '../model.ts';
import { displaySize } from '../text.ts';

/** What LVM says when more was promised than there is. */
export function overprovisioned(lv: Lv): readonly string[] {
  const pool = lv.body.kind === 'thin' ? lv.body.pool : lv.body.kind === 'pool' ? lv : undefined;
  const pools = pool === undefined ? lv.vg.lvs.filter(isPool) : [pool];
  const promised = pools.flatMap(thinVolumesOf).reduce((sum, thin) => sum + sizeBytes(thin), 0);
  const there = pools.reduce((sum, candidate) => sum + sizeBytes(candidate), 0);
  if (promised <= there) return [];
  const where = pool === undefined ? 'thin pools' : `thin pool ${lv.vg.name}/${pool.name}`;
  return [
    `WARNING: Sum of all thin volume sizes (${displaySize(promised)}) exceeds the size of ` +
      `${where}${beyondGroup(lv.vg, promised)} (${displaySize(there)}).`,
    'WARNING: You have not turned on protection against thin pools running out of space.',
    'WARNING: Set activation/thin_pool_autoextend_threshold below 100 to trigger automatic ' +
      'extension of thin pools before they get full.',
  ];
}

function beyondGroup(vg: Vg, promised: number): string {
  const whole = vg.pvs.reduce((sum, pv) => sum + pv.extents * vg.extentBytes, 0);
  return promised > whole ? ' and the size of whole volume group' : '';
}

function isPool(lv: Lv): boolean {
  return lv.body.kind === 'pool';
}
