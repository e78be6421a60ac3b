import type { Deed } from './plan.ts';

/** A write of the operator in a person's words. Undefined for what is only its own bookkeeping. */
export function deedText(deed: Deed): string | undefined {
  switch (deed.kind) {
    case 'apply-class':
      return `make StorageClass ${deed.object.metadata.name} as it should be`;
    case 'apply-snapshot-class':
      return `make VolumeSnapshotClass ${deed.object.metadata.name}`;
    case 'delete-class':
      return `delete StorageClass ${deed.name}`;
    case 'delete-snapshot-class':
      return `delete VolumeSnapshotClass ${deed.name}`;
    case 'make-group':
      return `make LVMVolumeGroup ${deed.name}`;
    case 'change-group':
      return `change LVMVolumeGroup ${deed.group.metadata.name}`;
    case 'delete-group':
      return `delete LVMVolumeGroup ${deed.group.metadata.name}`;
    case 'release-cluster':
      return 'let the LVMCluster go';
    case 'mark-cluster':
    case 'make-report':
    case 'note-report':
    case 'delete-report':
    case 'free-group':
      return undefined;
  }
}
