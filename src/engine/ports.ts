import type { Bytes } from '../base/bytes.ts';
import type { FsSpace } from '../core/publication/status.ts';
import type { FileStep } from '../core/publication/step.ts';
import type { Command, CommandResult } from '../lvm/command.ts';

/**
 * The doors the engine needs. The real ones are in `host/`, the fake ones in `test/world/`; the
 * engine cannot tell them apart, and knows no clock, no process and no file of its own.
 */
export type Host = {
  /**
   * Starts a command. What was started is awaited by `gone`, whatever becomes of `result`. What it
   * says is heard as it says it.
   */
  start(command: Command, signal?: Signal, heard?: (text: string) => void): Running;
  /** Changing commands of an earlier life of ours, or of another process of ours, that still run. */
  strays(): Promise<readonly string[]>;
  /** Can the block device be opened exclusively right now? */
  exclusiveOpen(device: string): Promise<'free' | 'busy' | 'unknown'>;
  /** Who has block devices open for writing without claiming them. */
  deviceUsers(): Promise<readonly DeviceUser[]>;
  /** Symbolic links below a directory and the device paths they resolve to. */
  links(directory: string): Promise<readonly DeviceLink[]>;
  readText(path: string): Promise<string>;
  /** Tells when disks come or go, where it can be heard. The answer ends it. */
  onDevices(tell: () => void): () => void;
  /** Makes devices keep what was written to them, through a power cut too. */
  flush(devices: readonly string[]): Promise<void>;
  /** What is at a path. Links of its parents are resolved; so is a last link, which is told. */
  inspect(path: string): Promise<PathFacts>;
  /** Bytes of a device or file; fewer where it ends before. */
  readBytes(
    path: string,
    range: { readonly offset: number; readonly length: number },
  ): Promise<Uint8Array>;
  /** Room in the file system at a path. */
  statFs(path: string): Promise<FsSpace>;
  /** Makes or takes away one directory or file. What is so already is no error. */
  changeFile(step: FileStep): Promise<void>;
};

export type PathFacts = {
  /** As the kernel's table of mounts would have it. */
  readonly path: string;
  /** `unreadable`: something is there, but asking for it fails, as on a dead file system. */
  readonly kind: 'absent' | 'directory' | 'file' | 'device' | 'other' | 'unreadable';
  readonly isLink: boolean;
  /** `major:minor` of a block device, '' for anything else. */
  readonly number: string;
  /** Permission bits. */
  readonly mode: number;
  readonly sizeBytes: Bytes;
};

export type Running = {
  /**
   * Rejects with an OperationError when the command cannot start, when the caller's patience or
   * its deadline ends, or when the output is too large. A changing command goes on regardless.
   */
  readonly result: Promise<CommandResult>;
  /** Resolves when the program is really gone, also behind nsenter. It never rejects. */
  readonly gone: Promise<void>;
  /** Resolves at the first word of a command that is held. It never rejects. */
  readonly ready?: Promise<undefined>;
  /** Ends the input of a command that is held. */
  readonly release?: () => void;
};

/** Of the device with this `major:minor`: a process or a loop device, as people call it. */
export type DeviceUser = { readonly number: string; readonly by: string };

export type DeviceLink = { readonly link: string; readonly device: string };

export type Clock = {
  nowMs(): number;
  /** Resolves after the time, or at once when the signal fires. */
  sleep(ms: number, signal?: Signal): Promise<void>;
};

/** The part of AbortSignal that the engine uses. */
export type Signal = {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
};

/** What happened, for logs, metrics and tests. One event for each command that was run. */
export type Trace = (event: TraceEvent) => void;

export type TraceEvent = {
  readonly noun: string;
  /** The one key that is the same from a claim to the tag of its volume. */
  readonly volume: string;
  readonly step: string;
  readonly argv: readonly string[];
  readonly durationMs: number;
  readonly exitCode: number | undefined;
  readonly error?: string;
};
