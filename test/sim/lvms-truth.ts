import type { LvmCluster, LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type {
  LvmVolumeGroup,
  LvmVolumeGroupNodeStatus,
} from '../../src/api/objects/lvm-volume-group.ts';
import type { Node } from '../../src/api/objects/storage.ts';
import type { Machine } from '../cluster/machine.ts';
import type { ClusterStage } from '../cluster/stage.ts';
import { collections } from '../kube/fake-api-rules.ts';
import { isInUse } from '../world/machine.ts';
import type { Device, Vg } from '../world/model.ts';

/** What is really there: looked up on the disks and in the API server, without our own code. */

export function clustersOf({ api }: ClusterStage): readonly LvmCluster[] {
  const all = api.all(collections.lvmClusters) as unknown as readonly LvmCluster[];
  const age = ({ metadata }: LvmCluster) => `${metadata.creationTimestamp} ${metadata.uid}`;
  return all.toSorted((one, other) => (age(one) < age(other) ? -1 : 1));
}

export function groupsOf({ api }: ClusterStage): readonly LvmVolumeGroup[] {
  return api.all(collections.lvmVolumeGroups);
}

export function reportsOf({ api }: ClusterStage): readonly LvmVolumeGroupNodeStatus[] {
  return api.all(collections.lvmNodeStatuses);
}

export function classesIn({ spec }: LvmCluster): readonly LvmDeviceClass[] {
  return spec?.storage?.deviceClasses ?? [];
}

export type Naming = Pick<LvmDeviceClass, 'deviceSelector'>;

export function namedBy({ deviceSelector: selector }: Naming): readonly string[] {
  return [...(selector?.paths ?? []), ...(selector?.optionalPaths ?? [])];
}

export function isMeant(
  { nodeSelector }: Pick<LvmDeviceClass, 'nodeSelector'>,
  { spec = {} }: LvmCluster,
  node: Node,
): boolean {
  const taints = (node.spec?.taints ?? []).filter(
    ({ key }) => !(spec.tolerations ?? []).some((one) => one.key === key),
  );
  const terms = nodeSelector?.nodeSelectorTerms;
  if (taints.length > 0 || terms === undefined) return taints.length === 0;
  return terms.some(({ matchExpressions = [] }) =>
    matchExpressions.every(({ key, values }) => {
      const label = node.metadata.labels?.[key];
      return label !== undefined && (values === undefined || values.includes(label));
    }),
  );
}

export function vgOn({ world }: Machine, name: string): Vg | undefined {
  return world.vg(name);
}

/** Its devices that are here. */
export function membersOf({ world }: Machine, vg: Vg): readonly Device[] {
  return vg.pvs.flatMap((pv) => world.machine.deviceOf(pv) ?? []);
}

/** Groups that an LVMCluster asked for, with a disk that is here. */
export function ourGroupsOn({ world }: Machine): readonly Vg[] {
  return world.machine.visibleVgs().filter(({ tags }) => tags.includes('lvms'));
}

export function isOneOf({ path, links }: Device, names: readonly string[]): boolean {
  return names.includes(path) || links.some((link) => names.includes(link));
}

const bytesMin = 16 * 1024 ** 2;

/** Why nobody may take a device, whatever it is wanted for; undefined when it is free. */
export function whyNotFree(device: Device, { world }: Machine): string | undefined {
  const { label, content, wwn, type } = device;
  if (device.isReadOnly) return 'it is read-only';
  if (device.isBroken) return 'it cannot be read';
  if (device.sizeBytes < bytesMin) return 'it is too small';
  if (isInUse(device) || device.partitions.some(isInUse)) return 'it is in use';
  if (device.openBy !== '') return 'somebody writes to it';
  if (device.partitionTable !== '') return 'it has partitions';
  if (content.signatures.some((one) => one.type !== 'LVM2_member')) return 'it holds something';
  if (label !== undefined && world.machine.vgOfPv(label.pvUuid) !== undefined) {
    return 'it is in a group';
  }
  const twins = world.machine.present().filter((one) => one.wwn === wwn && one.type === type);
  return wwn !== '' && twins.length > 1 ? 'it has a twin' : undefined;
}

/** The claims, volumes and LVs of a class. */
export function volumesIn({ admin }: ClusterStage, deviceClass: string): readonly string[] {
  const className = `lvms-${deviceClass}`;
  const claims = admin.claims.filter(({ spec }) => spec.storageClassName === className);
  const volumes = admin.volumes.filter(({ spec }) => spec.storageClassName === className);
  const records = admin.logicalVolumes.filter(({ spec }) => spec.deviceClass === deviceClass);
  return [...claims, ...volumes, ...records].map(({ metadata }) => metadata.name);
}
