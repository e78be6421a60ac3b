import type { DeviceClass } from './device-class.ts';
import type { DesiredThinPool } from './thin-pool/desired.ts';
import type { DesiredVg } from './volume-group/desired.ts';

/** What a node shall look like, whatever dialect asked for it. */
export type DesiredNode = {
  readonly volumeGroups: readonly DesiredVg[];
  readonly thinPools: readonly DesiredThinPool[];
  readonly deviceClasses: readonly DeviceClass[];
};
