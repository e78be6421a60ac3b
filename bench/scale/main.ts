import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createScratchDirectory, ended, spawnOwned } from '../../lab/host/owned.ts';
import { FakeServer } from '../../test/kube/fake-server.ts';
import { startPlane } from '../../test/kube/real/plane.ts';
import { kubeconfigFor } from '../../test/kube/scene.ts';
import { bundle } from '../../tools/bundle.ts';

/**
 * Many nodes without machines: a real etcd and kube-apiserver, the bundled operator, and agents
 * whose LVM is the fake one. What an agent hears must not grow with the number of nodes.
 *
 *   node bench/scale/main.ts [--nodes 50,500] [--volumes 10]
 *   node bench/scale/main.ts --fake      with the API server of the tests, over real connections
 */
const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '50,500' },
    volumes: { type: 'string', default: '10' },
    fake: { type: 'boolean', default: false },
  },
});

type Server = {
  readonly kubeconfig: string;
  enter(argv: readonly string[]): readonly string[];
  stop(): Promise<void>;
};

const scratch = await createScratchDirectory('quarry-scale-');
const server = values.fake ? await fakeServer() : await realServer();
try {
  const file = join(scratch.path, 'quarry.cjs');
  await bundle(file);
  const kubeconfig = join(scratch.path, 'kubeconfig');
  await writeFile(kubeconfig, server.kubeconfig, { mode: 0o600 });
  const program = join(import.meta.dirname, 'inside.ts');
  const words = [process.execPath, program, kubeconfig, file, values.nodes, values.volumes];
  const child = spawnOwned(server.enter(words), { stdio: ['ignore', 'inherit', 'inherit'] });
  await ended(child);
  process.exitCode = child.exitCode ?? 1;
} finally {
  await server.stop();
  await scratch.remove();
}

async function realServer(): Promise<Server> {
  const { inside, stop } = await startPlane();
  return { ...inside, stop };
}

async function fakeServer(): Promise<Server> {
  const fake = new FakeServer({ newUid: randomUUID });
  fake.api.selectable.add('spec.nodeName');
  const { port } = await fake.start();
  const kubeconfig = kubeconfigFor(fake, port);
  return { kubeconfig, enter: (argv) => argv, stop: () => fake.stop() };
}
