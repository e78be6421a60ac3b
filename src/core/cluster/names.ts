/** The names of one instance: TopoLVM's group, or the one it had before. */
export type ClusterNames = {
  /** Driver, group of LogicalVolume and prefix of everything else: `topolvm.io`. */
  readonly domain: string;
  /** The name of the CSI driver: the domain, unless told otherwise. */
  readonly driver: string;
};

export function clusterNames(names: ClusterNames) {
  const { domain } = names;
  return {
    topologyKey: `topology.${domain}/node`,
    deviceClassParameter: `${domain}/device-class`,
    optionClassParameter: `${domain}/lvcreate-option-class`,
    /** Free bytes of a device class, on a Node. */
    capacityAnnotation: (deviceClass: string) => `capacity.${domain}/${deviceClass}`,
    defaultCapacityAnnotation: `capacity.${domain}/00default`,
    nodeFinalizer: `${domain}/node`,
    volumeFinalizer: `${domain}/logicalvolume`,
    resizeRequestedAnnotation: `${domain}/resize-requested-at`,
    pendingDeletionAnnotation: `${domain}/pendingdeletion`,
    /** By this an agent finds its own where fields cannot be selected. */
    nodeLabel: `${domain}/node`,
    createdByLabel: 'app.kubernetes.io/created-by',
    createdBy: 'topolvm-controller',
  } as const;
}

/** Our own marks, whatever the instance is called. */
export const unpublishedAnnotation = 'quarry.io/unpublished';
export const claimAnnotation = 'quarry.io/claim';
export const groupAnnotation = 'quarry.io/snapshot-group';
export const capacityNodeLabel = 'quarry.io/node';
/** On a LogicalVolume, by its agent: what is wrong with the LV, in words. Without it, nothing is. */
export const conditionAnnotation = 'quarry.io/condition';
/** On a LogicalVolume, by the operator: what its claim was told last. */
export const toldConditionAnnotation = 'quarry.io/condition-told';
export const toldNodeAnnotation = 'quarry.io/node-failed-told';
