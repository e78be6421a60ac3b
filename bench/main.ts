import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { GiB, type Guest, startLab } from '../lab/index.ts';
import { ensurePeer } from '../lab/peer/build.ts';
import { limits } from '../src/base/limits.ts';
import { bundle } from '../tools/bundle.ts';
import { stripedGroup } from './driver.ts';
import type { Figures, Options } from './figures.ts';
import { group, pool } from './peers.ts';
import { showFigures } from './tables.ts';

/**
 * `quarry standalone` in a guest, measured at its CSI socket, beside the bare lvm commands and
 * TopoLVM's lvmd, measured at its own socket.
 *
 *   node bench/main.ts [--rounds 5] [--volumes 500]
 */
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    volumes: { type: 'string', default: '500' },
  },
});
const options = optionsOf(whole(values.rounds), whole(values.volumes));
const timeoutMs = 3_600_000;
const bundleName = 'build/bench/quarry.cjs';

await bundle(join(import.meta.dirname, '..', bundleName));
const disks = [
  { name: 'data', sizeBytes: 64n * GiB },
  { name: 'raw', sizeBytes: 4n * GiB },
  { name: 'stripe1', sizeBytes: 4n * GiB },
  { name: 'stripe2', sizeBytes: 4n * GiB },
];
const topolvm = await ensurePeer('hypertopolvm', (line) => process.stderr.write(`lab: ${line}\n`));
const topolvmInGuest = '/run/hypertopolvm';
const startedAtMs = performance.now();
// A hundred calls at once are a hundred runs of lvm at once with lvmd, and each knows all volumes.
const memoryMiB = 6_144;
const lab = await startLab({ guests: [{ name: 'n1', disks, memoryMiB }] });
try {
  const guest = lab.guest('n1');
  await prepare(guest);
  const figures = await measure(guest);
  const minutes = ((performance.now() - startedAtMs) / 60_000).toFixed(0);
  const kernel = (await guest.sh('uname -r')).trim();
  const lvm = /LVM version:\s+(\S+)/.exec(await guest.sh('lvm version'))?.[1] ?? 'unknown';
  const versions = `Linux ${kernel}, lvm2 ${lvm}, TopoLVM ${topolvm.version}`;
  console.log(`one ${lab.kind} guest, ${versions}: ${minutes} minutes\n`);
  console.log(showFigures(figures, options));
} finally {
  await lab.stop();
}

function optionsOf(rounds: number, volumes: number): Options {
  const levels = [0, Math.ceil(volumes / 5), volumes];
  return { rounds, levels, atOnce: Math.min(100, volumes), fioRounds: Math.min(7, rounds) };
}

function whole(text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  console.error(`a whole number above zero is needed, not ${text}`);
  process.exit(2);
}

/** Groups as Quarry makes them. */
async function prepare(guest: Guest): Promise<void> {
  const make = async (vg: string, ...names: readonly string[]) => {
    const paths = await Promise.all(names.map((name) => guest.devicePath(name)));
    await guest.sh(
      `lvm vgcreate --metadatasize ${limits.vgMetadataBytes}b ${vg} ${paths.join(' ')}`,
    );
  };
  for (const { name } of disks) {
    const device = basename(await guest.devicePath(name));
    // Larger answers overflow the lab's network: reads of 1 MiB would wait for it to send again.
    await guest.sh(`echo 128 >/sys/block/${device}/queue/max_sectors_kb`);
  }
  await guest.copyIn(topolvm.path, topolvmInGuest);
  await guest.sh(`chmod 755 ${topolvmInGuest}`);
  await make(group, 'data');
  await make(stripedGroup, 'stripe1', 'stripe2');
  await guest.sh(`lvm lvcreate --yes --type thin-pool --size 8g --name ${pool} ${group}`);
}

async function measure(guest: Guest): Promise<Figures> {
  const node = (await guest.sh('ls -d /quarry/node_modules/node-linux-*/bin/node')).trim();
  const words = [node, '/quarry/bench/in-guest.ts', `/quarry/${bundleName}`, topolvmInGuest];
  const argv = [...words, await guest.devicePath('raw'), JSON.stringify(options)];
  const onStderr = (chunk: Buffer) => void process.stderr.write(chunk);
  const run = await guest.run(argv, { timeoutMs, onStderr });
  if (run.exitCode !== 0) throw new Error(`the bench ended with ${run.exitCode}: ${run.stderr}`);
  return JSON.parse(run.stdout) as Figures;
}
