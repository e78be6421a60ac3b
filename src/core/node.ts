import type {
  DeviceClassSpec,
  DevicesSpec,
  LayoutSpec,
  NodeSpec,
  VolumeGroupSpec,
} from '../api/node-spec.ts';
import { bytes } from '../base/bytes.ts';
import { limits } from '../base/limits.ts';
import type { DeviceClass } from './device-class.ts';
import { devicesMin, type Layout } from './layouts.ts';
import type { DesiredThinPool } from './thin-pool/desired.ts';
import type { DesiredVg } from './volume-group/desired.ts';

/** What a node shall look like, whatever dialect asked for it. */
export type DesiredNode = {
  readonly volumeGroups: readonly DesiredVg[];
  readonly thinPools: readonly DesiredThinPool[];
  readonly deviceClasses: readonly DeviceClass[];
};

/** LVMS marks the groups it manages with this tag; we keep it, so either can take over. */
export const managedTag = 'lvms';

/** `known` are the identities of groups that were seen before, by name. */
export function desiredNode(
  spec: NodeSpec,
  known: ReadonlyMap<string, string> = new Map(),
): DesiredNode {
  const volumeGroups = spec.volumeGroups.map((vg) => desiredVg(vg, spec, known.get(vg.name)));
  const managed = new Set(
    spec.volumeGroups.filter((vg) => vg.ownership === 'managed').map((vg) => vg.name),
  );
  return {
    volumeGroups,
    thinPools: onceEach(
      spec.deviceClasses
        .filter((entry) => managed.has(entry.volumeGroup))
        .flatMap((entry) => desiredThinPool(entry, known)),
    ),
    deviceClasses: spec.deviceClasses.map(deviceClass),
  };
}

function desiredVg(
  spec: VolumeGroupSpec,
  { deviceClasses }: Pick<NodeSpec, 'deviceClasses'>,
  uuid: string | undefined,
): DesiredVg {
  const { devices } = spec;
  const inIt = deviceClasses.filter(({ volumeGroup }) => volumeGroup === spec.name);
  return {
    name: spec.name,
    uuid,
    presence: 'present',
    selector: devices.kind === 'any' ? { kind: 'any', forceWipe: false } : devices,
    ownerTag: managedTag,
    adopt: spec.ownership === 'managed' ? 'tagged' : 'named',
    isManaged: spec.ownership === 'managed',
    takesNewDevices: spec.ownership === 'managed' && !isStatic(devices),
    release: [],
    devicesMin: Math.max(1, ...inIt.map(({ layout }) => devicesMin(layoutOf(layout)))),
  };
}

function isStatic(devices: DevicesSpec): boolean {
  return devices.kind === 'any' && !devices.isDynamic;
}

function desiredThinPool(
  spec: DeviceClassSpec,
  known: ReadonlyMap<string, string>,
): readonly DesiredThinPool[] {
  const { layout } = spec;
  if (layout.kind !== 'thin') return [];
  return [
    {
      vg: spec.volumeGroup,
      vgUuid: known.get(spec.volumeGroup),
      name: layout.poolName,
      presence: 'present',
      sizePercent: layout.sizePercent,
      chunkSizeBytes: layout.chunkSizeBytes,
      metadataBytes: layout.metadataSizeBytes,
      vgOwnerTag: managedTag,
    },
  ];
}

/** Several classes may put their volumes into one pool. */
function onceEach(pools: readonly DesiredThinPool[]): readonly DesiredThinPool[] {
  return pools.filter(
    (pool, index) =>
      index === pools.findIndex(({ vg, name }) => vg === pool.vg && name === pool.name),
  );
}

function deviceClass(spec: DeviceClassSpec): DeviceClass {
  return {
    name: spec.name,
    vg: spec.volumeGroup,
    isDefault: spec.isDefault,
    layout: layoutOf(spec.layout),
    spareBytes: spec.spareBytes,
    overprovisionRatio: spec.layout.kind === 'thin' ? spec.layout.overprovisionRatio : 1,
    lvcreateOptions: spec.lvcreateOptions,
  };
}

/** A layout as a person asks for it, with every count filled in. */
export function layoutOf(layout: LayoutSpec): Layout {
  switch (layout.kind) {
    case 'linear':
      return layout;
    case 'striped':
      return { stripeSizeBytes: bytes(limits.stripeSizeBytes), ...layout };
    case 'thin':
      return { kind: 'thin', pool: layout.poolName };
    case 'raid1':
      return { kind: 'raid1', mirrors: layout.mirrors ?? 1 };
    default: {
      const { kind, stripeSizeBytes = bytes(limits.stripeSizeBytes) } = layout;
      const stripes = layout.stripes ?? (kind === 'raid6' ? 3 : 2);
      if (kind !== 'raid10') return { kind, stripes, stripeSizeBytes };
      return { kind, stripes, mirrors: layout.mirrors ?? 1, stripeSizeBytes };
    }
  }
}
