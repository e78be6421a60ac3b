/**
 * Snapshots in a lab cluster, as their authors publish them: the kinds and the stock controller.
 *
 *   const parts = await ensureSnapshotController(progress);
 *   await installKinds(cluster, parts.definitions);
 *   const controller = await SnapshotController.start(cluster, parts);
 *   await controller.stop();
 */
import type { Cluster } from '../cluster/index.ts';

export { ensureSnapshotController, type SnapshotParts } from './build.ts';
export { SnapshotController } from './controller.ts';

/** Resolves when the API server serves them. */
export async function installKinds(cluster: Cluster, directory: string): Promise<void> {
  await cluster.kubectl(['apply', '--filename', directory]);
  const wait = ['wait', '--for=condition=Established', '--timeout=60s', '--filename', directory];
  await cluster.kubectl(wait);
}
