import { limits } from '../base/limits.ts';
import type { Command } from './command.ts';

/**
 * What lvm has written down to tell a thin pool, and what the pool has done of it. lvm has no
 * report of its messages: they stand in the text of its metadata only.
 */
export function lookMetadataText(vg: string): Command {
  const script = [
    'file=$(mktemp) || exit',
    'lvm vgcfgbackup --file "$file" "$1" > /dev/null && cat "$file"',
    'code=$?',
    'rm -f "$file"',
    'exit $code',
  ].join('\n');
  const argv = ['sh', '-c', script, 'quarry-metadata', vg] as const;
  return { argv, effect: 'reads', timeoutMs: limits.readTimeoutMs };
}

/**
 * Every thin device of a pool, and when it was made, by the pool's own counts. The pool stays in
 * use. What is reserved for it is released again, whoever tells us to stop meanwhile.
 */
export function lookThinDevices(pool: string, metadata: string): Command {
  const script = [
    'trap "" HUP INT PIPE TERM',
    'dmsetup message "$1" 0 reserve_metadata_snap || exit',
    `thin_ls --metadata-snap --format ${deviceFields} --no-headers "/dev/mapper/$2"`,
    'code=$?',
    'dmsetup message "$1" 0 release_metadata_snap || code=$?',
    'exit $code',
  ].join('\n');
  const argv = ['sh', '-c', script, 'quarry-thin-devices', pool, metadata] as const;
  return { argv, effect: 'changes', timeoutMs: limits.changeTimeoutMs };
}

const deviceFields = 'DEV,TRANSACTION,CREATE_TIME,SNAP_TIME,MAPPED_BLOCKS';

/** The pool refuses unless it is at `from`. */
export function setTransaction(pool: string, from: number, to: number): Command {
  const argv = ['dmsetup', 'message', pool, '0', `set_transaction_id ${from} ${to}`] as const;
  return { argv, effect: 'changes', timeoutMs: limits.changeTimeoutMs };
}

/** What waits to be told to a pool. */
export type QueuedMessages = {
  /** The one that the pool will be at afterwards. */
  readonly transaction: number;
  /** Volumes to be made, by their device ids; `origin` is that of what a snapshot is of. */
  readonly creates: readonly { readonly id: number; readonly origin: number | undefined }[];
  /** How many other messages there are. */
  readonly others: number;
};

export function parseQueuedMessages(text: string, pool: string): QueuedMessages | undefined {
  const block = blockOf(text, pool);
  const transaction = /type = "thin-pool"[\s\S]*?\btransaction_id = (\d+)/.exec(block)?.[1];
  if (transaction === undefined) return undefined;
  const messages = [...block.matchAll(/message\d+ \{([^}]*)\}/g)].map(([, body = '']) => body);
  const creates = messages.flatMap((body) => {
    const own = blockOf(text, /create = "([^"]+)"/.exec(body)?.[1]);
    const id = deviceIn(own);
    const origin = deviceIn(blockOf(text, /\borigin = "([^"]+)"/.exec(own)?.[1]));
    return id === undefined ? [] : [{ id, origin }];
  });
  const others = messages.length - creates.length;
  return { transaction: Number(transaction), creates, others };
}

function deviceIn(block: string): number | undefined {
  const id = /\bdevice_id = (\d+)/.exec(block)?.[1];
  return id === undefined ? undefined : Number(id);
}

/** lvm indents volumes by two tabs, and everything in them by more. Devices stand before them. */
function blockOf(text: string, name: string | undefined): string {
  const volumes = text.indexOf('\n\tlogical_volumes {\n');
  const start = volumes < 0 ? -1 : text.indexOf(`\n\t\t${name} {\n`, volumes);
  return start < 0 ? '' : text.slice(start, text.indexOf('\n\t\t}\n', start));
}

/** By the counts of a pool: its transactions, and the snapshots that were ever taken in it. */
export type ThinDevice = {
  readonly transaction: number;
  readonly created: number;
  /** When the last snapshot was taken of it. */
  readonly snapshotted: number;
  readonly mappedBlocks: number;
};

const deviceLine = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*$/;

export function parseThinDevices(output: string): ReadonlyMap<number, ThinDevice> {
  const lines = output.split('\n').flatMap((line) => {
    const match = deviceLine.exec(line);
    return match === null ? [] : [match.slice(1).map(Number)];
  });
  return new Map(
    lines.map(([id = 0, transaction = 0, created = 0, snapshotted = 0, mappedBlocks = 0]) => [
      id,
      { transaction, created, snapshotted, mappedBlocks },
    ]),
  );
}

/**
 * Is a device the very snapshot that lvm has noted? It was made in the transaction that is open,
 * and in the moment in which its origin was snapshotted last: every snapshot has a moment of its
 * own. A volume that was made empty shares it with the snapshot before it, and has no blocks.
 */
export function isThatSnapshot(
  { id, origin }: QueuedMessages['creates'][number],
  devices: ReadonlyMap<number, ThinDevice>,
  transaction: number,
): boolean {
  const own = devices.get(id);
  const of = origin === undefined ? undefined : devices.get(origin);
  if (own === undefined || of === undefined) return false;
  const isOfItsMoment = own.created === of.snapshotted && of.snapshotted > of.created;
  const isEmptyByRight = own.mappedBlocks > 0 || of.mappedBlocks === 0;
  return own.transaction === transaction && isOfItsMoment && isEmptyByRight;
}

/** Of `dmsetup status`: the transaction that a pool is at. */
export function parseTransaction(output: string, pool: string): number | undefined {
  const lines = output.split('\n').map((line) => /^(\S+): \d+ \d+ thin-pool (\d+) /.exec(line));
  const found = lines.find((match) => match?.[1] === pool)?.[2];
  return found === undefined ? undefined : Number(found);
}
