import type { Identity } from './disk.ts';
import type { DiskFault } from './fault.ts';
import type { PowerLoss, WriteCache } from './store.ts';

/** What the lab tells the disk server, one JSON object per line; every one is answered. */
export type DiskOrder =
  | {
      readonly op: 'create';
      readonly disk: string;
      readonly path: string;
      readonly sizeBytes: number;
      readonly writeCache: WriteCache;
      readonly filled: boolean;
      readonly identity: Identity;
    }
  /** A client (a guest) sees a disk under a unit number from now on. */
  | {
      readonly op: 'plug';
      readonly client: string;
      readonly disk: string;
      readonly unit: number;
    }
  | { readonly op: 'unplug'; readonly client: string; readonly disk: string }
  /** Ends all connections of a client; requests on the way are lost. */
  | { readonly op: 'drop-client'; readonly client: string }
  | { readonly op: 'fault'; readonly disk: string; readonly fault: DiskFault }
  /** Copies a disk into a file, as it would be after an orderly shutdown. */
  | { readonly op: 'save'; readonly disk: string; readonly path: string }
  | { readonly op: 'lose-power'; readonly disk: string; readonly loss: PowerLoss };

export type DiskOrderLine = { readonly id: number; readonly order: DiskOrder };
export type DiskAnswerLine = { readonly id: number; readonly error?: string };

/** The iSCSI name of the target a client finds its disks at. */
export function targetName(client: string): string {
  return `iqn.2000-01.lab.quarry:${client}`;
}

/** The NBD name of a disk; it says who asks, so that one client can be cut off. */
export function exportName(client: string, disk: string): string {
  return `${client}/${disk}`;
}
