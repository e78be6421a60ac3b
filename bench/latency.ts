import type { Driver } from './driver.ts';
import {
  clocked,
  type Kind,
  kinds,
  type LatencyRow,
  type Operation,
  operations,
  type Side,
  sides,
} from './figures.ts';
import { group, lvm, runPeer, snapshotOf } from './peers.ts';
import { Steps } from './steps.ts';

/** The replay takes longer than the others together: it is done in every third round. */
const lvmdEvery = 3;

/**
 * Each operation by each side in turn, so that all meet the same noise; who is first changes from
 * round to round.
 */
export async function measureLatency(
  driver: Driver,
  existing: number,
  rounds: number,
): Promise<readonly LatencyRow[]> {
  const rows = kinds.flatMap((kind) => operations.map((operation) => newRow(kind, operation)));
  for (let round = 0; round < rounds; round += 1) {
    const present = sides.filter((side) => side !== 'lvmd' || round % lvmdEvery === 0);
    const order = present.map((_, index) => present[(index + round) % present.length] ?? 'bare');
    for (const kind of kinds) {
      const own = rows.filter((row) => row.kind === kind);
      await liveOnce(driver, kind, { name: `l${existing}-${kind}-${round}`, order, rows: own });
    }
  }
  return rows.map((row) => ({ ...row, existing }));
}

type OpenRow = {
  readonly kind: Kind;
  readonly operation: Operation;
  readonly ms: Readonly<Record<Side, number[]>>;
};

function newRow(kind: Kind, operation: Operation): OpenRow {
  return { kind, operation, ms: { quarry: [], bare: [], lvmd: [] } };
}

type Life = {
  readonly name: string;
  readonly order: readonly Side[];
  readonly rows: readonly OpenRow[];
};

async function liveOnce(driver: Driver, kind: Kind, { name, order, rows }: Life): Promise<void> {
  const steps = new Steps(driver, kind, name);
  for (const { operation, ms } of rows) {
    for (const side of order) {
      if (side === 'quarry') ms.quarry.push(await ourTurn(driver, () => steps.run(operation)));
      else if (side === 'bare' || kind === 'thin' || operation !== 'snapshot') {
        const volume = `${side}-${name}`;
        ms[side].push(await clocked(() => runPeer(side, kind, operation, volume)));
      }
    }
    if (operation === 'snapshot') await dropSnapshots(driver, steps, { name, order, kind });
  }
}

async function ourTurn(driver: Driver, work: () => Promise<void>): Promise<number> {
  const ms = await clocked(work);
  await driver.atRest();
  return ms;
}

async function dropSnapshots(
  driver: Driver,
  steps: Steps,
  { name, order, kind }: Omit<Life, 'rows'> & { readonly kind: Kind },
): Promise<void> {
  await ourTurn(driver, () => steps.dropSnapshot());
  const peers = order.filter((side) => side === 'bare' || (side === 'lvmd' && kind === 'thin'));
  const made = peers.map((peer) => `${group}/${snapshotOf(`${peer}-${name}`)}`);
  await lvm(['lvremove', '--yes', ...made]);
}
