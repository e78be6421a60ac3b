import { OperationError } from '../base/failures.ts';
import type { Command, CommandResult } from '../lvm/command.ts';
import { freezeHolder, thaw, thawLeft } from '../lvm/freeze-argv.ts';
import { asOperationError, failureOf, type Subject } from './execute.ts';
import type { Host, Running, Trace } from './ports.ts';

type Doors = { readonly host: Host; readonly trace: Trace; readonly subject: Subject };

type Holder = { readonly path: string; readonly command: Command; readonly running: Running };

/**
 * Does something while nothing is written to the file systems at the paths. If they did not stay
 * frozen to the end, what was done is worth nothing, and that is an error.
 */
export async function whileFrozen<T>(
  paths: readonly string[],
  doors: Doors,
  work: () => Promise<T>,
): Promise<T> {
  if (paths.length === 0) return work();
  const holders = paths.map((path) => hold(path, doors.host));
  try {
    await allFrozen(holders);
    const result = await work();
    release(holders);
    const ends = await Promise.all(holders.map(({ running }) => running.result));
    if (ends.every(({ exitCode }) => exitCode === 0)) return result;
    throw broken();
  } finally {
    release(holders);
    await Promise.all(holders.map((holder) => endOf(holder, doors)));
  }
}

/** After a start: what an earlier life left frozen, because its holders ended with it. */
export async function thawFrozen(host: Host, trace: Trace): Promise<readonly string[]> {
  // One on a dead disk may never be thawed: that stops nobody else.
  const end = await host.start(thawLeft).result.catch((error) => void asOperationError(error));
  tell(thawLeft, end, { trace, subject: { noun: 'recovery', volume: '' } });
  return (end?.stdout ?? '').split('\n').filter((path) => path !== '');
}

function hold(path: string, host: Host): Holder {
  const command = freezeHolder(path);
  return { path, command, running: host.start(command) };
}

/** One that ends before all are frozen has failed, or waited too long for the others. */
async function allFrozen(holders: readonly Holder[]): Promise<void> {
  const ends = holders.map(async ({ command, running }) => {
    const end = await running.result;
    throw end.exitCode === 1 ? failureOf(command, end) : broken();
  });
  const frozen = holders.map(async ({ running }) => await running.ready);
  await Promise.race([Promise.all(frozen), ...ends]);
}

function release(holders: readonly Holder[]): void {
  for (const { running } of holders) running.release?.();
}

/**
 * One whose disk hangs is not waited for longer than its deadline: it has no input any more, so
 * whenever it goes on, it thaws what it froze.
 */
async function endOf({ path, command, running }: Holder, doors: Doors): Promise<void> {
  const end = await running.result.catch((error: unknown) => void asOperationError(error));
  tell(command, end, doors);
  if (end === undefined || end.exitCode !== undefined) return;
  // Somebody killed it: nobody else would ever thaw what it froze.
  const again = thaw(path);
  const thawed = doors.host.start(again).result;
  tell(again, await thawed.catch((error: unknown) => void asOperationError(error)), doors);
}

function tell(
  { argv }: Command,
  end: CommandResult | undefined,
  { subject, trace }: Pick<Doors, 'subject' | 'trace'>,
): void {
  const how = { durationMs: end?.durationMs ?? 0, exitCode: end?.exitCode };
  trace({ ...subject, step: 'freeze', argv, ...how });
}

function broken(): OperationError {
  return new OperationError('FreezeBroken', 'the file systems did not stay frozen long enough');
}
