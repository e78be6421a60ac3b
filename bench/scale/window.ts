import type { CsiStorageCapacity } from '../../src/api/objects/storage.ts';
import { quantile } from '../figures.ts';
import type { Heard } from './counted.ts';
import { driver } from './objects.ts';
import { atOnce, pause, type ScaleScene, until } from './scene.ts';

/** What agents heard while each node got one volume more, and how soon the scheduler knew. */
export type WindowFigures = {
  readonly nodes: number;
  readonly volumes: number;
  readonly heard: readonly Heard[];
  /** What an agent hears that starts anew. */
  readonly startBytes: readonly number[];
  /** From the request for a volume until the capacity object of its node is true. */
  readonly capacityMs: readonly number[];
};

/** Longer than the Node is written at most: each agent writes it once. */
const windowMs = 65_000;
const quietMs = 4_000;
const restarted = 5;
const restartMs = 10_000;

export async function watchWindow(scene: ScaleScene): Promise<WindowFigures> {
  await quiet(scene);
  const before = scene.nodes.map(({ heard }) => ({ ...heard }));
  const startedAtMs = performance.now();
  const capacityMs = await oneVolumeMore(scene);
  await pause(windowMs - (performance.now() - startedAtMs));
  const heard = scene.nodes.map(({ heard: now }, index) => since(now, before[index]));
  const volumes = scene.volumes.size;
  return {
    nodes: scene.nodes.length,
    volumes,
    heard,
    startBytes: await restart(scene),
    capacityMs,
  };
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

async function oneVolumeMore(scene: ScaleScene): Promise<readonly number[]> {
  const asked = new Map<string, number>();
  const trueMs = new Map<string, number>();
  const known = new Map(
    [...scene.capacities.values()].map((each) => [nodeOf(each), each.capacity]),
  );
  const leave = scene.capacities.onChange(({ object }) => {
    const node = nodeOf(object);
    const fromMs = asked.get(node);
    if (fromMs === undefined || trueMs.has(node) || object.capacity === known.get(node)) return;
    trueMs.set(node, performance.now() - fromMs);
  });
  const round = `more-${scene.nodes.length}`;
  await atOnce(scene.nodes, async ({ name }) => {
    asked.set(name, performance.now());
    await scene.volume(`${round}-${name}`, name);
  });
  await until('capacity is true everywhere', () => trueMs.size === scene.nodes.length);
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
