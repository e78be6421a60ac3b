import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GiB, type Guest, type Lab, MiB, startLab } from '../index.ts';
import type { Progress } from '../setup/entry.ts';
import { ensureSanity } from './build.ts';
import { type ClassName, type Driver, diskNames, socket, startDriver } from './driver.ts';
import { emptyReport, parseReport, type SanityReport, withFailure } from './report.ts';

export { type ClassName, classNames } from './driver.ts';
export { countsOf, type SanityReport, showCounts, skipsByReason } from './report.ts';

const program = '/run/csi-sanity';
const runTimeoutMs = 20 * 60_000;

/**
 * Whole stripes of whole extents, because csi-sanity wants exactly what it asked for. Small,
 * because clones of thick volumes are copied.
 */
const volumeBytes = 64n * MiB;
const expandedBytes = 128n * MiB;

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
  const { path, version } = await ensureSanity(progress);
  const disks = diskNames.map((name) => ({ name, sizeBytes: 8n * GiB }));
  const lab = await startLab({ guests: [{ name: 'n1', disks }], progress });
  try {
    const guest = lab.guest('n1');
    await guest.copyIn(path, program);
    await guest.sh(`chmod 755 ${program}`);
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
    try {
      const report = await this.#report(className);
      const left = await leftBehind(this.#parts.guest);
      return left === '' ? report : withFailure(report, 'nothing is left behind', left);
    } catch (error) {
      // A guest that went down, or a suite that hangs, shall not hide what the driver said.
      return withFailure(emptyReport, 'csi-sanity', (error as Error).message);
    }
  }

  async #report(className: ClassName): Promise<SanityReport> {
    const { guest, lab } = this.#parts;
    const inGuest = `/run/sanity-${className}`;
    const parameters = `topolvm.io/device-class: ${className}\n`;
    await guest.sh(`mkdir ${inGuest} && cat >${inGuest}/parameters.yaml`, { stdin: parameters });
    const log = createWriteStream(join(lab.logDirectory, `sanity-${className}.log`));
    const hear = (chunk: Buffer): void => void log.write(chunk);
    const listen = { onStdout: hear, onStderr: hear, timeoutMs: runTimeoutMs };
    const { exitCode } = await guest.run(this.#argv(inGuest), listen).finally(() => void log.end());
    const file = join(lab.logDirectory, `sanity-${className}.json`);
    await guest.copyOut(`${inGuest}/report.json`, file);
    const report = parseReport(await readFile(file, 'utf8'));
    if (report.passed.length === 0) return withFailure(report, 'csi-sanity', 'no spec passed');
    if (exitCode === 0 || report.failed.length > 0) return report;
    return withFailure(report, 'csi-sanity', `it ended with ${exitCode}`);
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

  #argv(directory: string): readonly string[] {
    const { seed, access = 'mount' } = this.#parts.options;
    return [
      program,
      ...['--ginkgo.no-color', '--ginkgo.v', `--ginkgo.json-report=${directory}/report.json`],
      ...(seed === undefined ? [] : [`--ginkgo.seed=${seed}`]),
      `--csi.endpoint=unix:${socket}`,
      ...[`--csi.mountdir=${directory}/mount`, `--csi.stagingdir=${directory}/staging`],
      ...[`--csi.testvolumesize=${volumeBytes}`, `--csi.testvolumeexpandsize=${expandedBytes}`],
      `--csi.testvolumeparameters=${directory}/parameters.yaml`,
      `--csi.testvolumeaccesstype=${access}`,
    ];
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
