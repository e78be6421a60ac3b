import type { Duplex } from 'node:stream';
import type { PluggedDisk } from './disk/guest-disks.ts';

/** What the two kinds of guests have in common, seen from the host: one boot of one guest. */
export type Machine = {
  readonly channel: Duplex;
  /** Resolves with a description of how it ended. */
  readonly exited: Promise<string>;
  /** Takes the power away: nothing in the guest gets a chance to say goodbye. */
  kill(): void;
  freeze(): void;
  thaw(): void;
  /** What has to be done outside the guest when a disk comes or goes. */
  plug(disk: PluggedDisk): Promise<void>;
  unplug(disk: PluggedDisk): Promise<void>;
};
