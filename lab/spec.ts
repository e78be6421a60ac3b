import type { WriteCache } from './disk/store.ts';
import type { GuestKind } from './setup/host-packages.ts';
import type { Suite } from './setup/rootfs.ts';

export type { GuestKind, Suite };

export type DiskSpec = {
  readonly name: string;
  readonly sizeBytes: bigint;
  /** Up to 16 characters, as in SCSI. */
  readonly model?: string;
  /** Made from the names of guest and disk unless given. */
  readonly serial?: string;
  /** Whether a power cut may lose writes that were not flushed; `volatile` unless given. */
  readonly writeCache?: WriteCache;
  /** The disk begins as a copy of this file instead of empty. */
  readonly imageFile?: string;
};

export type GuestSpec = {
  readonly name: string;
  /** 768 unless told otherwise; only touched pages cost memory of the host. */
  readonly memoryMiB?: number;
  readonly disks?: readonly DiskSpec[];
  /** Without udev, LVM makes its own device nodes; some edge systems run like that. */
  readonly udev?: boolean;
  /** LVM looks only at devices listed in its devices file. */
  readonly devicesFile?: boolean;
  readonly suite?: Suite;
  /** Only QEMU has more than one, which is the default. */
  readonly cpus?: number;
  /** Without it a UML guest boots 0.8 s faster and panics at the first RAID 6 volume. */
  readonly raid6?: boolean;
  /** More text for /etc/lvm/lvm.conf. */
  readonly lvmConfig?: string;
};

export const MiB = 1024n * 1024n;
export const GiB = 1024n * MiB;

const namePattern = /^[a-z][a-z0-9-]{0,30}$/;

export function suiteOf(spec: GuestSpec): Suite {
  return spec.suite ?? 'trixie';
}

const sizeBytesMax = 4n * 1024n * GiB;

/** What SCSI has room for, and what the disk server can address. */
export function checkDisk(disk: DiskSpec): void {
  checkName('disk', disk.name);
  const { sizeBytes, model = '', serial = '' } = disk;
  if (sizeBytes <= 0n || sizeBytes > sizeBytesMax || sizeBytes % 4096n !== 0n) {
    throw new Error(`disk ${disk.name}: ${sizeBytes} bytes; up to 4 TiB in steps of 4096 work`);
  }
  if (!/^[ -~]{0,16}$/.test(model)) throw new Error(`disk ${disk.name}: model "${model}"`);
  if (!/^[ -~]{0,64}$/.test(serial)) throw new Error(`disk ${disk.name}: serial "${serial}"`);
}

export function checkName(kind: string, name: string): void {
  if (!namePattern.test(name)) {
    throw new Error(`a ${kind} name is like "n1", not ${JSON.stringify(name)}`);
  }
}
