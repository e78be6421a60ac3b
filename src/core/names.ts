import { lvNameProblem } from '../api/lv-name.ts';
import { type Blocked, blocked } from '../base/failures.ts';
import { show } from '../base/show.ts';

/** Names that LVM would refuse, or that would mean something else to it. */
export function checkLvName(name: string, vg: string): Blocked | undefined {
  const why = lvNameProblem(name, vg);
  if (why === undefined) return undefined;
  return blocked('InvalidName', `${show(name)} is not a volume name: ${why}`);
}

/** Made and removed at once, so that lvm sends what it still has to say to a thin pool. */
export function messengerName(pool: string): string {
  return `${pool}.messenger`;
}

/** The snapshot that a copied clone reads from; it lives only while the copy runs. */
export function copySourceName(clone: string): string {
  return `${clone}.copy`;
}
