/** The marks that an LVMCluster and its groups bear. */

export const clusterFinalizer = 'lvmcluster.topolvm.io';
/** LVMS had one mark for all nodes once; nobody takes it off any more. */
export const legacyGroupFinalizer = 'lvm.openshift.io/lvmvolumegroup';
/** One for each node that may have a volume group of it. */
export const groupFinalizerPrefix = 'cleanup.vgmanager.node.topolvm.io/';

export function groupFinalizer(node: string): string {
  return `${groupFinalizerPrefix}${node}`;
}

/** What a group without these nodes need not bear any more. */
export function needlessMarks(nodes: readonly string[]): readonly string[] {
  return [...nodes.map(groupFinalizer), legacyGroupFinalizer];
}

/** LVMS' mark that disks of a class were wiped on a node once: never again. */
export function wipedAnnotation(node: string): string {
  return `wiped.devices.lvms.openshift.io/${node}`;
}
