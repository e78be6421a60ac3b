import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import type { NewObject } from '../../src/kube/client.ts';
import { customResourceDefinitionKind, storageClassKind } from '../../src/kube/kinds.ts';
import { showMemory } from '../memory.ts';
import { kill } from '../role-process.ts';
import { ratio, table } from '../table.ts';
import { appNamespace, namespaceKind, storageClassObject, systemNamespace } from './objects.ts';
import { measureOperator, type OperatorFigures, startOperator } from './operator.ts';
import { ScaleScene, served, until, volumeKind } from './scene.ts';
import { middle, type WindowFigures, watchWindow } from './window.ts';

/** Runs in the network of the control plane: node inside.ts KUBECONFIG BUNDLE NODES,NODES VOLUMES */
const [kubeconfig = '', bundle = '', sizes = '', volumes = ''] = process.argv.slice(2);
const startedAtMs = performance.now();
const scene = new ScaleScene(readFileSync(kubeconfig, 'utf8'), Number(volumes));

await prepare();
await scene.start();
const operator = await startOperator(bundle, kubeconfig);
const windows: WindowFigures[] = [];
for (const nodes of sizes.split(',').map(Number)) {
  await scene.growTo(nodes);
  tell(`${nodes} agents were started`);
  await until('every volume is made', () => isMade(nodes));
  tell(`${scene.volumes.size} volumes were made`);
  windows.push(await watchWindow(scene));
}
tell('the operator at rest, then with claims');
const figures = await measureOperator(scene, operator.pid ?? 0);
console.log(`${showWindows(windows)}\n\n${showOperator(figures)}\n\n${showAims(windows)}`);
await kill(operator);
process.exit(0);

function tell(line: string): void {
  const seconds = ((performance.now() - startedAtMs) / 1000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
}

async function prepare(): Promise<void> {
  const { client } = scene;
  for (const name of [systemNamespace, appNamespace]) {
    await client.create(namespaceKind, { metadata: { name } });
  }
  const crds = readFileSync(join(import.meta.dirname, '../../deploy/crds.yaml'), 'utf8');
  for (const crd of loadAll(crds)) {
    await client.create(customResourceDefinitionKind, crd as NewObject);
  }
  await served(client, volumeKind);
  await client.create(storageClassKind, storageClassObject);
}

function isMade(nodes: number): boolean {
  if (scene.capacities.size < nodes) return false;
  return [...scene.volumes.values()].every(({ status }) => status?.volumeID !== undefined);
}

function showWindows(all: readonly WindowFigures[]): string {
  const rows = all.map(({ nodes, volumes: count, heard, startBytes, capacityMs, aloneMs }) => {
    const of = (key: keyof WindowFigures['heard'][number]) => heard.map((each) => each[key]);
    const both = (values: readonly number[]) =>
      `${middle(values).toFixed(0)} / ${Math.max(...values).toFixed(0)}`;
    return [
      ...[String(nodes), String(count), both(of('bytes')), both(of('events'))],
      ...[both(of('requests')), middle(startBytes).toFixed(0)],
      ...[both(aloneMs), both(capacityMs)],
    ];
  });
  const head = ['agents', 'volumes', 'bytes', 'events', 'requests', 'bytes at a start'];
  return table([...head, 'capacity true after, ms', 'all nodes at once'], rows);
}

function showOperator(found: OperatorFigures): string {
  return [
    `operator: ${showMemory(found.memory)}, ${found.peakMiB.toFixed(1)} MiB at its most;`,
    `${found.idleMillicores.toFixed(1)} millicores at rest, ${found.cpuMsPerClaim.toFixed(1)} ms`,
    `of the processor for each of ${found.claims} claims, which had their volumes after`,
    `${middle(found.madeMs).toFixed(0)} ms (median) and ${Math.max(...found.madeMs).toFixed(0)} ms`,
    '(the last)',
  ].join(' ');
}

/** Bytes and events are counted: more than that is no noise, and ends the run badly. */
function showAims(all: readonly WindowFigures[]): string {
  const [small, large] = [all[0], all.at(-1)];
  if (small === undefined || large === undefined) return '';
  const growth = (key: 'bytes' | 'events') =>
    middle(large.heard.map((each) => each[key])) / middle(small.heard.map((each) => each[key]));
  const aims = [
    { what: 'growth of bytes for each agent', most: 1.2, found: growth('bytes') },
    { what: 'growth of events for each agent', most: 1.2, found: growth('events') },
    { what: 's until capacity is true', most: 5, found: Math.max(...large.aloneMs) / 1000 },
  ];
  if (aims.slice(0, 2).some(({ most, found }) => found > most)) process.exitCode = 1;
  return table(
    ['aim', 'at most', 'found', ''],
    aims.map(({ what, most, found }) => [
      ...[what, ratio(most, 1), ratio(found, 1), found <= most ? 'met' : 'missed'],
    ]),
  );
}
