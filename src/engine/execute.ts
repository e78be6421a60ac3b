import { type FailureCode, OperationError } from '../base/failures.ts';
import { show } from '../base/show.ts';
import type { PublicationStepKind } from '../core/publication/step.ts';
import type { ChangeTags, Step, StepKind } from '../core/step.ts';
import { commandOfAll, commandsOf } from '../lvm/argv.ts';
import type { Command, CommandResult } from '../lvm/command.ts';
import { isInVg, type MappedDevice, parseDevices } from '../lvm/dmsetup.ts';
import { lookMapped, resumeDevice } from '../lvm/looks.ts';
import { codeOf, gist } from '../lvm/stderr.ts';
import type { Host, Signal, Trace } from './ports.ts';

export type Subject = { readonly noun: string; readonly volume: string };

/** A look: its answer, or an OperationError. Nothing changed, so nothing has to be awaited. */
export async function read(host: Host, command: Command, signal?: Signal): Promise<CommandResult> {
  const result = await host.start(command, signal).result;
  if (result.exitCode !== 0) throw failureOf(command, result);
  return result;
}

/**
 * Runs a step. It returns or throws only when every program it started is really gone, so the
 * caller may hold a place in a queue for exactly as long as the host is being changed. What it
 * said on stdout is returned.
 */
export async function execute(
  host: Host,
  step: Step,
  subject: Subject,
  trace: Trace,
): Promise<string> {
  let said = '';
  for (const command of commandsOf(step)) {
    said += await runCommand(host, command, step, subject, trace);
  }
  return said;
}

/** The same change of tags, for several at once. */
export async function executeAll(
  host: Host,
  steps: readonly [ChangeTags, ...ChangeTags[]],
  noun: string,
  trace: Trace,
): Promise<string> {
  const volume = steps.map(({ lv }) => lv).join(' ');
  return runCommand(host, commandOfAll(steps), steps[0], { noun, volume }, trace);
}

type AnyStep = { readonly kind: StepKind | PublicationStepKind };

export async function runCommand(
  host: Host,
  command: Command,
  step: AnyStep,
  subject: Subject,
  trace: Trace,
  heard?: (text: string) => void,
): Promise<string> {
  const running = host.start(command, undefined, heard);
  let result: CommandResult | undefined;
  let failure: OperationError | undefined;
  try {
    result = await running.result;
    if (result.exitCode !== 0) failure = stepFailure(step, failureOf(command, result));
  } catch (error) {
    failure = asOperationError(error);
  }
  await running.gone;
  trace({
    ...subject,
    step: step.kind,
    argv: command.argv,
    durationMs: result?.durationMs ?? 0,
    exitCode: result?.exitCode,
    ...(failure === undefined ? {} : { error: failure.message }),
  });
  if (failure !== undefined) throw failure;
  return result?.stdout ?? '';
}

/**
 * An lvm command that dies between suspending and resuming leaves devices on which all I/O hangs.
 * Those of the given group are resumed, after a command of ours failed in it. Side by side: dmsetup
 * waits until udev has read from a volume, and that waits for the suspended pool below it.
 */
export async function resumeSuspended(
  host: Host,
  vgUuid: string,
  subject: Subject,
  trace: Trace,
): Promise<readonly string[]> {
  const devices = await mappedDevices(host, vgUuid);
  const names = devices.filter(({ isSuspended }) => isSuspended).map(({ name }) => name);
  const endings = await Promise.allSettled(names.map((name) => resume(host, name, subject, trace)));
  const failed = endings.find((ending) => ending.status === 'rejected');
  if (failed !== undefined) throw asOperationError(failed.reason);
  return names;
}

/** What the kernel has of a group. */
export async function mappedDevices(host: Host, vgUuid: string): Promise<readonly MappedDevice[]> {
  return (await allMappedDevices(host)).filter((device) => isInVg(device, vgUuid));
}

/** dmsetup asks the kernel and nobody else: if it fails here, there is nobody to ask. */
export async function allMappedDevices(host: Host): Promise<readonly MappedDevice[]> {
  try {
    return parseDevices((await read(host, lookMapped)).stdout);
  } catch (error) {
    const failure = asOperationError(error);
    if (failure.code !== 'CommandFailed') throw failure;
    throw new OperationError('DeviceMapperMissing', failure.message, { cause: failure });
  }
}

async function resume(host: Host, name: string, subject: Subject, trace: Trace): Promise<void> {
  const command = resumeDevice(name);
  const running = host.start(command);
  const result = await running.result;
  await running.gone;
  const { argv } = command;
  const { durationMs, exitCode } = result;
  trace({ ...subject, step: 'resume-device', argv, durationMs, exitCode });
  if (exitCode !== 0) throw failureOf(command, result);
}

/** "No room" means something else to whoever creates, grows or takes a snapshot. */
function stepFailure(step: AnyStep, failure: OperationError): OperationError {
  if (!noRoom.has(failure.code)) return failure;
  const code = roomCodes[step.kind];
  return code === undefined ? failure : new OperationError(code, failure.message);
}

const noRoom: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'InsufficientCapacity',
  'ThinPoolFull',
  'VolumeGroupMetadataFull',
]);

const roomCodes: { readonly [kind in AnyStep['kind']]?: FailureCode } = {
  'evacuate-pv': 'DeviceStays',
  'extend-lv': 'InsufficientCapacityToExpand',
  'create-thin-snapshot': 'InsufficientCapacityForSnapshot',
  'create-cow-snapshot': 'InsufficientCapacityForSnapshot',
};

export function failureOf(command: Command, result: CommandResult): OperationError {
  const { exitCode, signal, stderr } = result;
  const how = exitCode === undefined ? `was ended by ${signal}` : `ended with code ${exitCode}`;
  const code: FailureCode = exitCode === undefined ? 'CommandKilled' : codeOf(stderr);
  return new OperationError(code, `${command.argv.join(' ')} ${how}: ${gist(stderr)}`);
}

export function asOperationError(error: unknown): OperationError {
  if (error instanceof OperationError) return error;
  throw error instanceof Error ? error : new Error(`thrown: ${show(error)}`);
}
