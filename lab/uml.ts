import { openSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Namespace } from './host/namespace.ts';
import { spawnOwned } from './host/owned.ts';
import type { Machine } from './machine.ts';
import type { Link } from './network.ts';
import type { Suite } from './spec.ts';

export type UmlBoot = {
  readonly name: string;
  readonly suite: Suite;
  readonly memoryMiB: number;
  readonly raid6: boolean;
  readonly network: Link;
  /** The way to the disks; cutting the network leaves it alone. */
  readonly storage: Link;
  readonly consoleLog: string;
};

/** Where things are inside the chroot that UML runs in; see `umlMounts`. */
const inside = {
  kernel: '/lab/uml/usr/bin/linux.uml',
  project: '/lab/quarry',
  state: '/lab/state',
  rootOf: (suite: Suite) => `/lab/root-${suite}`,
} as const;

/**
 * The mounts UML needs. It runs chrooted in the newest root file system because it needs a newer
 * libc (2.38) than the host may have. hostfs shows the guest what the UML process itself sees, so
 * the guest's roots, the project and the lab's state are bound below one directory there.
 */
export function umlMounts(paths: {
  readonly libcRoot: string;
  readonly kernel: string;
  readonly project: string;
  readonly state: string;
  readonly roots: ReadonlyMap<Suite, string>;
}): readonly (readonly string[])[] {
  const lab = join(paths.libcRoot, 'lab');
  const bind = (from: string, to: string): readonly string[][] => [
    ['mkdir', '-p', to],
    ['mount', '--bind', '-o', 'ro', from, to],
  ];
  const roots = [...paths.roots].flatMap(([suite, root]) => {
    const to = join(paths.libcRoot, inside.rootOf(suite));
    return [
      ...bind(root, to),
      [
        'mount',
        '--bind',
        '-o',
        'ro',
        `${paths.kernel}/usr/lib/uml/modules`,
        `${to}/usr/lib/modules`,
      ],
      // The kernel looks for the first program before anything is mounted.
      ['mount', '--bind', '-o', 'ro', paths.project, `${to}/quarry`],
    ];
  });
  return [
    ['mount', '--rbind', '/dev', join(paths.libcRoot, 'dev')],
    ['mount', '-t', 'proc', 'proc', join(paths.libcRoot, 'proc')],
    ['mount', '-t', 'tmpfs', '-o', 'mode=755', 'lab', lab],
    ...bind(paths.kernel, join(lab, 'uml')),
    ...bind(paths.project, join(lab, 'quarry')),
    ...roots,
    ['mkdir', join(lab, 'state')],
    ['mount', '--bind', paths.state, join(lab, 'state')],
  ];
}

export function bootUml(namespace: Namespace, libcRoot: string, boot: UmlBoot): Machine {
  const log = openSync(boot.consoleLog, 'a');
  const argv = namespace.enter(['chroot', libcRoot, inside.kernel, ...umlArguments(boot)]);
  const child = spawnOwned(argv, {
    stdio: ['ignore', log, log, 'pipe'],
    // UML maps guest memory from an unlinked file here; on a disk it would be written back.
    env: { TMPDIR: '/dev/shm', HOME: inside.state },
  });
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const signalAll = (signal: NodeJS.Signals): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, signal);
    } catch {
      // It has ended by itself.
    }
  };
  return {
    channel: child.stdio[3] as Socket,
    exited,
    kill: () => signalAll('SIGKILL'),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
    // The guest asks for its disks over the storage link.
    plug: async () => {},
    unplug: async () => {},
  };
}

function umlArguments(boot: UmlBoot): readonly string[] {
  const vector = (link: Link): string =>
    `transport=tap,ifname=${link.tap},depth=64,gro=1,mac=${link.mac}`;
  return [
    ...['rootfstype=hostfs', `rootflags=${inside.rootOf(boot.suite)}`, 'ro'],
    'init=/quarry/lab/guest/init',
    `mem=${boot.memoryMiB}M`,
    // Less work for each process start than ptrace; the guest is trusted.
    'seccomp=on',
    ...['con=null', 'con0=fd:0,fd:1', 'ssl=null', 'ssl0=fd:3', 'quiet'],
    // Half of the boot time goes into measuring ways to compute RAID 6 parity.
    ...(boot.raid6 ? [] : ['initcall_blacklist=raid6_init']),
    `umid=${boot.name}`,
    `uml_dir=${inside.state}/${boot.name}/`,
    `vec0:${vector(boot.network)}`,
    `vec1:${vector(boot.storage)}`,
    'lab.channel=/dev/ttyS0',
    `lab.project=${inside.project}`,
    `lab.state=${inside.state}/${boot.name}`,
  ];
}
