import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { logicalVolumeCrd } from '../../../src/api/crds/logical-volume.ts';
import { lvmsCrds } from '../../../src/api/crds/lvms.ts';
import type { LvmCluster } from '../../../src/api/objects/lvm-cluster.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { KubeError } from '../../../src/kube/errors.ts';
import { type Kind, type KubeObject, metadataShape } from '../../../src/kube/kind.ts';
import { lvmClusterKind, lvmVolumeGroupKind } from '../../../src/kube/lvms-kinds.ts';
import {
  mutatingWebhookKind,
  secretKind,
  validatingWebhookKind,
} from '../../../src/kube/webhook-kinds.ts';
import { secretName } from '../../../src/operator/certificates.ts';
import { readRelease } from '../../../tools/manifests.ts';
import { defaultSettings } from '../../../tools/manifests-objects.ts';
import { webhookPort } from '../../../tools/manifests-settings.ts';
import { webhookOf } from '../../../tools/manifests-webhook.ts';
import { adminOf, type Plane, startPlane } from './plane.ts';

/** A real kube-apiserver asks our webhook, and believes the certificate that we made. */

const namespace = 'default';
const shape = { metadata: metadataShape } as const;
const definitions: Kind<KubeObject> = {
  ...{ group: 'apiextensions.k8s.io', version: 'v1', kind: 'CustomResourceDefinition', shape },
  ...{ plural: 'customresourcedefinitions', isNamespaced: false },
};
const services: Kind<KubeObject> = {
  ...{ group: '', version: 'v1', kind: 'Service', plural: 'services', isNamespaced: true, shape },
};
const slices: Kind<KubeObject> = {
  ...{ group: 'discovery.k8s.io', version: 'v1', kind: 'EndpointSlice', shape },
  ...{ plural: 'endpointslices', isNamespaced: true },
};
const kinds: readonly Kind<KubeObject>[] = [services, mutatingWebhookKind, validatingWebhookKind];

let plane: Plane;
let admin: KubeClient;
let close = () => {};
let operator: ChildProcess;

before(async () => {
  plane = await startPlane();
  ({ admin, close } = adminOf(plane));
  const own = logicalVolumeCrd({ group: 'topolvm.io', hasSelectableFields: true });
  for (const { metadata, spec } of [own, ...lvmsCrds]) {
    await admin.create(definitions, { metadata, spec });
  }
  await register();
  operator = startOperator();
});

after(async () => {
  operator?.kill('SIGTERM');
  close();
  await plane?.stop();
});

/** Beside the API server, where it can call it. */
function startOperator(): ChildProcess {
  const kubeconfig = join(plane.directory, 'operator.kubeconfig');
  writeFileSync(kubeconfig, plane.inside.kubeconfig);
  const program = join(import.meta.dirname, '../../../src/main.ts');
  const [command = '', ...args] = plane.inside.enter([
    ...[process.execPath, program, 'operator', `--kubeconfig=${kubeconfig}`],
    ...[`--namespace=${namespace}`, '--csi-socket=', '--metrics-address=0'],
    ...['--lvm-clusters', `--webhook-address=${plane.inside.address}:${webhookPort}`],
  ]);
  return spawn(command, args, { stdio: 'ignore' });
}

/** As our manifests have it; nobody here finds the pods of a Service, so that it is told where. */
async function register(): Promise<void> {
  const made = webhookOf({ ...defaultSettings(readRelease()), namespace }, 'operator');
  for (const object of made) {
    const { selector: _, ...spec } = (object['spec'] ?? {}) as { readonly selector?: object };
    const body = object.kind === 'Service' ? { ...object, spec } : object;
    const kind = kinds.find((one) => one.kind === object.kind);
    assert.ok(kind !== undefined, object.kind);
    await admin.patch(kind, { ...object.metadata }, applied(body));
  }
  const name = 'lvms-webhook-service';
  await admin.patch(
    slices,
    { namespace, name },
    applied({
      ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4' },
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      ports: [{ name: 'webhook', port: webhookPort, protocol: 'TCP' }],
      endpoints: [{ addresses: [plane.inside.address], conditions: { ready: true } }],
    }),
  );
}

function applied(body: object) {
  return { type: 'apply', fieldManager: 'test', force: true, body } as const;
}

function cluster(name: string, ...classes: readonly string[]) {
  const deviceClasses = classes.map((one) => ({
    ...{ name: one, deviceSelector: { paths: [`/dev/${one}`] } },
  }));
  return { metadata: { name, namespace }, spec: { storage: { deviceClasses } } };
}

async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return '';
  } catch (error) {
    assert.ok(error instanceof KubeError, String(error));
    return error.message;
  }
}

/** Until the API server knows the webhook and believes it. */
async function taken(draft: ReturnType<typeof cluster>): Promise<LvmCluster> {
  let last = '';
  for (let tries = 0; tries < 200; tries += 1) {
    try {
      return await admin.create(lvmClusterKind, draft);
    } catch (error) {
      last = String(error);
      assert.match(last, /failed calling webhook|not been read yet/);
      await sleep(100);
    }
  }
  throw new Error(last);
}

test('it is asked before an LVMCluster is taken, changed or deleted', async () => {
  const made = await taken(cluster('mine', 'vg1', 'vg2'));
  const [first] = made.spec?.storage?.deviceClasses ?? [];
  assert.equal(first?.name, 'vg1');
  let why = '';
  for (let tries = 0; why === '' && tries < 100; tries += 1) {
    why = await refusalOf(admin.create(lvmClusterKind, cluster('other', 'vg3')));
    await sleep(20);
  }
  assert.match(why, /there can be one LVMCluster only/);
  const wrong = { type: 'merge', body: { spec: cluster('mine', 'vg1', 'vg1').spec } } as const;
  assert.notEqual(await refusalOf(admin.patch(lvmClusterKind, made.metadata, wrong)), '');
});

/** What the operator makes of a class. */
async function made() {
  for (let tries = 0; tries < 200; tries += 1) {
    const found = await admin.find(lvmVolumeGroupKind, { namespace, name: 'vg1' });
    if (found !== undefined) return found;
    await sleep(100);
  }
  throw new Error('there is no LVMVolumeGroup vg1');
}

test('for marks nobody is asked, also when nobody answers', async () => {
  const group = await made();
  const remove = await refusalOf(admin.delete(lvmVolumeGroupKind, group.metadata));
  assert.match(remove, /take the device class vg1 out of the LVMCluster instead/);
  operator.kill('SIGTERM');
  let why = '';
  for (let tries = 0; !/failed calling webhook/.test(why) && tries < 100; tries += 1) {
    // A change each time: one that was still taken is none the next time, and nobody is asked.
    const change = { type: 'merge', body: { spec: { default: tries % 2 === 0 } } } as const;
    why = await refusalOf(admin.patch(lvmVolumeGroupKind, group.metadata, change));
    await sleep(50);
  }
  assert.match(why, /failed calling webhook/);
  const body = { metadata: { annotations: { 'wiped.devices.lvms.openshift.io/n1': '' } } };
  const mark = { type: 'merge', body } as const;
  const marked = await admin.patch(lvmVolumeGroupKind, group.metadata, mark);
  assert.ok(marked.metadata.annotations !== undefined);
  const secret = await admin.get(secretKind, { namespace, name: secretName });
  assert.deepEqual(Object.keys(secret.data ?? {}).toSorted(), [
    ...['ca.crt', 'ca.key', 'tls.crt', 'tls.key'],
  ]);
});
