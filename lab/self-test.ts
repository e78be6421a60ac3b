import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { cacheDirectory } from './cache.ts';
import type { Lab, LabSpec } from './lab.ts';
import { MiB } from './spec.ts';

export type Verdict = {
  readonly works: boolean;
  readonly reason: string;
  /** Remove this file to have it tried again. */
  readonly keptIn: string;
};

/** What failed on some machine: process starts, device mapper, overlay mounts, powering off. */
const script = `set -e
for i in $(seq 50); do /bin/true; done
vgcreate --quiet --quiet selftest "$1"
lvcreate --quiet --quiet --type thin-pool --size 64m --name pool selftest
lvcreate --quiet --quiet --thinpool pool --virtualsize 128m --name thin selftest
mkdir /tmp/lower /tmp/upper /tmp/merged
mount -t tmpfs tmpfs /tmp/upper
mkdir /tmp/upper/u /tmp/upper/w
mount -t overlay -o lowerdir=/tmp/lower,upperdir=/tmp/upper/u,workdir=/tmp/upper/w o /tmp/merged
touch /tmp/merged/written
`;

/** What a trial needs of the lab. */
export type TrialLab = {
  /** Packages, kernel and root file system. That these cannot be had says nothing of a machine. */
  setUp(): Promise<unknown>;
  start(spec: LabSpec): Promise<Lab>;
};

/**
 * Whether user-mode Linux runs on this machine. It depends on the CPU and on the host's kernel, so
 * it is tried once and the verdict is kept for exactly this combination.
 */
export async function umlVerdict(umlVersion: string, lab: TrialLab): Promise<Verdict> {
  const [cpu = ''] = (await readFile('/proc/cpuinfo', 'utf8')).split('\n\n');
  // The other lines hold clock rates, which change by the moment.
  const stable = cpu.split('\n').filter((line) => /^(vendor_id|model|cpu family|flags)/.test(line));
  const inputs = JSON.stringify([stable, release(), umlVersion, script]);
  const key = createHash('sha256').update(inputs).digest('hex').slice(0, 12);
  const path = join(await cacheDirectory(), `uml-verdict-${key}.json`);
  const kept = await readFile(path, 'utf8').catch(() => undefined);
  if (kept !== undefined) return { ...(JSON.parse(kept) as Trial), keptIn: path };
  await lab.setUp();
  // A busy machine may fail once; a machine that cannot do it fails twice.
  const first = await tryUml(lab);
  const verdict = first.works ? first : await tryUml(lab);
  await writeFile(`${path}.${process.pid}`, `${JSON.stringify(verdict)}\n`);
  await rename(`${path}.${process.pid}`, path);
  return { ...verdict, keptIn: path };
}

type Trial = Omit<Verdict, 'keptIn'>;

async function tryUml({ start }: TrialLab): Promise<Trial> {
  let lab: Lab | undefined;
  try {
    const disks = [{ name: 'disk', sizeBytes: 256n * MiB }];
    lab = await start({ kind: 'uml', guests: [{ name: 'selftest', disks }] });
    const [guest] = lab.guests;
    if (guest === undefined) throw new Error('no guest came up');
    const device = await guest.devicePath('disk');
    await guest.sh(`set -- ${device}\n${script}`, { timeoutMs: 60_000 });
    await guest.powerOff();
    return { works: true, reason: 'the self test passed' };
  } catch (error) {
    return { works: false, reason: String(error) };
  } finally {
    await lab?.stop();
  }
}
