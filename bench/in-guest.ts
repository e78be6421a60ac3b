import { bytes, MiB } from '../src/base/bytes.ts';
import type { DeviceClass } from '../src/core/device-class.ts';
import { desiredSnapshot } from '../src/core/snapshot/desired.ts';
import { isBlocked } from '../src/core/usable-vg.ts';
import { absentVolume, desiredVolume } from '../src/core/volume/desired.ts';
import { Engine } from '../src/engine/engine.ts';
import type { Outcome } from '../src/engine/job.ts';
import type { Host } from '../src/engine/ports.ts';
import { snapshotTask, volumeTask } from '../src/engine/tasks.ts';
import { realClock } from '../src/host/clock.ts';
import { realHost } from '../src/host/host.ts';
import type { Command } from '../src/lvm/command.ts';

/**
 * Runs in a guest on a volume group `vg` with a thin pool `pool`: each operation through the
 * engine, and beside it the bare lvm command in a loop, in turn, so that both meet the same noise.
 */
const rounds = Number(process.argv[2] ?? '15');
const inner = realHost({ prefix: [], path: '/usr/sbin:/usr/bin:/sbin:/bin' });
let spawns: string[] = [];
const host: Host = {
  ...inner,
  start: (command, signal) => {
    spawns.push(command.argv[1] ?? '');
    return inner.start(command, signal);
  },
};
const engine = new Engine({ host, clock: realClock, trace: () => undefined });

const classOf = (layout: DeviceClass['layout']): DeviceClass => ({
  name: layout.kind,
  vg: 'vg',
  isDefault: false,
  layout,
  spareBytes: bytes(0),
  overprovisionRatio: 100,
  lvcreateOptions: [],
});
const classes = [classOf({ kind: 'linear' }), classOf({ kind: 'thin', pool: 'pool' })];

export type Line = {
  readonly operation: string;
  readonly ourMs: number;
  readonly bareMs: number;
  readonly lvmRuns: string;
};

const lines: Line[] = [];
for (const deviceClass of classes) await measureClass(deviceClass);
lines.push(await measureBurst());
console.log(JSON.stringify(lines));

async function measureClass(deviceClass: DeviceClass): Promise<void> {
  const { name } = deviceClass;
  const thin = name === 'thin';
  const size = thin ? ['--virtualsize', '16m', '--thinpool', 'pool'] : ['--size', '16m'];
  const reserve = thin ? ['--setactivationskip', 'n'] : ['--size', '64m'];
  const times = new Map<string, { ours: number[]; bare: number[]; runs: string }>();
  const note = (operation: string, ours: number, bare: number, runs: string) => {
    const entry = times.get(operation) ?? { ours: [], bare: [], runs };
    entry.ours.push(ours);
    entry.bare.push(bare);
    times.set(operation, entry);
  };
  await engine.observe();
  for (let round = 0; round < rounds; round += 1) {
    const [ours, theirs] = [`o${round}`, `b${round}`];
    const steps: readonly (readonly [string, () => Promise<unknown>, readonly string[]])[] = [
      [
        'create',
        () => create(deviceClass, ours, 16n),
        ['lvcreate', ...size, '--name', theirs, 'vg'],
      ],
      [
        'expand',
        () => create(deviceClass, ours, 32n),
        ['lvextend', '--size', '32m', `vg/${theirs}`],
      ],
      [
        'snapshot',
        () => snapshot(deviceClass, `${ours}s`, ours),
        ['lvcreate', '--snapshot', ...reserve, '--name', `${theirs}s`, `vg/${theirs}`],
      ],
      ['delete', () => remove(`${ours}s`), ['lvremove', `vg/${theirs}s`]],
    ];
    for (const [operation, our, bare] of steps) {
      spawns = [];
      const ourMs = await clocked(our);
      const runs = spawns.join(' + ');
      note(operation, ourMs, await clocked(() => lvm(['--yes', ...bare])), runs);
      await engine.observe();
    }
    await remove(ours);
    await lvm(['--yes', 'lvremove', `vg/${theirs}`]);
    await engine.observe();
  }
  for (const [operation, { ours, bare, runs }] of times) {
    const label = `${operation} ${name}`;
    lines.push({ operation: label, ourMs: median(ours), bareMs: median(bare), lvmRuns: runs });
  }
}

/** Ten creates asked for at once, beside ten bare lvcreates one after the other. */
async function measureBurst(): Promise<Line> {
  const [linear] = classes;
  if (linear === undefined) throw new Error('no class');
  const count = 10;
  const names = Array.from({ length: count }, (_, index) => `burst${index}`);
  spawns = [];
  const ourMs = await clocked(() => Promise.all(names.map((name) => create(linear, name, 16n))));
  const runs = spawns.length;
  for (const name of names) await remove(name);
  const bareMs = await clocked(async () => {
    for (const name of names)
      await lvm(['--yes', 'lvcreate', '--size', '16m', '--name', name, 'vg']);
  });
  for (const name of names) await lvm(['--yes', 'lvremove', `vg/${name}`]);
  return { operation: `${count} creates at once`, ourMs, bareMs, lvmRuns: `${runs} in all` };
}

async function create(deviceClass: DeviceClass, name: string, mib: bigint): Promise<void> {
  const sizeBytes = bytes(mib * MiB);
  const wanted = desiredVolume({ name, className: deviceClass.name, sizeBytes }, classes);
  if (isBlocked(wanted)) throw new Error(wanted.message);
  settled(await engine.submit(volumeTask(wanted)));
}

async function snapshot(deviceClass: DeviceClass, name: string, source: string): Promise<void> {
  const wanted = desiredSnapshot({ name, source, deviceClass });
  if (isBlocked(wanted)) throw new Error(wanted.message);
  settled(await engine.submit(snapshotTask(wanted)));
}

async function remove(name: string): Promise<void> {
  settled(await engine.submit(volumeTask(absentVolume('vg', name))));
}

function settled(outcome: Outcome<unknown>): void {
  if (outcome.kind === 'blocked') throw new Error(`${outcome.code}: ${outcome.message}`);
}

/** `lvm SUBCOMMAND --yes ...`: the flag is written first above only to keep the lists short. */
async function lvm([yes = '', command = '', ...rest]: readonly string[]): Promise<void> {
  const argv: Command['argv'] = ['lvm', command, yes, ...rest];
  const running = inner.start({ argv, effect: 'changes', timeoutMs: 60_000 });
  const result = await running.result;
  if (result.exitCode !== 0) throw new Error(`${argv.join(' ')}: ${result.stderr}`);
}

async function clocked(work: () => Promise<unknown>): Promise<number> {
  const startedAtMs = performance.now();
  await work();
  return performance.now() - startedAtMs;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}
