import { freeExtents, type Lv, sizeBytes, thinVolumesOf } from '../model.ts';
import { displaySize, type Voice } from '../text.ts';

/** What LVM says when more was promised than there is. */
export function warnOfPromises(lv: Lv, voice: Voice): void {
  const own = lv.body.kind === 'thin' ? lv.body.pool : lv.body.kind === 'pool' ? lv : undefined;
  if (own !== undefined && promisedBy([own]) <= sizeBytes(own)) return;
  const pools = lv.vg.lvs.filter((other) => other.body.kind === 'pool');
  const promised = promisedBy(pools);
  const there = pools.reduce((sum, pool) => sum + sizeBytes(pool), 0);
  if (promised <= there) return;
  const hasOthers = pools.some((pool) => pool !== own);
  const where = hasOthers ? 's' : ` ${lv.vg.name}/${own?.name}`;
  const { also, shown } = limitOf(lv, promised, there);
  voice.complain(
    `WARNING: Sum of all thin volume sizes (${displaySize(promised)}) exceeds the size of ` +
      `thin pool${where}${also} (${shown}).`,
  );
  voice.say('WARNING: You have not turned on protection against thin pools running out of space.');
  voice.say(
    'WARNING: Set activation/thin_pool_autoextend_threshold below 100 to trigger automatic ' +
      'extension of thin pools before they get full.',
  );
}

function limitOf({ vg }: Lv, promised: number, there: number) {
  const whole = vg.pvs.reduce((sum, pv) => sum + pv.extents * vg.extentBytes, 0);
  if (whole < promised) {
    return { also: ' and the size of whole volume group', shown: displaySize(whole) };
  }
  const free = freeExtents(vg) * vg.extentBytes;
  if (free === 0) return { also: '', shown: 'no free space in volume group' };
  if (free < promised) {
    return { also: ' and the amount of free space in volume group', shown: displaySize(free) };
  }
  return { also: '', shown: displaySize(there) };
}

function promisedBy(pools: readonly Lv[]): number {
  return pools.flatMap(thinVolumesOf).reduce((sum, thin) => sum + sizeBytes(thin), 0);
}
