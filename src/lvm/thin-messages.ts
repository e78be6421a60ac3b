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

/** Every thin device of a pool, with the transaction that made it. The pool stays in use. */
export function lookThinDevices(pool: string, metadata: string): Command {
  const script = [
    'dmsetup message "$1" 0 reserve_metadata_snap || exit',
    'thin_ls --metadata-snap --format DEV,TRANSACTION --no-headers "/dev/mapper/$2"',
    'code=$?',
    'dmsetup message "$1" 0 release_metadata_snap',
    'exit $code',
  ].join('\n');
  const argv = ['sh', '-c', script, 'quarry-thin-devices', pool, metadata] as const;
  return { argv, effect: 'changes', timeoutMs: limits.changeTimeoutMs };
}

/** The pool refuses unless it is at `from`. */
export function setTransaction(pool: string, from: number, to: number): Command {
  const argv = ['dmsetup', 'message', pool, '0', `set_transaction_id ${from} ${to}`] as const;
  return { argv, effect: 'changes', timeoutMs: limits.changeTimeoutMs };
}

/** What waits to be told to a pool. */
export type QueuedMessages = {
  /** The one that the pool will be at afterwards. */
  readonly transaction: number;
  /** Device ids of volumes to be made. */
  readonly creates: readonly number[];
  /** How many other messages there are. */
  readonly others: number;
};

export function parseQueuedMessages(text: string, pool: string): QueuedMessages | undefined {
  const block = blockOf(text, pool);
  const transaction = /type = "thin-pool"[\s\S]*?\btransaction_id = (\d+)/.exec(block)?.[1];
  if (transaction === undefined) return undefined;
  const messages = [...block.matchAll(/message\d+ \{([^}]*)\}/g)].map(([, body = '']) => body);
  const creates = messages.flatMap((body) => {
    const name = /create = "([^"]+)"/.exec(body)?.[1];
    const id = /device_id = (\d+)/.exec(name === undefined ? '' : blockOf(text, name))?.[1];
    return id === undefined ? [] : [Number(id)];
  });
  const others = messages.length - creates.length;
  return { transaction: Number(transaction), creates, others };
}

/** lvm indents volumes by two tabs, and everything in them by more. */
function blockOf(text: string, name: string): string {
  const start = text.indexOf(`\n\t\t${name} {\n`);
  return start < 0 ? '' : text.slice(start, text.indexOf('\n\t\t}\n', start));
}

/** Device ids, and the transactions that made them. */
export function parseThinDevices(output: string): ReadonlyMap<number, number> {
  return new Map(
    output
      .split('\n')
      .map((line) => /^\s*(\d+)\s+(\d+)\s*$/.exec(line))
      .flatMap((match) => (match === null ? [] : [[Number(match[1]), Number(match[2])] as const])),
  );
}

/** Of `dmsetup status`: the transaction that a pool is at. */
export function parseTransaction(output: string, pool: string): number | undefined {
  const lines = output.split('\n').map((line) => /^(\S+): \d+ \d+ thin-pool (\d+) /.exec(line));
  const found = lines.find((match) => match?.[1] === pool)?.[2];
  return found === undefined ? undefined : Number(found);
}
