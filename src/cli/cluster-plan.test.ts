import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { load } from 'js-yaml';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { FakeServer } from '../../test/kube/fake-server.ts';
import { kubeconfigFor } from '../../test/kube/scene.ts';
import { extents, sampleDevice } from '../../test/samples/observed.ts';
import { surroundings } from '../../test/samples/surroundings.ts';
import { failures } from '../base/failures.ts';
import { inventoryAnnotation, inventoryText } from '../core/lvm-cluster/inventory.ts';
import { runCli } from './cli.ts';

const namespace = 'quarry-system';

function clusterText(...paths: readonly string[]): string {
  return `apiVersion: lvm.topolvm.io/v1alpha1
kind: LVMCluster
metadata: { name: mine, namespace: ${namespace} }
spec:
  storage:
    deviceClasses:
      - { name: vg1, default: true, deviceSelector: { paths: [${paths.join(', ')}] } }
`;
}

async function scene(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-plan-'));
  const server = new FakeServer();
  const { port } = await server.start();
  t.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });
  const path = (name: string) => join(directory, name);
  await writeFile(path('kubeconfig'), kubeconfigFor(server, port));
  const devices = [
    sampleDevice({ path: '/dev/sdb', sizeBytes: extents(100) }),
    sampleDevice({ path: '/dev/sdc', sizeBytes: extents(100), fileSystem: 'xfs' }),
  ];
  const node = { devices, vgs: [], orphanPvs: [] };
  const annotations = {
    [inventoryAnnotation]:
      inventoryText({ node, known: new Map(), givenUp: new Set(), wipes: new Map() }) ?? '',
  };
  server.api.put(collections.nodes, { metadata: { name: 'n1', annotations } });
  const run = async (...words: readonly string[]) => {
    const lines: string[] = [];
    const say = (text: string) => lines.push(text);
    const code = await runCli(['plan', ...words, '--kubeconfig', path('kubeconfig')], {
      ...{ path: '/usr/bin:/bin', version: '0', print: say, warn: say },
      ...surroundings,
    });
    return { code, text: lines.join('\n') };
  };
  return { path, server, run };
}

test('a file with an LVMCluster is planned for every node, and nothing is written', async (t) => {
  const { path, server, run } = await scene(t);
  await writeFile(path('mine.yaml'), clusterText('/dev/sdb'));
  const { code, text } = await run('-f', path('mine.yaml'));
  assert.equal(code, 0, text);
  assert.match(text, /A plan for LVMCluster mine\. Nothing was changed\./);
  assert.match(text, /Node n1\n(.*\n)*.*create volume group vg1 on \/dev\/sdb\n.*lvm vgcreate/);
  assert.equal(server.api.all(collections.lvmClusters).length, 0);
});

test('what is blocked ends with 1, and says why', async (t) => {
  const { path, run } = await scene(t);
  await writeFile(path('mine.yaml'), clusterText('/dev/sdb', '/dev/sdc'));
  const { code, text } = await run('--file', path('mine.yaml'));
  assert.equal(code, 1, text);
  assert.match(text, /Blocked: volume group vg1: DeviceNotUsable: \/dev\/sdc: it holds xfs/);
  assert.doesNotMatch(text, /vgcreate/);
});

test('without a file it is the one that is there, or says that there is none', async (t) => {
  const { server, run } = await scene(t);
  const none = await run();
  assert.equal(none.code, 2);
  assert.match(none.text, /there is no LVMCluster: name the file of one with --file/);
  const deviceClasses = [{ name: 'vg1', deviceSelector: { paths: ['/dev/sdb'] } }];
  const metadata = { name: 'mine', namespace };
  const object = { metadata, spec: { storage: { deviceClasses } } };
  server.api.put(collections.lvmClusters, object);
  const there = await run();
  assert.equal(there.code, 0, there.text);
  assert.match(there.text, /create volume group vg1 on \/dev\/sdb/);
});

test('a second LVMCluster is not planned', async (t) => {
  const { path, server, run } = await scene(t);
  const metadata = { name: 'first', namespace };
  server.api.put(collections.lvmClusters, { metadata });
  await writeFile(path('mine.yaml'), clusterText('/dev/sdb'));
  const { code, text } = await run('--file', path('mine.yaml'));
  assert.equal(code, 2);
  assert.match(text, /first is there already: there can be one LVMCluster only/);
});

type PlanDocument = {
  readonly kind: string;
  readonly cluster: { readonly name: string };
  readonly isClear: boolean;
  readonly objects: readonly string[];
  readonly nodes: readonly {
    readonly node: string;
    readonly devices: readonly object[];
    readonly steps: readonly { readonly kind: string; readonly commands: readonly string[][] }[];
    readonly blocks: readonly object[];
  }[];
};

test('programs get the plan as one document', async (t) => {
  const { path, run } = await scene(t);
  await writeFile(path('mine.yaml'), clusterText('/dev/sdb'));
  const { code, text } = await run('-f', path('mine.yaml'), '-o', 'json');
  assert.equal(code, 0, text);
  const { kind, cluster, isClear, objects, nodes } = JSON.parse(text) as PlanDocument;
  assert.deepEqual([kind, cluster.name, isClear], ['Plan', 'mine', true]);
  assert.ok(objects.includes('make LVMVolumeGroup vg1'), text);
  const [node] = nodes;
  assert.deepEqual([node?.node, node?.blocks], ['n1', []]);
  assert.deepEqual(node?.steps[0]?.kind, 'create-vg');
  assert.deepEqual(node?.steps[0]?.commands[0]?.slice(0, 2), ['lvm', 'vgcreate']);
  assert.deepEqual(Object.keys(node?.devices[0] ?? {}), [
    ...['group', 'path', 'size', 'model', 'serial', 'state', 'isAskedFor', 'reasons'],
  ]);
  const { text: yaml } = await run('-f', path('mine.yaml'), '--output', 'yaml');
  assert.deepEqual(load(yaml), JSON.parse(text));
});

test('a program is told what blocks a plan, and how it can go on', async (t) => {
  const { path, run } = await scene(t);
  await writeFile(path('mine.yaml'), clusterText('/dev/sdb', '/dev/sdc'));
  const { code, text } = await run('--file', path('mine.yaml'), '-o', 'json');
  assert.equal(code, 1, text);
  const { isClear, nodes } = JSON.parse(text) as PlanDocument;
  assert.equal(isClear, false);
  const message = '/dev/sdc: it holds xfs';
  const { hint } = failures.DeviceNotUsable;
  assert.deepEqual(nodes[0]?.blocks, [
    { what: 'volume group vg1', code: 'DeviceNotUsable', message, hint },
  ]);
});

test('who wants it wide sees exact sizes and what is asked for', async (t) => {
  const { path, run } = await scene(t);
  await writeFile(path('mine.yaml'), clusterText('/dev/sdb'));
  const { text } = await run('-f', path('mine.yaml'), '-o', 'wide');
  assert.match(text, / BYTES .* ASKED FOR /);
  assert.match(text, new RegExp(` /dev/sdb .* ${extents(100)} .* yes`));
  assert.match((await run('-f', path('mine.yaml'), '-o', 'table')).text, /json, yaml or wide/);
});
