import { OperationError } from '../base/failures.ts';
import type { CommandResult } from '../lvm/command.ts';
import { freezeHolder } from '../lvm/freeze-argv.ts';
import { asOperationError, failureOf, type Subject } from './execute.ts';
import type { Host, Trace } from './ports.ts';

/**
 * Does something while nothing is written to the file systems at the paths. If they did not stay
 * frozen to the end, what was done is worth nothing, and that is an error.
 */
export async function whileFrozen<T>(
  paths: readonly string[],
  doors: { readonly host: Host; readonly trace: Trace; readonly subject: Subject },
  work: () => Promise<T>,
): Promise<T> {
  if (paths.length === 0) return work();
  const command = freezeHolder(paths);
  const holder = doors.host.start(command);
  let end: CommandResult | undefined;
  try {
    end = await Promise.race([holder.result, holder.ready]);
    if (end !== undefined) throw failureOf(command, end);
    const result = await work();
    holder.release?.();
    end = await holder.result;
    if (end.exitCode === 0) return result;
    throw new OperationError('FreezeBroken', 'the file systems did not stay frozen long enough');
  } finally {
    holder.release?.();
    end = await holder.result.catch((error: unknown) => void asOperationError(error));
    await holder.gone;
    const { argv } = command;
    const how = { durationMs: end?.durationMs ?? 0, exitCode: end?.exitCode };
    doors.trace({ ...doors.subject, step: 'freeze', argv, ...how });
  }
}
