import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { loadAll } from 'js-yaml';
import { fetchPeer } from '../../../lab/peer/build.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { type Kind, type KubeObject, metadataShape } from '../../../src/kube/kind.ts';
import type { Manifest } from '../../../tools/manifests-settings.ts';
import { served } from './kinds.ts';
import { adminOf, type Plane, startPlane } from './plane.ts';

/** The manifests for OpenShift, given to a real kube-apiserver that has OpenShift's own kind. */

const root = join(import.meta.dirname, '../../..');
const shape = { metadata: metadataShape } as const;

let plane: Plane;
let admin: KubeClient;
let close = () => {};

before(async () => {
  plane = await startPlane();
  ({ admin, close } = adminOf(plane));
  const api = await fetchPeer('lvms', 'github.com/openshift/api');
  const file = '0000_03_config-operator_01_securitycontextconstraints-Default.crd.yaml';
  await apply(join(api, 'security/v1/zz_generated.crd-manifests', file));
  const constraints = { group: 'security.openshift.io', kind: 'SecurityContextConstraints' };
  const plural = 'securitycontextconstraints';
  await served(admin, { ...constraints, version: 'v1', plural, isNamespaced: false, shape });
});

after(async () => {
  close();
  await plane?.stop();
});

function kindOf({ apiVersion, kind, metadata }: Manifest): Kind<KubeObject> {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const word = kind.toLowerCase();
  const plural = word.endsWith('s') ? word : `${word}s`.replace(/ys$/, 'ies');
  const isNamespaced = metadata.namespace !== undefined;
  return { group, version, kind, plural, isNamespaced, shape };
}

/** Server-side: a field that a kind does not have is an error. */
async function apply(file: string): Promise<void> {
  for (const body of loadAll(await readFile(file, 'utf8')) as Manifest[]) {
    const { name, namespace } = body.metadata;
    const patch = { type: 'apply', body, fieldManager: 'test', force: false } as const;
    await admin.patch(kindOf(body), { name, namespace }, patch);
  }
}

test('everything is taken as it is', async () => {
  for (const name of ['crds', 'openshift-namespace', 'openshift']) {
    await apply(join(root, `deploy/${name}.yaml`));
  }
});
