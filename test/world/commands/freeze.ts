import type { Running } from '../../../src/engine/ports.ts';
import type { CommandResult } from '../../../src/lvm/command.ts';
import type { Machine } from '../machine.ts';
import { type Outcome, Voice } from '../text.ts';

/** fsfreeze: what is written to a frozen file system waits. */
export function fsfreeze(machine: Machine, argv: readonly string[]): Outcome {
  const [, what, path = ''] = argv;
  const mount = machine.table.at(path);
  const voice = new Voice();
  if (mount === undefined || mount.node !== undefined) {
    return voice.err(`fsfreeze: ${path}: is not a directory`).end(1);
  }
  const { lv } = mount;
  if (what === '--freeze') {
    if (machine.frozen.has(lv)) {
      return voice.err(`fsfreeze: ${path}: freeze failed: Device or resource busy`).end(1);
    }
    machine.frozen.add(lv);
    return voice.end();
  }
  const wasFrozen = machine.frozen.delete(lv);
  if (wasFrozen) return voice.end();
  return voice.err(`fsfreeze: ${path}: unfreeze failed: Invalid argument`).end(1);
}

/** The shell script that thaws what killed holders left frozen. */
export function thawLeft(machine: Machine): Outcome {
  const voice = new Voice();
  for (const path of machine.freezeNotes) {
    const { exitCode } = fsfreeze(machine, ['fsfreeze', '--unfreeze', path]);
    if (exitCode === 0) voice.out(path);
  }
  machine.freezeNotes.clear();
  return voice.end();
}

/** The shell script that freezes and thaws: one file system, until its input ends or it is late. */
export function holdFreeze(machine: Machine, argv: readonly string[]): Running {
  const [seconds = '0', path = ''] = argv.slice(4);
  const startedMs = machine.clock.nowMs();
  const stop = new AbortController();
  const work = async (ready: () => void): Promise<CommandResult> => {
    await machine.clock.sleep(20);
    let { exitCode } = fsfreeze(machine, ['fsfreeze', '--freeze', path]);
    if (exitCode === 0) {
      ready();
      await machine.clock.sleep(Number(seconds) * 1000, stop.signal);
      exitCode = stop.signal.aborted ? 0 : 137;
      fsfreeze(machine, ['fsfreeze', '--unfreeze', path]);
    }
    const durationMs = machine.clock.nowMs() - startedMs;
    return { exitCode, signal: undefined, stdout: '', stderr: '', durationMs };
  };
  let isReady: (value: undefined) => void = () => undefined;
  const ready = new Promise<undefined>((resolve) => {
    isReady = resolve;
  });
  const result = work(() => isReady(undefined));
  const gone = result.then(() => undefined);
  return { result, gone, ready, release: () => stop.abort() };
}
