import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import { storageClassName } from './objects.ts';

export type VolumesView = {
  readonly claims: Iterable<PersistentVolumeClaim>;
  readonly volumes: Iterable<PersistentVolume>;
  readonly logicalVolumes: Iterable<LogicalVolume>;
  readonly driver: string;
};

/**
 * What a device class holds, in words and in one order: claims, also those that wait for a volume;
 * volumes without a claim, such as retained ones; and LVs that nothing else tells of.
 */
export function heldBy(deviceClass: string, view: VolumesView): readonly string[] {
  const className = storageClassName(deviceClass);
  const claims = [...view.claims].filter(({ spec }) => spec.storageClassName === className);
  const uids = new Set(claims.map(({ metadata }) => metadata.uid));
  const volumes = [...view.volumes].filter(
    ({ spec }) =>
      spec.csi?.driver === view.driver &&
      spec.storageClassName === className &&
      !uids.has(spec.claimRef?.uid ?? ''),
  );
  const handles = new Set(
    [...view.volumes].map(({ spec }) => spec.csi?.volumeHandle ?? '').filter(Boolean),
  );
  const own = [...view.logicalVolumes].filter(
    ({ spec, status }) => spec.deviceClass === deviceClass && !handles.has(status?.volumeID ?? ''),
  );
  return [
    ...claims.map(({ metadata }) => `claim ${metadata.namespace}/${metadata.name}`).toSorted(),
    ...volumes.map(({ metadata }) => `volume ${metadata.name}`).toSorted(),
    ...own.map(({ metadata }) => `LogicalVolume ${metadata.name}`).toSorted(),
  ];
}
