import { median, quantile } from '../figures.ts';
import { ratio, table } from '../table.ts';
import type { Burst, LvmClusterFigures, NodeTime, SideFigures } from './figures.ts';

export function showKube(sides: readonly SideFigures[]): string {
  return [
    ...['## Claims and pods', showTimes(sides)],
    ...['## Where the nodes were until all were bound', showNodeTime(sides)],
    ...['## Writes to the API server for each claim', showWrites(sides)],
    ...['## Runs of lvm for each claim and its pod', showLvm(sides)],
    ...['## Processes', showProcesses(sides)],
    ...['## What was aimed for', showAims(sides)],
    ...showFloor(sides),
  ].join('\n\n');
}

/** Leases are renewed by the clock: that is what they are for. */
const byTheClock = 'leases';

export function showLvmCluster(figures: LvmClusterFigures): string {
  const { nodes, readyMs, goneMs, idleSeconds, writes, processes } = figures;
  const others = Object.entries(writes).filter(([resource]) => resource !== byTheClock);
  const written = others.reduce((sum, [, count]) => sum + count, 0);
  const rows = [
    [`Ready on ${nodes} nodes, ms`, both(readyMs)],
    ['gone, with its groups, ms', both(goneMs)],
    [`writes in ${idleSeconds} s without a change`, String(written)],
    ...others.map(([resource, count]) => [`- to ${resource}`, String(count)]),
    ['- renewals of leases beside that', String(writes[byTheClock] ?? 0)],
  ];
  return [
    ...['## An LVMCluster on bare disks', table(['what', 'median / p95, or number'], rows)],
    showProcesses([{ side: 'quarry', processes }]),
  ].join('\n\n');
}

function sizesOf(sides: readonly SideFigures[]): readonly number[] {
  const all = sides.flatMap(({ bursts }) => bursts.map(({ claims }) => claims));
  return [...new Set(all)].toSorted((a, b) => a - b);
}

function burstsOf(side: SideFigures, claims: number): readonly Burst[] {
  return side.bursts.filter((burst) => burst.claims === claims);
}

function both(values: readonly number[]): string {
  return `${median(values).toFixed(0)} / ${quantile(values, 0.95).toFixed(0)}`;
}

function perSecond(bursts: readonly Burst[]): number {
  return median(bursts.map(({ claims, allBoundMs }) => (claims / allBoundMs) * 1_000));
}

function showTimes(sides: readonly SideFigures[]): string {
  const rows = sizesOf(sides).flatMap((claims) =>
    sides.map((side) => {
      const bursts = burstsOf(side, claims);
      const pods = bursts[0]?.pods ?? 0;
      return [
        ...[String(claims), String(pods), String(bursts.length), side.side],
        both(bursts.flatMap(({ boundMs }) => boundMs)),
        both(bursts.flatMap(({ readyMs }) => readyMs)),
        perSecond(bursts).toFixed(2),
      ];
    }),
  );
  const head = ['claims at once', 'pods', 'rounds', 'side', 'bound, ms', 'ready, ms', 'claims/s'];
  return table(head, rows);
}

/** Seconds of a node's processor for each claim. */
function showNodeTime(sides: readonly SideFigures[]): string {
  const keys = ['programs', 'udev', 'own', 'kubelet', 'others'] as const;
  const rows = sizesOf(sides).flatMap((claims) =>
    sides.map((side) => {
      const bursts = burstsOf(side, claims);
      const share = (key: (typeof keys)[number]) =>
        median(bursts.map(({ time }) => time[key] / claims)).toFixed(2);
      return [String(claims), side.side, ...keys.map(share)];
    }),
  );
  const own = ['lvm and what else it ran', 'udev', 'its own processes'];
  return table(['claims at once', 'side', ...own, 'kubelet, containerd', 'others'], rows);
}

/** What the aim is about, then the rest by name. */
const first = ['logicalvolumes', 'nodes'];

function showWrites(sides: readonly SideFigures[]): string {
  const found = sides.flatMap(({ counted }) => Object.keys(counted.writes));
  const others = [...new Set(found)].filter((name) => !first.includes(name)).toSorted();
  const rows = [...first, ...others].map((resource) => [
    resource,
    ...sides.map(({ counted }) => ((counted.writes[resource] ?? 0) / counted.claims).toFixed(2)),
  ]);
  return table(
    ['resource', ...sides.map(({ side, counted }) => `${side} (${counted.claims})`)],
    rows,
  );
}

function showLvm(sides: readonly SideFigures[]): string {
  const rows = sides.map(({ side, lvm }) => [
    side,
    (lvm.runs.changes / lvm.claims).toFixed(1),
    (lvm.runs.looks / lvm.claims).toFixed(1),
  ]);
  return table(['side', 'changes', 'looks'], rows);
}

function showProcesses(sides: readonly Pick<SideFigures, 'side' | 'processes'>[]): string {
  const keys = ['rssMiB', 'peakMiB', 'anonMiB', 'pssMiB', 'idleMillicores'] as const;
  const rows = sides.flatMap(({ side, processes }) => {
    const sum = (key: (typeof keys)[number]) =>
      processes.reduce((total, each) => total + each[key], 0);
    return [
      ...processes.map((each) => [
        ...[side, each.name, each.node],
        ...keys.map((key) => each[key].toFixed(1)),
      ]),
      [side, `all ${processes.length}`, '', ...keys.map((key) => sum(key).toFixed(1))],
    ];
  });
  const head = ['side', 'process', 'node', 'resident MiB', 'most ever', 'anonymous', 'shared out'];
  return table([...head, 'idle millicores'], rows);
}

type Aim = { readonly what: string; readonly most: number; readonly found: number };

function showAims(sides: readonly SideFigures[]): string {
  const named = (name: string) => sides.find(({ side }) => side === name);
  const [ours, peer] = [named('quarry'), named('topolvm')];
  const aims = [
    ...(ours === undefined ? [] : [writesAim(ours)]),
    ...(ours === undefined || peer === undefined ? [] : beside(ours, peer)),
  ];
  return table(
    ['aim', 'at most', 'found', ''],
    aims.map(({ what, most, found }) => [
      ...[what, ratio(most, 1), ratio(found, 1), found <= most ? 'met' : 'missed'],
    ]),
  );
}

/** Nodes that are busy all the time are as fast as that, if our own processes cost nothing. */
function showFloor(sides: readonly SideFigures[]): readonly string[] {
  const named = (name: string) => sides.find(({ side }) => side === name);
  const [ours, peer] = [named('quarry'), named('topolvm')];
  if (ours === undefined || peer === undefined) return [];
  const seconds = (side: SideFigures, claims: number, keys: readonly (keyof NodeTime)[]) =>
    median(burstsOf(side, claims).map(({ time }) => keys.reduce((sum, key) => sum + time[key], 0)));
  const rows = sizesOf([ours]).map((claims) => [
    String(claims),
    ratio(seconds(ours, claims, unavoidable) / seconds(peer, claims, everything), 1),
  ]);
  const head = ['claims at once', 'lvm, udev and kubelet alone, beside all that topolvm took'];
  return ['## What no driver can go below here', table(head, rows)];
}

const unavoidable = ['programs', 'udev', 'kubelet'] as const;
const everything = ['programs', 'udev', 'own', 'kubelet', 'others'] as const;

function writesAim({ counted }: SideFigures): Aim {
  const written = first.reduce((sum, name) => sum + (counted.writes[name] ?? 0), 0);
  const what = 'writes to LogicalVolume and Node for each create';
  return { what, most: 3, found: written / counted.claims };
}

function beside(ours: SideFigures, peer: SideFigures): readonly Aim[] {
  return sizesOf([ours]).map((claims) => {
    const [own, theirs] = [burstsOf(ours, claims), burstsOf(peer, claims)];
    if (claims > 20) {
      const what = `time for each of ${claims} claims, beside ${peer.side}`;
      return { what, most: 1 / 3, found: perSecond(theirs) / perSecond(own) };
    }
    const middle = (bursts: readonly Burst[]) => median(bursts.flatMap(({ boundMs }) => boundMs));
    const what = `median until ${claims} claims are bound, beside ${peer.side}`;
    return { what, most: 1 / 4, found: middle(own) / middle(theirs) };
  });
}
