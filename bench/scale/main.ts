import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ended, spawnOwned } from '../../lab/host/owned.ts';
import { startPlane } from '../../test/kube/real/plane.ts';
import { bundle } from '../../tools/bundle.ts';

/**
 * Many nodes without machines: a real etcd and kube-apiserver, the bundled operator, and agents
 * whose LVM is the fake one. What an agent hears must not grow with the number of nodes.
 *
 *   node bench/scale/main.ts [--nodes 50,500] [--volumes 10]
 */
const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '50,500' },
    volumes: { type: 'string', default: '10' },
  },
});

const plane = await startPlane();
try {
  const file = join(plane.directory, 'quarry.cjs');
  await bundle(file);
  const kubeconfig = join(plane.directory, 'inside.kubeconfig');
  await writeFile(kubeconfig, plane.inside.kubeconfig, { mode: 0o600 });
  const program = join(import.meta.dirname, 'inside.ts');
  const words = [process.execPath, program, kubeconfig, file, values.nodes, values.volumes];
  const child = spawnOwned(plane.inside.enter(words), { stdio: ['ignore', 'inherit', 'inherit'] });
  await ended(child);
  process.exitCode = child.exitCode ?? 1;
} finally {
  await plane.stop();
}
