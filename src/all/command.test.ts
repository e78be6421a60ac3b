import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'node:test';
import { loadAll } from 'js-yaml';
import { agentArguments } from '../agent/agent-arguments.ts';
import { operatorArguments } from '../operator/arguments.ts';
import { allArguments, allUsage } from './arguments.ts';
import { runAll } from './command.ts';

const root = join(import.meta.dirname, '../..');
const nothing = {
  ...{ nodeName: 'n1', namespace: 'ns', useLegacy: '', kubeconfig: '' },
  ...{ serviceHost: '', servicePort: '' },
};

async function run(...argv: readonly string[]) {
  const printed: string[] = [];
  const warned: string[] = [];
  const code = await runAll(argv, {
    ...{ path: '/nowhere', version: '1.2.3', variables: nothing },
    ...{ print: (text) => printed.push(text), warn: (text) => warned.push(text) },
  });
  return { code, printed: printed.join('\n'), warned: warned.join('\n') };
}

test('help and version are told, and end with 0; a flag that is none ends with 2', async () => {
  assert.match((await run('--help')).printed, /--controller-socket PATH/);
  assert.deepEqual(await run('--version'), { code: 0, printed: '1.2.3', warned: '' });
  const { code, warned } = await run('--no-such');
  assert.equal(code, 2);
  assert.match(warned, /`quarry all --help`/);
});

test('it takes every flag of the agent and of the operator', () => {
  const both = { ...agentArguments([], nothing), ...operatorArguments([], nothing) };
  const flags = allArguments([], nothing);
  for (const flag of Object.keys(both)) assert.ok(flag in flags, flag);
});

test('the flags in the manifest are flags', async () => {
  const file = await readFile(join(root, 'deploy/quarry-all.yaml'), 'utf8');
  const objects = loadAll(file) as readonly Workload[];
  const found = objects.find(({ kind }) => kind === 'DaemonSet');
  const [word, ...flags] = found?.spec.template.spec.containers[0]?.args ?? [];
  assert.equal(word, 'all');
  const { daemonset, nsenter } = allArguments(flags, nothing);
  assert.deepEqual([daemonset, nsenter], ['vg-manager', true]);
});

type Workload = {
  readonly kind: string;
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
    };
  };
};

for (const path of ['controller.sock', '/run/topolvm/csi-topolvm.sock']) {
  test(`the controller cannot be served on ${path}`, async () => {
    const { code, warned } = await run('--controller-socket', path);
    assert.equal(code, 2);
    assert.match(warned, /--controller-socket is ".*": write an absolute path of its own/);
  });
}

test('without a way to the API server it ends with 2, and says how to name one', async () => {
  const { code, warned } = await run();
  assert.equal(code, 2);
  assert.match(warned, /this is no pod.*--kubeconfig/);
});

test('the guide has the flags that there are, with their defaults', async () => {
  const page = await readFile(join(root, 'docs/guides/edge.md'), 'utf8');
  const flags = [...allUsage.matchAll(/^ {2}(--[a-z-]+)/gm)].map(([, flag = '']) => flag);
  const told = [...page.matchAll(/^\| `(--[a-z-]+)` \|/gm)].map(([, flag = '']) => flag);
  assert.deepEqual(told.toSorted(), [...flags, '--help'].toSorted());
  for (const [, value = ''] of allUsage.matchAll(/\(default (\/?[\w./:-]+)\)/g)) {
    assert.ok(page.includes(`\`${value}\``), value);
  }
});
