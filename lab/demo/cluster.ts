import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { archiveOf, buildImage } from '../../tools/image.ts';
import { manifestFiles } from '../../tools/manifests.ts';
import { type Cluster, startCluster } from '../cluster/index.ts';
import { findPrograms } from '../cluster/programs.ts';
import { createScratchDirectory, type ScratchDirectory } from '../host/owned.ts';
import { GiB } from '../index.ts';
import { setUpLab } from '../setup/setup.ts';
import { copySnapshotKinds } from './snapshot-kinds.ts';
import type { Story } from './story.ts';

/** The name under which the nodes have our image: nothing is fetched from anywhere. */
const repository = 'quarry.lab/quarry';

/** Manifests that are pinned to the image of this tree, and the kinds of snapshots. */
export const manifestsDirectory = 'build/demo';
export const kindsDirectory = 'build/demo/snapshot-kinds';

const emptyDisks = ['one', 'two'].map((name) => ({ name, sizeBytes: 4n * GiB }));

/** Somebody has something on it. */
export const archiveDisk = { name: 'archive', sizeBytes: GiB } as const;

export type Prepared = {
  /** Goes with this process. */
  readonly scratch: ScratchDirectory;
  /** The image, for `ctr images import`. */
  readonly archive: string;
};

/** Everything that may take minutes or be missing on this machine, before anything runs. */
export async function prepareCluster(): Promise<Prepared> {
  const progress = (line: string): void => console.log(`lab: ${line}`);
  const lab = await setUpLab({ kind: 'uml', suites: ['trixie'], progress });
  await findPrograms({
    assetsDirectory: process.env['KUBEBUILDER_ASSETS'] || undefined,
    guestRoot: lab.root('trixie'),
    progress,
  });
  await copySnapshotKinds(kindsDirectory);
  progress('making our image and the manifests that pin it, as `make image` does');
  const machine = process.arch === 'arm64' ? 'arm64' : 'amd64';
  const built = await buildImage(repository, [machine]);
  for (const [path, text] of Object.entries(manifestFiles(built.release))) {
    const file = join(manifestsDirectory, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
  }
  const scratch = await createScratchDirectory('quarry-demo-');
  const archive = join(scratch.path, 'quarry.tar');
  await writeFile(archive, archiveOf(built));
  return { scratch, archive };
}

export async function openCluster(story: Story, { archive, scratch }: Prepared): Promise<Cluster> {
  story.part('a cluster of two nodes');
  const disks = [...emptyDisks, archiveDisk];
  const nodes = ['n1', 'n2'].map((name) => ({ name, disks }));
  const title = 'boot two nodes with three disks each, and Kubernetes';
  const cluster = await story.chapter(title, async () => {
    const started = await startCluster({ nodes, images: [archive] });
    for (const node of started.nodes) {
      await node.sh(`mkfs.xfs -q -L archive ${await node.devicePath(archiveDisk.name)}`);
    }
    return started;
  });
  await scratch.remove();
  return cluster;
}

/** What a person would look at first, kept beside the logs of everything else. */
export async function writeState(cluster: Cluster): Promise<void> {
  const questions = [
    ['get', 'nodes,pods,pvc,pv,volumesnapshots,logicalvolumes', '--all-namespaces'],
    ['get', 'lvmclusters,lvmvolumegroupnodestatuses', '--all-namespaces', '--output=yaml'],
    ['get', 'events', '--all-namespaces', '--sort-by=.lastTimestamp'],
    ['describe', 'pods', '--all-namespaces'],
    ['logs', '--namespace=quarry-system', '--prefix', '--selector=app.kubernetes.io/name=topolvm'],
  ];
  const said = await Promise.all(questions.map((words) => cluster.tryKubectl(words)));
  const text = said.map(({ stdout, stderr }, index) => {
    return `$ kubectl ${questions[index]?.join(' ')}\n${stdout}${stderr}`;
  });
  await writeFile(join(cluster.lab.logDirectory, 'kubectl.txt'), text.join('\n'));
}

/** Until Ctrl-C. */
export async function stay(cluster: Cluster): Promise<void> {
  console.log(`
The cluster stays until Ctrl-C. In another terminal:

  export PATH=${dirname(cluster.kubectlCommand)}:$PATH
  kubectl quarry status
  kubectl get pods,pvc,volumesnapshots,logicalvolumes --all-namespaces
  kubectl logs writer-0 --follow

kubeconfig  ${cluster.kubeconfig}
            Its server is in a network of its own. That kubectl goes there; for other programs
            write this before the command: nsenter --net=${cluster.lab.namespace.networkPath}
logs        ${cluster.lab.logDirectory}`);
  const clock = setInterval(() => {}, 60_000); // without it nothing would keep this process here
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.removeAllListeners(signal).once(signal, () => resolve());
    }
  });
  clearInterval(clock);
  console.log('\nstopping the cluster');
}
