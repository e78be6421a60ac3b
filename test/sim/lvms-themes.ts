import type { LvmDeviceClass } from '../../src/api/objects/lvm-cluster.ts';
import type { Chance } from '../world/chance.ts';
import { type Disk, type NodeDisks, paths } from './lvms-disks.ts';
import { clusterName, type LvmsDeed, type LvmsEvent, nodes } from './lvms-story.ts';

type Plot = { readonly disks: readonly NodeDisks[]; readonly told: readonly LvmsEvent[] };

const [first = '', second = '', third = ''] = paths;

/** Some stories begin with what chance alone would hardly ever tell. */
export function themed(chance: Chance, plot: Plot): Plot {
  const draw = chance.fraction();
  if (draw < 0.1) return wiping(chance, plot);
  if (draw < 0.3) return emptying(chance, plot);
  if (draw < 0.4) return cutting(chance, plot);
  if (draw < 0.45) return missing(chance, plot);
  return draw < 0.48 ? dropping(plot) : plot;
}

/** A disk is wiped because that was asked for, leaves, is used by somebody, and is named again. */
function wiping(chance: Chance, { disks, told }: Plot): Plot {
  const deviceSelector = {
    ...{ paths: [first, second], forceWipeDevicesAndDestroyAllData: true },
  };
  const named = { of: 'va', path: first };
  const used = nodes.map((node) => ({ kind: 'mkfs', node, path: first }) as const);
  const made = make({ name: 'va', default: true, deviceSelector });
  // Its class may have gone meanwhile, too.
  const isAnew = chance.happens(0.5);
  const leaves: LvmsDeed = isAnew
    ? { kind: 'unmake', name: clusterName }
    : { kind: 'edit', edit: 'drop-path', ...named };
  const returns: LvmsDeed = isAnew ? made : { kind: 'edit', edit: 'add-path', ...named };
  return {
    disks: changed(disks, {
      ...{ [first]: { kind: 'data' }, [second]: { kind: 'bare' }, [third]: { kind: 'data' } },
    }),
    told: [
      made,
      // Too late to be wiped: the group is there.
      { atMs: 40_000, kind: 'edit', edit: 'add-optional', of: 'va', path: third },
      { atMs: 60_000, ...leaves },
      ...used.map((deed) => ({ atMs: 140_000, ...deed })),
      { ...returns, atMs: 141_000 },
      ...later(told, 200_000),
    ],
  };
}

/** A disk with volumes on it shall leave, and much happens while it is emptied. */
function emptying(chance: Chance, { disks, told }: Plot): Plot {
  const bare = { kind: 'bare', mib: 3072, isTwin: false } as const;
  const events: LvmsEvent[] = [make(emptied(chance))];
  for (const name of ['e1', 'e2', 'e3', 'e4']) {
    const mib = chance.pick([300, 400, 900] as const);
    const claim = { kind: 'claim', name, of: 'va', mib, isRaw: chance.happens(0.2) } as const;
    events.push({ atMs: 30_000, ...claim });
    events.push({ atMs: 30_000, kind: 'pod', name: `with-${name}`, claims: [name] });
    const write = { kind: 'write', name, at: chance.fraction(), mib: 4 } as const;
    events.push({ atMs: 65_000, ...write });
  }
  let atMs = 70_000;
  events.push({ atMs, kind: 'edit', edit: 'drop-path', of: 'va', path: first });
  const slots = changed(disks, { [first]: bare, [second]: bare, [third]: bare });
  // Agents live on and nothing else happens: what has failed is mended by who saw it fail.
  if (chance.happens(0.4)) return { disks: slots, told: [...events, ...killing(chance, atMs)] };
  for (let left = chance.between(0, 5); left > 0; left -= 1) {
    atMs += chance.between(500, 6_000);
    for (const deed of meanwhile(chance)) events.push({ atMs, ...deed });
  }
  return {
    disks: slots,
    told: [...events, ...later(told, atMs + chance.between(1_000, 60_000))],
  };
}

/** For some seconds no pvmove comes to its end, and the disk may be named again after that. */
function killing(chance: Chance, fromMs: number): readonly LvmsEvent[] {
  const timesMs = Array.from({ length: 20 }, (_, index) => fromMs + (index + 1) * 500);
  const kills = timesMs.flatMap((atMs) =>
    nodes.map((node): LvmsEvent => ({ atMs, kind: 'kill-move', node })),
  );
  const again: LvmsDeed = { kind: 'edit', edit: 'add-path', of: 'va', path: first };
  return chance.happens(0.5) ? [...kills, { atMs: fromMs + 10_000, ...again }] : kills;
}

/** Agents die in the middle of their work, and the power goes before anything else was done. */
function cutting(chance: Chance, { disks, told }: Plot): Plot {
  const cuts = (fromMs: number, node: string): readonly LvmsEvent[] => {
    const offMs = fromMs + chance.between(12_000, 30_000);
    return [
      { atMs: fromMs + chance.between(1_500, 6_000), kind: 'kill-agent', node },
      { atMs: offMs, kind: 'power-off', node },
      { atMs: offMs + 4_000, kind: 'power-on', node },
    ];
  };
  const events: readonly LvmsEvent[] = [
    make(emptied(chance)),
    { atMs: 50_000, kind: 'edit', edit: 'drop-path', of: 'va', path: first },
    { atMs: 100_000, kind: 'unmake', name: clusterName },
    ...nodes.flatMap((node) => [0, 50_000, 100_000].flatMap((fromMs) => cuts(fromMs, node))),
  ];
  const bare = { kind: 'bare', isTwin: false } as const;
  const forgetful = disks.map((node) => ({ ...node, hasVolatileCaches: true }));
  return {
    disks: changed(forgetful, { [first]: bare, [second]: bare, [third]: bare }),
    told: [...events.toSorted((a, b) => a.atMs - b.atMs), ...later(told, 150_000)],
  };
}

/** All disks of a group are away, another one is named, and they come back. */
function missing(chance: Chance, { disks, told }: Plot): Plot {
  const moved = (kind: 'pull' | 'insert', atMs: number) =>
    nodes.map((node): LvmsEvent => ({ atMs, kind, node, path: first }));
  return {
    disks: changed(disks, { [first]: { kind: 'bare' }, [second]: { kind: 'bare' } }),
    told: [
      make({ name: 'va', default: true, deviceSelector: { optionalPaths: [first] } }),
      ...moved('pull', 40_000),
      { atMs: 41_000, kind: 'edit', edit: 'add-optional', of: 'va', path: second },
      ...moved('insert', 41_000 + chance.between(5_000, 60_000)),
      ...later(told, 110_000),
    ],
  };
}

/** A class is taken out while it holds a volume, and nobody is asked whether that may be. */
function dropping({ disks, told }: Plot): Plot {
  return {
    disks: changed(disks, { [first]: { kind: 'bare' }, [second]: { kind: 'bare' } }),
    told: [
      make(
        { name: 'va', default: true, deviceSelector: { paths: [first] } },
        { name: 'vb', deviceSelector: { paths: [second] } },
      ),
      { atMs: 30_000, kind: 'claim', name: 'held', of: 'vb', mib: 300, isRaw: false },
      { atMs: 30_000, kind: 'pod', name: 'with-held', claims: ['held'] },
      { atMs: 110_000, kind: 'guard-not' },
      { atMs: 111_000, kind: 'edit', edit: 'drop-class', of: 'vb' },
      ...later(told, 115_000),
    ],
  };
}

function emptied(chance: Chance): LvmDeviceClass {
  const deviceSelector = { paths: chance.happens(0.7) ? [first, second] : [first, second, third] };
  const common = { name: 'va', default: true, deviceSelector } as const;
  if (chance.happens(0.6)) return common;
  const thinPoolConfig = { name: 'pool', sizePercent: 40, overprovisionRatio: 4 };
  return { ...common, thinPoolConfig };
}

function meanwhile(chance: Chance): readonly LvmsDeed[] {
  const node = chance.pick(nodes) ?? 'n1';
  const of = 'va';
  const deeds: readonly (readonly LvmsDeed[])[] = [
    [{ kind: 'kill-agent', node }],
    // As a container ends: with everything that it started.
    nodes.flatMap((one) => [
      { kind: 'kill-agent', node: one },
      { kind: 'kill-move', node: one },
    ]),
    [{ kind: 'kill-move', node }],
    [{ kind: 'power-off', node }],
    [{ kind: 'power-on', node }],
    [{ kind: 'pull', node, path: first }],
    [{ kind: 'pull', node, path: second }],
    [{ kind: 'insert', node, path: first }],
    [{ kind: 'insert', node, path: second }],
    [{ kind: 'edit', edit: 'add-path', of, path: first }],
    [{ kind: 'edit', edit: 'add-path', of, path: third }],
    [{ kind: 'edit', edit: 'drop-path', of, path: second }],
    [{ kind: 'delete-claim', name: 'e1' }],
    [{ kind: 'claim', name: 'e5', of, mib: 900, isRaw: false }],
    [{ kind: 'resize', name: 'e2', mib: 1_200 }],
    [{ kind: 'snapshot', name: 'of-e3', from: 'e3' }],
    [{ kind: 'write', name: 'e4', at: chance.fraction(), mib: 4 }],
    [{ kind: 'unmake', name: clusterName }],
  ];
  return chance.pick(deeds) ?? [];
}

function make(...classes: readonly LvmDeviceClass[]): LvmsEvent {
  return { atMs: 0, kind: 'make', name: clusterName, classes };
}

function later(told: readonly LvmsEvent[], byMs: number): readonly LvmsEvent[] {
  return told.map((event) => ({ ...event, atMs: event.atMs + byMs }));
}

/** Disks of a story are in their slots. */
function changed(
  all: readonly NodeDisks[],
  by: Readonly<Record<string, Partial<Disk>>>,
): readonly NodeDisks[] {
  return all.map(({ disks, ...node }) => ({
    ...node,
    disks: disks.map((disk) =>
      disk.path in by ? { ...disk, ...by[disk.path], isAway: false } : disk,
    ),
  }));
}
