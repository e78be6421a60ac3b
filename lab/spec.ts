import type { GuestKind } from './setup/host-packages.ts';
import type { Suite } from './setup/rootfs.ts';

export type { GuestKind, Suite };

export type DiskSpec = {
  readonly name: string;
  readonly sizeBytes: bigint;
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
  /** More text for /etc/lvm/lvm.conf. */
  readonly lvmConfig?: string;
};

export const MiB = 1024n * 1024n;
export const GiB = 1024n * MiB;

const namePattern = /^[a-z][a-z0-9-]{0,30}$/;

export function checkName(kind: string, name: string): void {
  if (!namePattern.test(name)) {
    throw new Error(`a ${kind} name is like "n1", not ${JSON.stringify(name)}`);
  }
}
