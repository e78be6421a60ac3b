import { showAims } from './aims.ts';
import {
  type CountRow,
  type Figures,
  type FioRow,
  jobs,
  type LatencyRow,
  type LoopRow,
  type MemoryRow,
  median,
  type NodeRow,
  type Options,
  quantile,
  type Runs,
} from './figures.ts';
import { ratio, table } from './table.ts';

/** Everything as tables of Markdown. */
export function showFigures(figures: Figures, options: Options): string {
  const { counts, latencies, loops, node, memory, fio } = figures;
  return [
    section('Programs that a call runs', countTable(counts)),
    section(`Latency in ms, median / p95 of ${options.rounds} rounds`, latencyTable(latencies)),
    section('Creates of thick volumes, ms for each', loopTable(loops)),
    section('Publish and stats of thin volumes, quarry alone', nodeTable(node)),
    section('Memory', memoryTable(memory)),
    section(`I/O by fio, medians of ${options.fioRounds} rounds`, fioTable(fio)),
    section('Aims', showAims(figures)),
  ].join('\n');
}

function section(title: string, text: string): string {
  return `### ${title}\n\n${text}\n`;
}

function countTable(rows: readonly CountRow[]): string {
  const head = ['call', 'quarry: changes', 'looks', 'other programs', 'bare lvm', lvmd];
  return table(
    head,
    rows.map(({ what, runs, lvmd: theirs }) => [
      ...[what, String(runs.changes), String(runs.reads), showPrograms(runs), '1'],
      theirs === undefined ? '-' : `${theirs.waited} + ${theirs.reports}`,
    ]),
  );
}

const lvmd = "TopoLVM's lvmd";

function showPrograms({ programs }: Runs): string {
  const names = Object.entries(programs).map(([name, count]) =>
    count === 1 ? name : `${count} ${name}`,
  );
  return names.length === 0 ? '0' : names.join(', ');
}

function latencyTable(rows: readonly LatencyRow[]): string {
  const head = ['call', 'volumes', 'quarry', 'bare lvm', lvmd, 'quarry : bare', 'lvmd : quarry'];
  const ordered = rows.toSorted((a, b) => order(a).localeCompare(order(b)));
  return table(
    head,
    ordered.map(({ kind, operation, existing, ms }) => {
      const [quarry, bare, theirs] = [median(ms.quarry), median(ms.bare), median(ms.lvmd)];
      return [
        ...[`${operation} ${kind}`, String(existing)],
        ...[showTimes(ms.quarry), showTimes(ms.bare), showTimes(ms.lvmd)],
        ...[ratio(quarry, bare), ratio(theirs, quarry)],
      ];
    }),
  );
}

function order({ kind, operation, existing }: LatencyRow): string {
  const places = ['create', 'expand', 'snapshot', 'delete'];
  return `${kind} ${places.indexOf(operation)} ${String(existing).padStart(6, '0')}`;
}

function showTimes(ms: readonly number[]): string {
  if (ms.length === 0) return '-';
  return `${median(ms).toFixed(0)} / ${quantile(ms, 0.95).toFixed(0)}`;
}

function loopTable(rows: readonly LoopRow[]): string {
  const looks = ['changes each', 'looks each'];
  const head = ['creates', 'from', 'quarry', 'with its rest', 'bare lvm', lvmd, 'quarry : bare'];
  return table(
    [...head, ...looks],
    rows.map(({ what, existing, quarry, bare, lvmd: theirs, runs }) => {
      const each = ({ ms, count }: { readonly ms: number; readonly count: number }) => ms / count;
      const atRest = each({ ms: quarry.ms + quarry.restMs, count: quarry.count });
      return [
        ...[`${quarry.count} ${what === 'serial' ? 'one by one' : 'at once'}`, String(existing)],
        ...[each(quarry).toFixed(0), atRest.toFixed(0), each(bare).toFixed(0)],
        theirs === undefined ? '-' : each(theirs).toFixed(0),
        ratio(each(quarry), each(bare)),
        ...[runs.changes, runs.reads].map((count) => (count / quarry.count).toFixed(2)),
      ];
    }),
  );
}

function nodeTable(rows: readonly NodeRow[]): string {
  const head = ['call', 'lvm: changes', 'looks', 'other programs', 'median / p95 ms'];
  return table(
    head,
    rows.map(({ what, runs, ms }) => [
      ...[what, String(runs.changes), String(runs.reads), showPrograms(runs), showTimes(ms)],
    ]),
  );
}

function memoryTable(rows: readonly MemoryRow[]): string {
  return table(
    ['volumes', 'quarry: resident MiB', 'anonymous', `${lvmd}: resident MiB`, 'anonymous'],
    rows.map(({ existing, quarry, lvmd: theirs }) => [
      String(existing),
      ...[quarry, theirs].flatMap(({ rssMiB, anonMiB }) => [
        ...[rssMiB.toFixed(0), anonMiB.toFixed(0)],
      ]),
    ]),
  );
}

function fioTable(rows: readonly FioRow[]): string {
  const head = [
    'volume',
    '4k random read /s',
    '4k random write /s',
    '1M read MiB/s',
    '1M write MiB/s',
  ];
  const [raw] = rows;
  return table(
    head,
    rows.map(({ target, iops }) => [
      target,
      ...jobs.map((job) => {
        const value = median(iops[job]);
        const share = raw === undefined ? '' : ` (${ratio(value, median(raw.iops[job]))})`;
        return `${value.toFixed(0)}${share}`;
      }),
    ]),
  );
}
