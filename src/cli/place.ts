import { UsageError } from './context.ts';

export type Surroundings = {
  /** Called as a plugin of kubectl, which knows of clusters only. */
  readonly isPlugin: boolean;
  readonly hasNodeFile: boolean;
  /** A kubeconfig is there, or this is a pod. */
  readonly hasCluster: boolean;
};

/** What `status` is to tell of. Who says nothing gets the one that there is, and never a guess. */
export function placeOf(given: ReadonlySet<string>, around: Surroundings): 'host' | 'cluster' {
  const ofHost = ['file', 'state-dir', 'nsenter', 'verbose'].find((flag) => given.has(flag));
  const ofCluster = ['kubeconfig', 'context', 'namespace'].find((flag) => given.has(flag));
  if (ofHost !== undefined && ofCluster !== undefined) {
    throw new UsageError(
      `--${ofHost} is for this host and --${ofCluster} for a cluster: give one of them`,
    );
  }
  if (ofHost !== undefined) return 'host';
  if (ofCluster !== undefined || around.isPlugin) return 'cluster';
  if (around.hasNodeFile && around.hasCluster) {
    const either = '--file /etc/quarry/node.yaml for this host, or --kubeconfig FILE for a cluster';
    throw new UsageError(`there is a node file, and a way to a cluster: say ${either}`);
  }
  if (!around.hasNodeFile && !around.hasCluster) {
    const either = 'name one with --file NODE.yaml or --kubeconfig FILE';
    throw new UsageError(`there is neither /etc/quarry/node.yaml nor a kubeconfig: ${either}`);
  }
  return around.hasCluster ? 'cluster' : 'host';
}
