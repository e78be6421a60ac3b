import type { LogicalVolume } from '../../api/objects/logical-volume.ts';
import { isGoing, nodeLabelOf } from './logical-volume.ts';
import { type ClusterNames, clusterNames } from './names.ts';

export type AdoptionDecision =
  | { readonly kind: 'rest' }
  /** Merged into the object, if it is still as we know it. */
  | { readonly kind: 'patch'; readonly body: object };

/**
 * TopoLVM's controller makes LogicalVolumes without the label that agents of older clusters find
 * their own by, and leaves the finalizer to the node. Both belong there before anything else.
 */
export function decideAdoption(volume: LogicalVolume, names: ClusterNames): AdoptionDecision {
  const { labels = {}, finalizers = [], resourceVersion } = volume.metadata;
  const { volumeFinalizer } = clusterNames(names);
  const wanted = nodeLabelOf(names, volume.spec.nodeName);
  const hasLabel = Object.entries(wanted).every(([key, value]) => labels[key] === value);
  // Kubernetes takes no new finalizer on what is being deleted.
  const hasFinalizer = finalizers.includes(volumeFinalizer) || isGoing(volume);
  if (hasLabel && hasFinalizer) return { kind: 'rest' };
  return {
    kind: 'patch',
    body: {
      metadata: {
        resourceVersion,
        labels: wanted,
        ...(hasFinalizer ? {} : { finalizers: [...finalizers, volumeFinalizer] }),
      },
    },
  };
}
