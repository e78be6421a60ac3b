import type { PersistentVolumeClaim } from '../../api/objects/claim.ts';
import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import type { PersistentVolume } from '../../api/objects/persistent-volume.ts';
import { storageClassName } from './objects.ts';

export type VolumesView = {
  readonly claims: readonly PersistentVolumeClaim[];
  readonly volumes: readonly PersistentVolume[];
  readonly logicalVolumes: readonly LogicalVolume[];
  readonly driver: string;
};

/**
 * What a device class holds, in words and in one order: claims, also those that wait for a volume;
 * volumes without a claim, such as retained ones; and LVs that nothing else tells of.
 */
export function heldBy(deviceClass: string, view: VolumesView): readonly string[] {
  const className = storageClassName(deviceClass);
  const claims = view.claims.filter(({ spec }) => spec.storageClassName === className);
  const uids = new Set(claims.map(({ metadata }) => metadata.uid));
  const ofClass = view.volumes.filter(
    ({ spec }) => spec.csi?.driver === view.driver && spec.storageClassName === className,
  );
  const volumes = ofClass.filter(({ spec }) => !uids.has(spec.claimRef?.uid ?? ''));
  const told = new Set(ofClass.map(({ spec }) => spec.csi?.volumeHandle ?? ''));
  // One without a class is in the default class of its time, whichever that was.
  const isIn = (name = '') => name === '' || name === deviceClass;
  const own = view.logicalVolumes.filter(
    ({ metadata, spec, status }) =>
      isIn(spec.deviceClass) && !told.has(status?.volumeID || metadata.uid),
  );
  return [
    ...claims.map(({ metadata }) => `claim ${metadata.namespace}/${metadata.name}`).toSorted(),
    ...volumes.map(({ metadata }) => `volume ${metadata.name}`).toSorted(),
    ...own.map(({ metadata }) => `LogicalVolume ${metadata.name}`).toSorted(),
  ];
}
