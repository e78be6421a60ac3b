import { existsSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { exportName } from './disk/control.ts';
import type { PluggedDisk } from './disk/guest-disks.ts';
import type { Namespace } from './host/namespace.ts';
import { spawnOwned } from './host/owned.ts';
import type { Machine } from './machine.ts';
import type { Link } from './network.ts';
import { Qmp } from './qmp.ts';
import type { Accelerator } from './setup/qemu-host.ts';

export type QemuBoot = {
  readonly name: string;
  readonly kernel: string;
  readonly initialRamDisk: string;
  readonly rootImage: string;
  readonly memoryMiB: number;
  readonly cpus: number;
  readonly accelerator: Accelerator;
  readonly network: Link;
  readonly nbdSocket: string;
  readonly consoleLog: string;
  readonly qemuLog: string;
  readonly virtiofsd: string;
  /** For sockets of this boot. */
  readonly directory: string;
  /** Directories of the host the guest mounts by these names. */
  readonly shares: Readonly<Record<ShareName, string>>;
};

type ShareName = 'project' | 'state';
const shareTimeoutMs = 10_000;
const shareNames = ['project', 'state'] as const;

export async function bootQemu(namespace: Namespace, boot: QemuBoot): Promise<Machine> {
  const log = openSync(boot.qemuLog, 'a');
  for (const share of shareNames) await serveShare(namespace, boot, share, log);
  const child = spawnOwned(namespace.enter(['qemu-system-x86_64', ...qemuArguments(boot)]), {
    stdio: ['ignore', log, log, 'pipe', 'pipe'],
  });
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
  });
  const qmp = new Qmp(child.stdio[4] as Socket);
  const ready = qmp.open();
  ready.catch(() => {}); // whoever plugs a disk is told
  return {
    channel: child.stdio[3] as Socket,
    exited,
    kill: () => child.kill('SIGKILL'),
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    plug: async (disk) => {
      await ready;
      await qmp.execute('blockdev-add', blockdevJson(boot, disk));
      await qmp.execute('device_add', scsiDiskJson(disk));
    },
    unplug: async (disk) => {
      await ready;
      await qmp.deleteDevice(deviceId(disk));
      await qmp.execute('blockdev-del', JSON.stringify({ 'node-name': nodeName(disk) }));
    },
  };
}

function shareSocket(boot: QemuBoot, share: ShareName): string {
  return join(boot.directory, `${share}.sock`);
}

/** The daemon ends by itself when QEMU closes the connection. */
async function serveShare(
  namespace: Namespace,
  boot: QemuBoot,
  share: ShareName,
  log: number,
): Promise<void> {
  const socket = shareSocket(boot, share);
  await rm(socket, { force: true }); // of an earlier boot
  const options = `source=${boot.shares[share]},cache=auto,sandbox=chroot`;
  const argv = [boot.virtiofsd, `--socket-path=${socket}`, '-o', options];
  spawnOwned(namespace.enter(argv), { stdio: ['ignore', log, log] });
  const deadlineMs = Date.now() + shareTimeoutMs;
  while (!existsSync(socket)) {
    if (Date.now() > deadlineMs) throw new Error(`virtiofsd does not start, see ${boot.qemuLog}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function qemuArguments(boot: QemuBoot): readonly string[] {
  const memory = `memory-backend-memfd,id=memory,size=${boot.memoryMiB}M,share=on`;
  const kernelLine = [
    ...['console=ttyS0', 'quiet', 'panic=-1', 'mitigations=off', 'net.ifnames=0'],
    ...(boot.accelerator === 'tcg' ? ['tsc=reliable', 'no_timer_check'] : []),
    ...['lab.channel=virtio', 'lab.shares=virtiofs'],
  ];
  const shares = shareNames.flatMap((share) => [
    ...['-chardev', `socket,id=${share},path=${shareSocket(boot, share)},reconnect=0`],
    ...['-device', `vhost-user-fs-pci,chardev=${share},tag=${share}`],
  ]);
  return [
    ...['-name', boot.name, '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', 'q35,usb=off,vmport=off,memory-backend=memory', '-object', memory],
    ...['-accel', boot.accelerator === 'kvm' ? 'kvm' : 'tcg,thread=multi,tb-size=512'],
    // arch-capabilities: KVM inside another virtual machine refuses to set that register.
    // cx16: QEMU 7.2 leaves an address in the flags after cmpxchg16b, which kernel 6.12 uses for
    // allocations; guests then crash within minutes. Try without when no host has 7.2 any more.
    ...['-cpu', 'max,arch-capabilities=off,cx16=off'],
    ...['-smp', String(boot.cpus), '-m', String(boot.memoryMiB)],
    ...['-kernel', boot.kernel, '-initrd', boot.initialRamDisk, '-append', kernelLine.join(' ')],
    ...['-drive', `file=${boot.rootImage},if=none,id=root,format=raw,readonly=on,file.locking=off`],
    ...['-device', 'virtio-blk-pci,drive=root'],
    ...['-serial', `file:${boot.consoleLog}`],
    ...shares,
    ...['-device', 'virtio-serial-pci', '-chardev', 'socket,id=channel,fd=3'],
    ...['-device', 'virtserialport,chardev=channel,name=lab'],
    ...['-chardev', 'socket,id=qmp,fd=4', '-mon', 'chardev=qmp,mode=control'],
    ...['-device', 'virtio-scsi-pci,id=scsi'],
    ...['-netdev', `tap,id=net,ifname=${boot.network.tap},script=no,downscript=no`],
    ...['-device', `virtio-net-pci,netdev=net,mac=${boot.network.mac},romfile=`],
    ...['-object', 'rng-random,id=rng,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng'],
  ];
}

function nodeName(disk: PluggedDisk): string {
  return `node-${disk.unit}`;
}

function deviceId(disk: PluggedDisk): string {
  return `disk-${disk.unit}`;
}

function blockdevJson(boot: QemuBoot, disk: PluggedDisk): string {
  return JSON.stringify({
    driver: 'nbd',
    'node-name': nodeName(disk),
    server: { type: 'unix', path: boot.nbdSocket },
    export: exportName(boot.name, disk.key),
    discard: 'unmap',
  });
}

function scsiDiskJson(disk: PluggedDisk): string {
  const properties = JSON.stringify({
    driver: 'scsi-hd',
    bus: 'scsi.0',
    id: deviceId(disk),
    drive: nodeName(disk),
    lun: disk.unit,
    vendor: 'QUARRY',
    product: disk.spec.model ?? 'LAB DISK',
    ver: '1',
    serial: disk.spec.serial ?? disk.key,
    rotation_rate: 1,
    logical_block_size: 512,
    physical_block_size: 4096,
    discard_granularity: 4096,
    'share-rw': true,
    // Errors are for the guest to see; QEMU would rather stop the machine when a disk is full.
    rerror: 'report',
    werror: 'report',
  });
  return `${properties.slice(0, -1)},"wwn":${BigInt(`0x${disk.wwn}`)}}`;
}
