import type { CsiStorageCapacity } from '../../src/api/objects/storage.ts';
import { parseQuantity } from '../../src/api/quantity.ts';
import { quantile } from '../figures.ts';
import type { Heard } from './counted.ts';
import type { FleetNode } from './fleet.ts';
import { driver } from './objects.ts';
import { atOnce, pause, type ScaleScene, until } from './scene.ts';

/** What agents heard while each node got one volume more, and how soon the scheduler knew. */
export type WindowFigures = {
  readonly nodes: number;
  readonly volumes: number;
  readonly heard: readonly Heard[];
  /** What an agent hears that starts anew. */
  readonly startBytes: readonly number[];
  /** From the request for a volume until the capacity object of its node is true: all at once. */
  readonly capacityMs: readonly number[];
  /** The same, for nodes that change one after the other. */
  readonly aloneMs: readonly number[];
};

/** Longer than the Node is written at most: each agent writes it once. */
const windowMs = 65_000;
const quietMs = 4_000;
const restarted = 5;
const changedAlone = 10;
const restartMs = 10_000;

export async function watchWindow(scene: ScaleScene): Promise<WindowFigures> {
  await quiet(scene);
  const before = scene.nodes.map(({ heard }) => ({ ...heard }));
  const startedAtMs = performance.now();
  const capacityMs = await oneVolumeMore(scene, scene.nodes, 'more');
  await pause(windowMs - (performance.now() - startedAtMs));
  const heard = scene.nodes.map(({ heard: now }, index) => since(now, before[index]));
  const volumes = scene.volumes.size;
  const aloneMs: number[] = [];
  for (const node of scene.nodes.slice(-changedAlone)) {
    aloneMs.push(...(await oneVolumeMore(scene, [node], 'alone')));
  }
  const startBytes = await restart(scene);
  return { nodes: scene.nodes.length, volumes, heard, startBytes, capacityMs, aloneMs };
}

/** Nobody tells anything of what came before. */
async function quiet(scene: ScaleScene): Promise<void> {
  const events = () => scene.nodes.reduce((sum, { heard }) => sum + heard.events, 0);
  for (let before = -1; before !== events(); await pause(quietMs)) before = events();
}

function since(now: Heard, before: Heard | undefined): Heard {
  if (before === undefined) throw new Error('a node came meanwhile');
  return {
    bytes: now.bytes - before.bytes,
    events: now.events - before.events,
    bookmarks: now.bookmarks - before.bookmarks,
    requests: now.requests - before.requests,
  };
}

async function oneVolumeMore(
  scene: ScaleScene,
  nodes: readonly FleetNode[],
  what: string,
): Promise<readonly number[]> {
  const asked = new Map<string, number>();
  const trueMs = new Map<string, number>();
  const before = new Map(nodes.map((node) => [node.name, node.freeBytes]));
  const byName = new Map(nodes.map((node) => [node.name, node]));
  const leave = scene.capacities.onChange(({ object }) => {
    const node = byName.get(nodeOf(object));
    const fromMs = asked.get(nodeOf(object));
    if (node === undefined || fromMs === undefined || trueMs.has(node.name)) return;
    const isMade = node.freeBytes !== before.get(node.name);
    const isTrue = parseQuantity(object.capacity) === BigInt(node.freeBytes);
    if (isMade && isTrue) trueMs.set(node.name, performance.now() - fromMs);
  });
  const round = `${what}-${scene.nodes.length}`;
  await atOnce(nodes, async ({ name }) => {
    asked.set(name, performance.now());
    await scene.volume(`${round}-${name}`, name);
  });
  await until('capacity is true everywhere', () => trueMs.size === nodes.length);
  leave();
  return [...trueMs.values()];
}

async function restart(scene: ScaleScene): Promise<readonly number[]> {
  const chosen = scene.nodes.slice(0, restarted);
  for (const node of chosen) node.stop();
  await pause(1_000);
  for (const node of chosen) {
    node.start((error) => {
      throw error;
    });
  }
  await pause(restartMs);
  return chosen.map(({ heard }) => heard.bytes);
}

export function nodeOf(capacity: CsiStorageCapacity): string {
  return capacity.nodeTopology?.matchLabels?.[`topology.${driver}/node`] ?? '';
}

export function middle(values: readonly number[]): number {
  return quantile(values, 0.5);
}
