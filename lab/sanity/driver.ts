import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Guest } from '../index.ts';

/** `quarry standalone` in a guest, from the working tree. */
export type Driver = { readonly logFile: string; stop(): Promise<void> };

export const socket = '/run/topolvm/csi-topolvm.sock';

const startTimeoutMs = 60_000;
const foreverMs = 2 ** 31 - 1;

/** Volumes of these classes are small, so nothing has to be kept free for others. */
const lvmdFile = `
device-classes:
  - name: thin
    volume-group: plain
    default: true
    type: thin
    thin-pool: { name: pool, overprovision-ratio: 5.0 }
  - name: linear
    volume-group: plain
    spare-gb: 0
  - name: striped
    volume-group: stripes
    spare-gb: 0
    stripe: 2
  - name: raid1
    volume-group: mirrors
    spare-gb: 0
    lvcreate-options: ["--type=raid1", "--mirrors=1"]
`;

export const classNames = ['thin', 'linear', 'striped', 'raid1'] as const;
export type ClassName = (typeof classNames)[number];

/** lvmd.yaml allows one thick class in each volume group, so there are three. */
const groups = { plain: ['a'], stripes: ['b', 'c'], mirrors: ['d', 'e'] } as const;

export const diskNames: readonly string[] = Object.values(groups).flat();

export async function startDriver(guest: Guest, logDirectory: string): Promise<Driver> {
  for (const [group, disks] of Object.entries(groups)) {
    const paths = await Promise.all(disks.map((disk) => guest.devicePath(disk)));
    await guest.sh(`vgcreate --quiet ${group} ${paths.join(' ')}`);
  }
  await guest.sh('lvcreate --quiet --yes --type thin-pool --size 4g --name pool plain');
  await guest.sh('mkdir -p /etc/topolvm && cat >/etc/topolvm/lvmd.yaml', { stdin: lvmdFile });
  return serve(guest, join(logDirectory, 'driver.log'));
}

async function serve(guest: Guest, logFile: string): Promise<Driver> {
  const log = createWriteStream(logFile);
  const hear = (chunk: Buffer): void => void log.write(chunk);
  const argv = ['/quarry/bin/quarry', 'standalone', '--csi-socket', socket];
  const listen = { onStdout: hear, onStderr: hear, timeoutMs: foreverMs };
  const running = guest.spawn(argv, listen);
  const ended = running.result.then(({ exitCode, signal }) => {
    log.write(`the driver ended with ${exitCode ?? signal}\n`);
    throw new Error(`the driver ended with ${exitCode ?? signal}, see ${logFile}`);
  });
  ended.catch(() => {}); // after its start, csi-sanity notices by itself
  // The socket appears when everything behind it works.
  const wait = `until [ -S ${socket} ]; do sleep 0.1; done`;
  await Promise.race([guest.sh(wait, { timeoutMs: startTimeoutMs }), ended]);
  return {
    logFile,
    stop: async () => {
      running.kill('SIGTERM');
      await running.result.catch(() => undefined);
      log.end();
    },
  };
}
