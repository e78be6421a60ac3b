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
import type { Lvmd } from './lvmd.ts';
import { group, lvm, runBare, snapshotOf } from './peers.ts';
import { Steps } from './steps.ts';

/**
 * Each operation by each side in turn, so that all meet the same noise; who is first changes from
 * round to round.
 */
export async function measureLatency(
  parties: Parties,
  existing: number,
  rounds: number,
): Promise<readonly LatencyRow[]> {
  const rows = kinds.flatMap((kind) => operations.map((operation) => newRow(kind, operation)));
  for (let round = 0; round < rounds; round += 1) {
    const order = sides.map((_, index) => sides[(index + round) % sides.length] ?? 'bare');
    for (const kind of kinds) {
      const own = rows.filter((row) => row.kind === kind);
      await liveOnce(parties, kind, { name: `l${existing}-${kind}-${round}`, order, rows: own });
    }
  }
  return rows.map((row) => ({ ...row, existing }));
}

export type Parties = { readonly driver: Driver; readonly lvmd: Lvmd };

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

async function liveOnce(parties: Parties, kind: Kind, life: Life): Promise<void> {
  const { driver, lvmd } = parties;
  const { name, order, rows } = life;
  const steps = new Steps(driver, kind, name);
  for (const { operation, ms } of rows) {
    for (const side of order) {
      if (side === 'quarry') ms.quarry.push(await ourTurn(driver, () => steps.run(operation)));
      else if (side === 'bare') {
        ms.bare.push(await clocked(() => runBare(kind, operation, `bare-${name}`)));
      } else if (kind === 'thin' || operation !== 'snapshot') {
        ms.lvmd.push(await clocked(() => lvmd.run(kind, operation, `lvmd-${name}`)));
        await lvmd.atRest();
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
