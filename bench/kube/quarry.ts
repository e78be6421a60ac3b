import type { Cluster } from '../../lab/cluster/index.ts';
import { byName, type Installation } from '../../test/e2e/image.ts';
import { isForgotten, isServing, lvmdFile, type Side } from './side.ts';

/** Quarry as its own manifests install it. */
export function quarrySide(cluster: Cluster, manifests: Installation['manifests']): Side {
  const side: Side = {
    name: 'quarry',
    namespace: 'quarry-system',
    nameOf: (command) => /quarry\S* (agent|operator)\b/.exec(command)?.[1],
    install: async () => {
      for (const node of cluster.nodes) {
        const write = 'mkdir -p /etc/topolvm && cat >/etc/topolvm/lvmd.yaml';
        await node.sh(write, { stdin: lvmdFile('quarry') });
      }
      const { operator, agent, policy } = manifests;
      await cluster.apply(byName([...operator, ...agent, ...policy]));
      await isServing(cluster, side);
    },
    uninstall: async () => {
      const words = ['delete', 'deployment,daemonset', '--all', '--namespace=quarry-system'];
      await cluster.kubectl([...words, '--cascade=foreground', '--timeout=180s']);
      await isForgotten(cluster, side);
    },
  };
  return side;
}
