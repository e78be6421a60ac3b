import { readFile } from 'node:fs/promises';
import { GiB, type Guest, type Lab, startLab } from '../index.ts';
import type { Progress } from '../setup/entry.ts';
import { type ClassName, type Driver, diskNames, socket, startDriver } from './driver.ts';
import { type SanityReport, withFailure } from './report.ts';
import { bringSanity, runSpecs } from './specs.ts';

export { type ClassName, classNames } from './driver.ts';
export { countsOf, type SanityReport, showCounts, skipsByReason } from './report.ts';
export { bringSanity, runSpecs } from './specs.ts';

export type SanityOptions = {
  readonly progress: Progress;
  /** How the specs use volumes; as file systems unless told. */
  readonly access?: 'mount' | 'block' | undefined;
  /** Of the order of the specs; ginkgo chooses one unless told. */
  readonly seed?: string | undefined;
};

/** A guest with volume groups and the driver, and csi-sanity beside it. */
export async function startSanity(options: SanityOptions): Promise<Sanity> {
  const { progress } = options;
  const disks = diskNames.map((name) => ({ name, sizeBytes: 8n * GiB }));
  const lab = await startLab({ guests: [{ name: 'n1', disks }], progress });
  try {
    const guest = lab.guest('n1');
    const version = await bringSanity(guest, progress);
    const driver = await startDriver(guest, lab.logDirectory);
    return new Sanity({ lab, guest, driver, version, options });
  } catch (error) {
    await lab.stop();
    throw error;
  }
}

type Parts = {
  readonly lab: Lab;
  readonly guest: Guest;
  readonly driver: Driver;
  readonly version: string;
  readonly options: SanityOptions;
};

export class Sanity {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  get version(): string {
    return this.#parts.version;
  }

  get logDirectory(): string {
    return this.#parts.lab.logDirectory;
  }

  /** Every spec against volumes of one class. What is left behind afterwards is a failure too. */
  async run(className: ClassName): Promise<SanityReport> {
    const { guest, lab, options } = this.#parts;
    const { access = 'mount', seed } = options;
    const report = await runSpecs(guest, {
      ...{ className, socket, access, seed },
      directory: `/run/sanity-${className}`,
      logDirectory: lab.logDirectory,
    });
    const left = await leftBehind(guest).catch(String);
    return left === '' ? report : withFailure(report, 'nothing is left behind', left);
  }

  async driverTail(lines: number): Promise<string> {
    const text = await readFile(this.#parts.driver.logFile, 'utf8');
    return text.trimEnd().split('\n').slice(-lines).join('\n');
  }

  async stop(): Promise<void> {
    const { driver, lab } = this.#parts;
    if (lab.guest('n1').running) await driver.stop();
    await lab.stop();
  }
}

/** Volumes and mounts that outlived the specs, one line for each. */
async function leftBehind(guest: Guest): Promise<string> {
  const lvs = await guest.sh("lvs --noheadings --options vg_name,lv_name --select 'lv_name!=pool'");
  const mounts = await guest.sh('grep -E "^/dev/mapper/| /run/sanity-" /proc/mounts || true');
  return [...lvs.split('\n'), ...mounts.split('\n')]
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join('\n');
}
