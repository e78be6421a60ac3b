import type { LogicalVolume } from '../../src/api/objects/logical-volume.ts';
import { OperationError } from '../../src/base/failures.ts';
import { claimAnnotation, unpublishedAnnotation } from '../../src/core/cluster/names.ts';
import { KubeError } from '../../src/kube/errors.ts';
import { claimKind, persistentVolumeKind } from '../../src/kube/kinds.ts';
import type { Cluster, Duty } from '../../src/operator/duty.ts';

/** Stands in for the duty that removes what no PersistentVolume was ever made of. */
export function orphans(cluster: Cluster): Duty {
  const { clock, stores, book, log } = cluster;
  return {
    run: async (signal) => {
      while (!signal.aborted) {
        await clock.sleep(30_000, signal);
        for (const record of stores.logicalVolumes.values()) {
          try {
            const isOrphan = !signal.aborted && (await isLeft(cluster, record));
            if (isOrphan) await book.remove('volume', record.metadata.uid, signal);
          } catch (error) {
            const isTrouble = error instanceof KubeError || error instanceof OperationError;
            if (!isTrouble) throw error;
            log({ level: 'warn', message: error.message });
          }
        }
      }
    },
  };
}

/** Its claim is gone for good, and nobody was given it. */
async function isLeft({ client }: Cluster, { metadata }: LogicalVolume): Promise<boolean> {
  const { name, annotations = {} } = metadata;
  const [namespace = '', claimName = ''] = (annotations[claimAnnotation] ?? '').split('/');
  if (annotations[unpublishedAnnotation] === undefined || claimName === '') return false;
  const claim = await client.find(claimKind, { namespace, name: claimName });
  if (claim !== undefined && name === `pvc-${claim.metadata.uid}`) return false;
  return (await client.find(persistentVolumeKind, { name })) === undefined;
}
