import type { Guest } from '../../lab/index.ts';
import type { LvmRuns } from './figures.ts';

const log = '/run/lvm-runs';
const real = '/run/lvm-real';

const script = `#!/bin/sh
echo "$*" >>${log}
exec ${real}/lvm "$@"
`;

/** From now on every run of lvm on this node is noted. It takes time, so nothing is timed then. */
export async function countLvm(guest: Guest): Promise<void> {
  await guest.sh(
    `
    lvm=$(readlink -f /usr/sbin/lvm)
    mkdir -p ${real} && cp $lvm ${real}/lvm
    cat >/run/lvm-noted && chmod 755 /run/lvm-noted
    : >${log}
    mount --bind /run/lvm-noted $lvm`,
    { stdin: script },
  );
}

export async function stopCounting(guest: Guest): Promise<LvmRuns> {
  const lines = (await guest.sh(`cat ${log}; umount $(readlink -f /usr/sbin/lvm)`)).split('\n');
  const changes = lines.filter((line) =>
    /\b(lv|vg|pv)(create|change|extend|resize|remove|convert)\b/.test(line),
  );
  const all = lines.filter((line) => line !== '');
  return { changes: changes.length, looks: all.length - changes.length };
}
