import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { loadAll } from 'js-yaml';
import type { Stored } from '../../test/kube/fake-api.ts';
import { collections } from '../../test/kube/fake-api-rules.ts';
import { FakeServer } from '../../test/kube/fake-server.ts';
import { kubeconfigFor } from '../../test/kube/scene.ts';
import { hostOf, sampleVg } from '../../test/samples/observed.ts';
import { reportText } from '../../test/samples/report-text.ts';
import { surroundings } from '../../test/samples/surroundings.ts';
import { manifestFiles, readRelease } from '../../tools/manifests.ts';
import { runCli } from './cli.ts';

/** A directory with all that the command finds on a host whose only group is `rhel`. */
async function edgeHost(t: TestContext) {
  const directory = await mkdtemp(join(tmpdir(), 'quarry-edge-'));
  const server = new FakeServer();
  const { port } = await server.start();
  t.after(async () => {
    await server.stop();
    await rm(directory, { recursive: true });
  });
  const path = (name: string) => join(directory, name);
  await writeFile(path('kubeconfig'), kubeconfigFor(server, port));
  await writeFile(path('report.json'), reportText(hostOf(sampleVg({ name: 'rhel' }))));
  await writeFile(path('lvm'), `#!/bin/sh\ncat '${path('report.json')}'\n`);
  await chmod(path('lvm'), 0o755);
  const run = async (...words: readonly string[]) => {
    const lines: string[] = [];
    const say = (text: string) => lines.push(text);
    const code = await runCli(['edge', ...words, '--lvmd', path('lvmd.yaml')], {
      ...{ path: `${directory}:/usr/bin:/bin`, version: '0', print: say, warn: say },
      ...surroundings,
      variables: { ...surroundings.variables, kubeconfig: path('kubeconfig') },
    });
    return { code, text: lines.join('\n') };
  };
  return { path, server, run };
}

function install({ api }: FakeServer): void {
  const text = manifestFiles(readRelease())['deploy/microshift/quarry.yaml'] ?? '';
  for (const object of loadAll(text) as Stored[]) {
    if (object['kind'] === 'PodTemplate') api.put(collections.podTemplates, object);
  }
}

test('apply and health speak to an API server with what the environment names', async (t) => {
  const { server, run } = await edgeHost(t);
  install(server);
  const applied = await run('apply');
  assert.equal(applied.code, 0, applied.text);
  assert.match(applied.text, /the default gives class default in volume group rhel/);
  const names = (collection: string) => server.api.all(collection).map((one) => one.metadata.name);
  assert.deepEqual(names(collections.configMaps), ['lvmd']);
  assert.deepEqual(names(collections.daemonSets), ['vg-manager']);
  const { length } = server.api.writes;
  assert.equal((await run('apply')).code, 0);
  assert.equal(server.api.writes.length, length);
  const { code, text } = await run('health', '--timeout', '5');
  assert.equal(code, 1);
  assert.match(text, /quarry: there is no Node/);
});

test('a faulty file ends with 2 before anything is written', async (t) => {
  const { server, path, run } = await edgeHost(t);
  install(server);
  await writeFile(path('lvmd.yaml'), 'device-classes: [{name: a, volume-group: nowhere}]\n');
  const { code, text } = await run('apply');
  assert.equal(code, 2);
  assert.match(text, /lvmd\.yaml:1: device-classes\[0\]\.volume-group is "nowhere": there is no/);
  assert.deepEqual(server.api.writes, []);
});

test('another group, another namespace and no group at all', async (t) => {
  const { server, run } = await edgeHost(t);
  const none = await run('apply', '--default-group', 'other');
  assert.equal(none.code, 0);
  assert.match(none.text, /Nothing is deployed/);
  const { code, text } = await run('apply', '--namespace', 'elsewhere');
  assert.equal(code, 75);
  assert.match(text, /there is no PodTemplate elsewhere\/vg-manager yet/);
  assert.deepEqual(server.api.writes, []);
});

test('an API server that is not there yet is asked again later', async (t) => {
  const { server, path, run } = await edgeHost(t);
  await server.stop();
  const { code, text } = await run('apply');
  assert.equal(code, 75);
  assert.match(text, /^quarry: Unreachable: /);
  const early = await run('health', '--timeout', '1');
  assert.equal(early.code, 1);
  assert.match(early.text, /Unreachable: /);
  await rm(path('kubeconfig'));
  assert.match((await run('health', '--timeout', '1')).text, /kubeconfig .* cannot be read/);
});

const misused: readonly (readonly [readonly string[], RegExp])[] = [
  [[], /edge knows apply and health; not ""/],
  [['aply'], /edge knows apply and health; not "aply"/],
  [['apply', 'x'], /not "apply x"/],
  [['health', '--timeout', '5m'], /--timeout is "5m": write seconds, such as 300/],
  [['health', '--timeout', '0'], /--timeout is "0"/],
  [['apply', '--lvmdd', 'x'], /--lvmdd/],
];

for (const [words, text] of misused) {
  test(`edge ${words.join(' ')} is no call`, async (t) => {
    const { run } = await edgeHost(t);
    const told = await run(...words);
    assert.equal(told.code, 2);
    assert.match(told.text, text);
  });
}

test('its help tells the flags', async (t) => {
  const { run } = await edgeHost(t);
  const { code, text } = await run('--help');
  assert.equal(code, 0);
  for (const flag of [
    '--lvmd',
    '--default-group',
    '--namespace',
    '--kubeconfig',
    '--timeout',
    '--replace-topolvm',
  ]) {
    assert.ok(text.includes(`  ${flag} `), flag);
  }
});
