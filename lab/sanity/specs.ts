import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Guest, MiB } from '../index.ts';
import type { Progress } from '../setup/entry.ts';
import { ensureSanity } from './build.ts';
import { emptyReport, parseReport, type SanityReport, withFailure } from './report.ts';

const program = '/run/csi-sanity';
const runTimeoutMs = 20 * 60_000;

/**
 * Whole stripes of whole extents, because csi-sanity wants exactly what it asked for. Small,
 * because clones of thick volumes are copied.
 */
const volumeBytes = 64n * MiB;
const expandedBytes = 128n * MiB;

/** What the specs call, and on what kind of volume. */
export type Subject = {
  readonly className: string;
  /** The socket of the node service, and of the controller where that is another one. */
  readonly socket: string;
  readonly controllerSocket?: string;
  /** Of the guest, where volumes can be mounted for the node service. */
  readonly directory: string;
  /** Of the host, for what csi-sanity says. */
  readonly logDirectory: string;
  /** How the specs use volumes. */
  readonly access: 'mount' | 'block';
  /** Of the order of the specs; ginkgo chooses one unless told. */
  readonly seed?: string | undefined;
};

/** Puts csi-sanity on a guest, and tells its version. */
export async function bringSanity(guest: Guest, progress: Progress): Promise<string> {
  const { path, version } = await ensureSanity(progress);
  await guest.copyIn(path, program);
  await guest.sh(`chmod 755 ${program}`);
  return version;
}

/** Every spec that a driver's capabilities allow, against volumes of one class. */
export async function runSpecs(guest: Guest, subject: Subject): Promise<SanityReport> {
  const { className, directory, logDirectory } = subject;
  try {
    const parameters = `topolvm.io/device-class: ${className}\n`;
    const place = `mkdir -p ${directory} && cat >${directory}/parameters.yaml`;
    await guest.sh(place, { stdin: parameters });
    const log = createWriteStream(join(logDirectory, `sanity-${className}.log`));
    const hear = (chunk: Buffer): void => void log.write(chunk);
    const listen = { onStdout: hear, onStderr: hear, timeoutMs: runTimeoutMs };
    const { exitCode } = await guest.run(argv(subject), listen).finally(() => void log.end());
    const file = join(logDirectory, `sanity-${className}.json`);
    await guest.copyOut(`${directory}/report.json`, file);
    const report = parseReport(await readFile(file, 'utf8'));
    if (report.passed.length === 0) return withFailure(report, 'csi-sanity', 'no spec passed');
    if (exitCode === 0 || report.failed.length > 0) return report;
    return withFailure(report, 'csi-sanity', `it ended with ${exitCode}`);
  } catch (error) {
    // A guest that went down, or a suite that hangs, shall not hide what the driver said.
    return withFailure(emptyReport, 'csi-sanity', (error as Error).message);
  }
}

function argv({ directory, access, seed, ...sockets }: Subject): readonly string[] {
  const { socket, controllerSocket = socket } = sockets;
  return [
    program,
    ...['--ginkgo.no-color', '--ginkgo.v', `--ginkgo.json-report=${directory}/report.json`],
    ...(seed === undefined ? [] : [`--ginkgo.seed=${seed}`]),
    ...[`--csi.endpoint=unix:${socket}`, `--csi.controllerendpoint=unix:${controllerSocket}`],
    ...[`--csi.mountdir=${directory}/mount`, `--csi.stagingdir=${directory}/staging`],
    ...[`--csi.testvolumesize=${volumeBytes}`, `--csi.testvolumeexpandsize=${expandedBytes}`],
    `--csi.testvolumeparameters=${directory}/parameters.yaml`,
    `--csi.testvolumeaccesstype=${access}`,
  ];
}
