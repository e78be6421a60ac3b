import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { busyboxImage, type Cluster, startCluster, waitUntil } from '../../lab/cluster/index.ts';
import { copySnapshotKinds } from '../../lab/demo/snapshot-kinds.ts';
import { GiB } from '../../lab/index.ts';
import { installKinds } from '../../lab/snapshots/index.ts';
import { archiveOf, buildImage } from '../../tools/image.ts';
import { lookAtNode } from './audit/look.ts';
import { Guide } from './guide.ts';
import { podObject } from './objects.ts';

const disks = ['a', 'b'].map((name) => ({ name, sizeBytes: 4n * GiB }));

/** One after the other, as an administrator pastes them. */
describe('the commands of the guide to an installation', { timeout: 1_800_000 }, () => {
  let cluster: Cluster;
  let guide: Guide;
  let scratch: string;

  before(async () => {
    scratch = await mkdtemp(join(tmpdir(), 'quarry-install-'));
    const machine = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const built = await buildImage('localhost/quarry', [machine]);
    const archive = join(scratch, 'quarry.tar');
    await writeFile(archive, archiveOf(built));
    const nodes = ['n1', 'n2'].map((name) => ({ name, disks }));
    cluster = await startCluster({ nodes, images: [archive] });
    guide = await Guide.open('docs/guides/install.md', cluster, built.release);
  });

  after(async () => {
    await guide?.close();
    await cluster?.stop();
    await rm(scratch, { recursive: true, force: true });
  });

  test('install what an archive brought, by the digest that is pinned', async () => {
    await install(guide);
  });

  test('make groups of bare disks, and tell what they can give', async () => {
    const said = await guide.paste('The disks');
    assert.match(said, /^n1 +lvms-vg1 +\d+/m);
    assert.match(said, /^n2 +lvms-vg1 +\d+/m);
  });

  test('make a volume that grows', async () => {
    const said = await guide.paste('A volume', (script) => {
      return script.replace('image: busybox:stable', `image: ${busyboxImage}`);
    });
    assert.match(said, /persistentvolumeclaim\/data +Bound/);
    assert.match(said, /1\.9G .* \/data$/m);
  });

  test('take a snapshot, and make a volume of it', async () => {
    const kinds = join(scratch, 'kinds');
    await copySnapshotKinds(kinds);
    await installKinds(cluster, kinds);
    await takeSnapshot(guide);
    await cluster.apply([podObject('reader', ['data-restored'], {})]);
    await cluster.waitForPod({ name: 'reader' }, { timeoutMs: 240_000 });
    const read = ['exec', 'reader', '--', 'cat', '/data/data-restored/day'];
    assert.equal(await cluster.kubectl(read), 'monday\n');
  });

  test('uninstall it under a volume in use, and install it again', async () => {
    const read = ['exec', 'shell', '--', 'cat', '/data/day'];
    await guide.paste('Uninstall');
    assert.equal(await cluster.kubectl(read), 'monday\n');
    await install(guide);
    await takeSnapshot(guide); // its flag is gone with the manifests
    assert.equal(await cluster.kubectl(read), 'monday\n');
  });

  test('leave nothing when all of it shall go', async () => {
    await cluster.kubectl(['delete', 'pod', 'shell', 'reader', '--now']);
    await cluster.kubectl(['delete', 'pvc,volumesnapshot', '--all']);
    await waitUntil('no volume is left', async () => {
      const missing = await cluster.kubectl(['get', 'logicalvolumes', '--output=name']);
      return missing === '' ? { found: true } : { missing };
    });
    await guide.paste('To the last object');
    for (const node of cluster.nodes) assert.deepEqual((await lookAtNode(node)).pvs, []);
    const left = await cluster.kubectl(['get', 'crd,clusterrole,storageclass', '--output=name']);
    assert.doesNotMatch(left, /topolvm|quarry|lvms/);
  });
});

async function install(guide: Guide): Promise<void> {
  await guide.paste('With manifests', (script) => script.replace('cd build/manifests\n', ''));
}

/** That nobody is the controller yet is an error to a shell. */
async function takeSnapshot(guide: Guide): Promise<void> {
  await guide.paste('Snapshots', (script) => script.replace(/^kubectl get lease .*$/m, ''));
}
