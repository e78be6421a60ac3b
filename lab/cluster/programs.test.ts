import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { describePrograms, findPrograms, kubePrograms, mixedVersions } from './programs.ts';

let assetsDirectory: string;

before(async () => {
  assetsDirectory = await mkdtemp(join(tmpdir(), 'lab-programs-'));
});

after(() => rm(assetsDirectory, { recursive: true }));

const find = () =>
  findPrograms({
    assetsDirectory,
    guestRoot: '/guest',
    progress: () => assert.fail('nothing has to be built'),
  });

test('an assets directory without programs is a mistake and not ignored', async () => {
  await assert.rejects(find(), /has no programs/);
});

test('given programs are taken, and nothing is built when all are given', async () => {
  for (const name of kubePrograms) await write(name, 'v1.36.4');
  const programs = await find();
  assert.equal(programs.kubelet.path, join(assetsDirectory, 'kubelet'));
  assert.equal(programs.etcd.path, '/guest/usr/bin/etcd');
  assert.deepEqual(describePrograms(programs), [
    'kube-apiserver, kube-controller-manager, kube-scheduler, kubelet: KUBEBUILDER_ASSETS',
    'etcd, kubectl: the guest root file system',
  ]);
  assert.equal(await mixedVersions(programs), undefined);
});

test('programs of different releases are pointed out', async () => {
  await write('kubelet', 'v1.35.0');
  assert.match(
    (await mixedVersions(await find())) ?? '',
    /kube-apiserver v1.36.4.*kubelet v1.35.0/,
  );
});

async function write(name: string, version: string): Promise<void> {
  const path = join(assetsDirectory, name);
  await writeFile(path, `#!/bin/sh\necho Kubernetes ${version}\n`);
  await chmod(path, 0o755);
}
