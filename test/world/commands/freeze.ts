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

/** The shell script that freezes and thaws: by its arguments, until its input ends or it is late. */
export function holdFreeze(machine: Machine, argv: readonly string[]): Running {
  const [seconds = '0', ...paths] = argv.slice(4);
  const startedMs = machine.clock.nowMs();
  const stop = new AbortController();
  const thaw = () => {
    for (const path of paths) fsfreeze(machine, ['fsfreeze', '--unfreeze', path]);
  };
  const work = async (ready: () => void): Promise<CommandResult> => {
    let exitCode = 0;
    for (const path of paths) {
      await machine.clock.sleep(20);
      exitCode ||= fsfreeze(machine, ['fsfreeze', '--freeze', path]).exitCode;
    }
    if (exitCode === 0) {
      ready();
      await machine.clock.sleep(Number(seconds) * 1000, stop.signal);
      exitCode = stop.signal.aborted ? 0 : 124;
    }
    thaw();
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
