import type { Host } from '../engine/ports.ts';
import type { Command } from '../lvm/command.ts';

export type ProgramRun = {
  readonly command: Command;
  readonly result: 'ok' | 'failed' | 'lost';
  readonly durationMs: number;
};

/** The same door, with every program that goes through it counted: looks as well as changes. */
export function meteredHost(
  host: Host,
  nowMs: () => number,
  tell: (run: ProgramRun) => void,
): Host {
  return {
    ...bound(host),
    start: (command, signal, heard) => {
      const startedAtMs = nowMs();
      const running = host.start(command, signal, heard);
      const end = (result: ProgramRun['result']) =>
        tell({ command, result, durationMs: nowMs() - startedAtMs });
      running.result.then(
        ({ exitCode }) => end(exitCode === 0 ? 'ok' : 'failed'),
        // It could not start, or nobody waits for it any more.
        () => end('lost'),
      );
      return running;
    },
  };
}

/** A host may be a class, whose methods live in its prototype. */
function bound(host: Host): Omit<Host, 'start'> {
  return {
    strays: () => host.strays(),
    exclusiveOpen: (device) => host.exclusiveOpen(device),
    deviceUsers: () => host.deviceUsers(),
    links: (directory) => host.links(directory),
    readText: (path) => host.readText(path),
    onDevices: (tell) => host.onDevices(tell),
    flush: (devices) => host.flush(devices),
    inspect: (path) => host.inspect(path),
    readBytes: (path, range) => host.readBytes(path, range),
    statFs: (path) => host.statFs(path),
    changeFile: (step) => host.changeFile(step),
  };
}
