import {
  type CountRow,
  type Figures,
  type Kind,
  kinds,
  type LoopRow,
  type NodeRow,
} from './figures.ts';
import { table } from './table.ts';

type Aim = {
  readonly what: string;
  readonly most: number;
  readonly found: number;
};

/** What was aimed for beside what was found. Times depend on the machine: they end no build. */
export function showAims(figures: Figures): string {
  const aims = [
    ...kinds.flatMap((kind) => countAims(figures.counts, kind)),
    ...nodeAims(figures.node),
    ...loopAims(figures.loops),
  ];
  return table(
    ['aim', 'at most', 'found', ''],
    aims.map(({ what, most, found }) => [
      ...[what, digits(most), digits(found), found <= most ? 'met' : 'missed'],
    ]),
  );
}

function digits(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(2);
}

function countAims(all: readonly CountRow[], kind: Kind): readonly Aim[] {
  const rows = all.filter(({ what }) => what.endsWith(kind));
  const changes = Math.max(...rows.map(({ runs }) => runs.changes));
  const shared = rows.filter(({ lvmd }) => lvmd !== undefined);
  const sum = (count: (row: CountRow) => number) =>
    shared.reduce((total, row) => total + count(row), 0);
  const share = sum(({ runs }) => runs.changes) / sum(({ lvmd }) => lvmd?.waited ?? 0);
  return [
    { what: `changing lvm runs of a call, ${kind}`, most: 1, found: changes },
    {
      what: `of lvmd's runs over the life of a volume, ${kind}`,
      most: kind === 'thick' ? 1 / 3 : 1 / 5,
      found: share,
    },
  ];
}

function nodeAims(rows: readonly NodeRow[]): readonly Aim[] {
  const later = rows.filter(({ what }) => /^stats|later$|again/.test(what));
  const found = Math.max(...later.map(({ runs }) => runs.changes + runs.reads));
  return [{ what: 'lvm runs of later publishes and of stats', most: 0, found }];
}

function loopAims(rows: readonly LoopRow[]): readonly Aim[] {
  return (['serial', 'parallel'] as const).flatMap((what) => {
    const own = rows.filter((row) => row.what === what);
    const [first, last] = [own[0], own.at(-1)];
    if (first === undefined || last === undefined) return [];
    const growth = (of: 'quarry' | 'bare') => each(last[of]) / each(first[of]);
    const slower = own.map(({ existing, quarry, bare }) => ({
      what: `${what} creates from ${existing} volumes, beside bare lvcreates`,
      most: 1.2,
      found: each(quarry) / each(bare),
    }));
    const grown = `growth of ${what} creates up to ${last.existing} volumes, beside the bare ones'`;
    return [...slower, { what: grown, most: 1.2, found: growth('quarry') / growth('bare') }];
  });
}

function each({ ms, count }: { readonly ms: number; readonly count: number }): number {
  return ms / count;
}
