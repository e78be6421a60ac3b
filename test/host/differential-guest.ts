import { spawnSync } from 'node:child_process';
import { realHost } from '../../src/host/host.ts';
import { record } from '../world/differential.ts';

/** In a guest: random moves on real LVM, one sequence for each seed, told as JSON lines. */
const [from = '1', to = '1', length = '20', ...devices] = process.argv.slice(2);
const host = realHost({ prefix: [], path: '/usr/sbin:/usr/bin:/sbin:/bin' });

for (let seed = Number(from); seed <= Number(to); seed += 1) {
  clear();
  const options = { seed, length: Number(length), devices, settle };
  const entries = await record(host, options);
  console.log(JSON.stringify({ seed, entries }));
}

/** Every sequence begins with blank disks. */
function clear(): void {
  sh('for vg in $(lvm vgs --noheadings -o vg_name); do lvm vgremove -ff --yes $vg; done');
  for (const device of devices) sh(`lvm pvremove -ff --yes ${device}; wipefs --all ${device}`);
  sh('udevadm settle');
}

/** udev opens what has just changed; a look in that moment would show it open. */
async function settle(): Promise<void> {
  sh('udevadm settle');
}

function sh(script: string): void {
  spawnSync('sh', ['-c', script], { stdio: 'ignore' });
}
