import { open } from 'node:fs/promises';
import { type DecodedLvmd, decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { showFinding } from '../api/lvmd-file/findings.ts';
import { type FailureCode, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import {
  type Configuration,
  type ConfigurationView,
  decideConfiguration,
  isInDoubt,
  type LastGood,
  type RefusedClass,
} from '../core/configuration.ts';
import type { DeviceClass } from '../core/device-class.ts';
import type { LvmdSight } from '../core/lvm-cluster/external-report.ts';
import type { ObservedHost } from '../core/observed.ts';
import type { ObservedMount } from '../core/publication/observed.ts';
import { lastGoodOf, readStored, type StoredConfiguration, writeStored } from './last-good.ts';
import type { Log } from './log.ts';

/** The file, and what is kept of it; tests bring others. */
export type ConfigurationFiles = {
  /** ENOENT where there is none. */
  readText(): Promise<string>;
  readStored(): Promise<StoredConfiguration | undefined>;
  writeStored(stored: StoredConfiguration): Promise<void>;
};

/** What stands on disk, before anything is known of the host. */
export type LoadedConfiguration = {
  readonly file: string;
  readonly files: ConfigurationFiles;
  readonly mayBeEmpty: boolean;
  readonly reading: Reading;
  readonly stored: StoredConfiguration | undefined;
};

type Reading = {
  readonly text: string | undefined;
  /** There is no file. One that cannot be read is there. */
  readonly isMissing: boolean;
  readonly decoded: DecodedLvmd;
};

/** How the configuration is, for metrics and people. */
export type ConfigurationState = {
  /** `stale`: the file is not what is in force. */
  readonly state: 'good' | 'stale';
  readonly sinceMs: number;
  readonly file: string;
  readonly problems: readonly string[];
  readonly refused: readonly RefusedClass[];
};

type Parts = {
  readonly log: Log;
  readonly nowMs: () => number;
  /** The newest report, or one begun after this call; and everything that shows a volume. */
  readonly look: (age: 'newest' | 'fresh') => Promise<Looked>;
};

type Looked = {
  readonly host: ObservedHost;
  readonly mounts: readonly ObservedMount[];
  /** Groups that were made here as an LVMCluster asks. */
  readonly made?: ReadonlyMap<string, string>;
  /** Groups that an administrator gave up, and that were not made anew since. */
  readonly givenUp?: ReadonlySet<string>;
};

type Where = {
  readonly lvmdFile: string;
  readonly stateDirectory: string;
  /** Classes come from LVMClusters: there may be none yet. */
  readonly mayBeEmpty?: boolean;
};

export async function loadConfiguration(
  where: Where,
  log: Log,
  files: ConfigurationFiles = filesAt(where),
): Promise<LoadedConfiguration> {
  const { lvmdFile: file, mayBeEmpty = false } = where;
  const stored = await files.readStored().catch((error: unknown) => {
    if (!(error instanceof OperationError)) throw error;
    log({ level: 'warn', message: error.message });
    return undefined;
  });
  const last = stored === undefined ? undefined : lastGoodOf(stored);
  const mayBeMissing = mayBeEmpty && !hasClasses(last);
  const reading = await readConfiguration(file, files, { mayBeEmpty, mayBeMissing });
  return { file, files, mayBeEmpty, reading, stored };
}

function filesAt({ lvmdFile, stateDirectory }: Where): ConfigurationFiles {
  return {
    readText: () => readBounded(lvmdFile),
    readStored: () => readStored(stateDirectory),
    writeStored: (stored) => writeStored(stateDirectory, stored),
  };
}

/** The words to run lvm with. They are needed for the first look, before anything is decided. */
export function lvmCommandOf({ reading, stored }: LoadedConfiguration): readonly string[] {
  const { decoded } = reading;
  if (decoded.kind === 'lvmd') return decoded.spec.lvmCommandPrefix;
  const last = stored === undefined ? undefined : lastGoodOf(stored);
  return last?.spec.lvmCommandPrefix ?? [];
}

/**
 * The configuration in force, from the first look at this host until we stop: what the file says,
 * or what it said when it last was good. Decisions are `core/configuration.ts`; this reads, keeps
 * and tells.
 */
export class LvmdConfiguration {
  readonly #file: string;
  readonly #files: ConfigurationFiles;
  readonly #mayBeEmpty: boolean;
  readonly #parts: Parts;
  readonly #listeners = new Set<(now: Configuration) => Promise<void>>();
  #reading: Reading;
  #stored: StoredConfiguration | undefined;
  #current: Configuration | undefined;
  #known: Pick<Looked, 'made' | 'givenUp'> = {};
  #told = '';
  #state: Pick<ConfigurationState, 'state' | 'sinceMs'>;
  #turn: Promise<void> = Promise.resolve();

  constructor(loaded: LoadedConfiguration, parts: Parts) {
    this.#file = loaded.file;
    this.#files = loaded.files;
    this.#mayBeEmpty = loaded.mayBeEmpty;
    this.#reading = loaded.reading;
    this.#stored = loaded.stored;
    this.#parts = parts;
    this.#state = { state: 'good', sinceMs: parts.nowMs() };
  }

  get current(): Configuration {
    if (this.#current === undefined) throw new Error('the configuration is not settled yet');
    return this.#current;
  }

  get classes(): readonly DeviceClass[] {
    return this.#current?.classes ?? [];
  }

  get state(): ConfigurationState {
    const { problems = [], refused = [] } = this.#current ?? {};
    return { ...this.#state, file: this.#file, problems: problems.map(showFinding), refused };
  }

  /** For whoever reports what lvmd.yaml gives this node. */
  get sight(): LvmdSight {
    const { source, problems, classes, refused, retired } = this.current;
    return {
      ...{ file: this.#file, isMissing: this.#reading.isMissing, source },
      ...{ problems: problems.map(showFinding), classes, refused },
      retired: retired.map(({ name }) => name),
    };
  }

  /** Groups that may hold volumes of ours, whatever will be decided. */
  get groups(): readonly string[] {
    const { decoded } = this.#reading;
    const placed = decoded.kind === 'lvmd' ? decoded : decoded.sound;
    const inFile = placed?.spec.deviceClasses.map(({ volumeGroup }) => volumeGroup) ?? [];
    const last = this.#last();
    const before = last?.spec.deviceClasses.map(({ volumeGroup }) => volumeGroup) ?? [];
    const retired = last?.retired.map(({ vg }) => vg) ?? [];
    return [...new Set([...inFile, ...before, ...retired])];
  }

  /** Can this file not be served on any host? There is no older one, and no class in it is right. */
  get isHopeless(): boolean {
    const { decoded } = this.#reading;
    const isServable = decoded.kind === 'lvmd' || decoded.sound !== undefined;
    return !isServable && this.#last() === undefined;
  }

  /**
   * Why nothing is served. What is wrong with the file comes first: it can be told, and mended,
   * though this host cannot be looked at as it must be.
   */
  async explain(found: {
    readonly failure?: OperationError;
    readonly mayLook: boolean;
  }): Promise<OperationError> {
    this.#tellWarnings();
    const { failure } = found;
    const { decoded } = this.#reading;
    const looked = found.mayLook ? await this.#lookIfItHelps() : undefined;
    const view = this.#view();
    const decision = looked === undefined ? undefined : decideConfiguration({ ...view, ...looked });
    const own = decoded.kind === 'problems' ? decoded.problems : [];
    const lines = (decision?.problems ?? own).map(showFinding);
    if (failure === undefined) return this.#refusal(lines);
    if (lines.length === 0) return failure;
    const isRefused = decision === undefined ? view.last === undefined : decision.kind === 'refuse';
    const host = `this host cannot be used either: ${failure.code}: ${failure.message}`;
    return this.#refusal([...lines, host], isRefused ? 'InvalidConfiguration' : failure.code);
  }

  /** Groups and pools that are missing are told along, if it can be known. */
  async #lookIfItHelps(): Promise<Looked | undefined> {
    const { decoded } = this.#reading;
    if (decoded.kind === 'problems' && decoded.whole === undefined) return undefined;
    try {
      return await this.#parts.look('fresh');
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      return undefined;
    }
  }

  onChange(listener: (now: Configuration) => Promise<void>): void {
    this.#listeners.add(listener);
  }

  /** The first decision. Where nothing depends on us it may be: not with this file. */
  async settle(): Promise<void> {
    this.#tellWarnings();
    await this.#decide('newest');
  }

  /** The file may have changed. */
  reread(): Promise<void> {
    return this.#inTurn(async () => {
      const mayBeEmpty = this.#mayBeEmpty;
      const mayBeMissing = mayBeEmpty && !hasClasses(this.#current ?? this.#last());
      const known = this.#reading;
      const options = { known, mayBeEmpty, mayBeMissing };
      const reading = await readConfiguration(this.#file, this.#files, options);
      const isKnown = reading === this.#reading || show(reading) === show(this.#reading);
      if (isKnown) return;
      this.#reading = reading;
      this.#tellWarnings();
      await this.#decide('fresh');
    });
  }

  /** Groups and pools come and go, and the last volume of a retired class may be gone. */
  reconsider(host: ObservedHost): Promise<void> {
    const known = this.#known;
    const seen = decideConfiguration({ ...this.#view(), ...known, host, mounts: [] });
    const isSettled = this.#current !== undefined;
    const isSame = sameAs(seen, this.#current) && !isInDoubt(known, host);
    if (!isSettled || isSame) return Promise.resolve();
    return this.#inTurn(() => this.#decide('newest'));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    this.#turn = this.#turn.then(work).catch((error: unknown) => {
      if (!(error instanceof OperationError)) throw error;
      // The next report or the next look at the file tries again.
      const message = `${this.#file} cannot be judged now: ${error.message}`;
      this.#parts.log({ level: 'warn', message });
    });
    return this.#turn;
  }

  async #decide(age: 'newest' | 'fresh'): Promise<void> {
    const looked = await this.#parts.look(age);
    const { made, givenUp } = looked;
    this.#known = { ...(made && { made }), ...(givenUp && { givenUp }) };
    const decision = decideConfiguration({ ...this.#view(), ...looked });
    if (decision.kind === 'refuse') throw this.#refusal(decision.problems.map(showFinding));
    const before = this.#current;
    if (sameAs(decision, before)) return;
    this.#current = decision;
    this.#tell(decision);
    await this.#store(decision);
    if (before === undefined) return;
    for (const listener of this.#listeners) await listener(decision);
  }

  #view(): Omit<ConfigurationView, 'host' | 'mounts'> {
    // With LVMClusters a file that is gone is told on the node's report: somebody has to start.
    const isTold = this.#mayBeEmpty && this.#reading.isMissing;
    const isServing = this.#current !== undefined || isTold;
    const last = this.#current ?? this.#last();
    return { file: this.#file, decoded: this.#reading.decoded, last, isServing };
  }

  #last() {
    return this.#stored === undefined ? undefined : lastGoodOf(this.#stored);
  }

  #refusal(
    problems: readonly string[],
    code: FailureCode = 'InvalidConfiguration',
  ): OperationError {
    const lines = problems.map((line) => `  ${line}`).join('\n');
    const message = `${this.#file} cannot be used, and nothing is served yet:\n${lines}`;
    return new OperationError(code, message);
  }

  #tellWarnings(): void {
    for (const warning of this.#reading.decoded.warnings) {
      this.#parts.log({ level: 'warn', message: showFinding(warning) });
    }
  }

  /** Once for each thing that is wrong, however often it is looked at. */
  #tell({ source, problems, refused, classes, advice }: Configuration): void {
    const { log, nowMs } = this.#parts;
    const lines = problems.map(showFinding);
    const told = show({ source, lines, refused, classes, advice });
    if (told === this.#told) return;
    this.#told = told;
    const state = source === 'file' ? 'good' : 'stale';
    if (state !== this.#state.state) this.#state = { state, sinceMs: nowMs() };
    const names = classes.map(({ name }) => name);
    const message =
      source === 'file'
        ? `${this.#file} is in force`
        : `${this.#file} cannot be used: ${inForceInstead[source]} in force`;
    const level = lines.length + refused.length > 0 ? 'warn' : 'info';
    log({ level, message, classes: names, problems: lines, refused });
    for (const one of advice) log({ level: 'warn', message: one });
  }

  /** Only what was wholly good once is kept for the day when the file is not. */
  async #store({ source, problems, retired }: Configuration): Promise<void> {
    const { text, decoded } = this.#reading;
    if (source !== 'file' || text === undefined) return;
    if (problems.length > 0 && this.#stored === undefined) return;
    if (decoded.kind !== 'lvmd') return;
    const stored = {
      text,
      retired: retired.map(({ name, vgUuid }) => ({
        ...{ name, text: this.#textOf(name) },
        ...(vgUuid === undefined ? {} : { vgUuid }),
      })),
    };
    if (show(stored) === show(this.#stored ?? {})) return;
    try {
      await this.#files.writeStored(stored);
    } catch (error) {
      if (!(error instanceof OperationError)) throw error;
      this.#parts.log({ level: 'warn', message: error.message });
    }
    this.#stored = stored;
  }

  /** The last text that had a class which the file has no longer. */
  #textOf(name: string): string {
    const older = this.#stored?.retired.find((candidate) => candidate.name === name);
    return older?.text ?? this.#stored?.text ?? '';
  }
}

function hasClasses(last: LastGood | undefined): boolean {
  return last !== undefined && last.spec.deviceClasses.length + last.retired.length > 0;
}

const inForceInstead = {
  'last-good': 'the last good configuration stays',
  'sound-part': 'the classes without a fault are',
} as const;

function sameAs(decision: object, current: Configuration | undefined): boolean {
  return (
    current !== undefined && show({ ...decision, kind: '' }) === show({ ...current, kind: '' })
  );
}

type ReadOptions = {
  readonly known?: Reading;
  /** It may say that there is no class. */
  readonly mayBeEmpty: boolean;
  /** There was no class before, and nothing to be lost. */
  readonly mayBeMissing: boolean;
};

/** A file that is not there is one more thing that can be wrong with it. */
async function readConfiguration(
  file: string,
  files: ConfigurationFiles,
  options: ReadOptions,
): Promise<Reading> {
  const { known, mayBeEmpty, mayBeMissing } = options;
  try {
    const text = await files.readText();
    if (text === known?.text) return known;
    return { text, isMissing: false, decoded: decodeLvmdFile({ file, text, mayBeEmpty }) };
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT';
    if (isMissing && mayBeMissing) {
      const empty = { file, text: 'device-classes: []', mayBeEmpty: true };
      return { text: undefined, isMissing, decoded: decodeLvmdFile(empty) };
    }
    const value = isMissing ? 'missing' : `unreadable (${code || message})`;
    const remedy = isMissing ? 'write it, or name another with --config' : 'make it readable';
    const problem = { file, line: 1, field: 'the file', value, remedy };
    const decoded = {
      whole: undefined,
      kind: 'problems',
      problems: [problem],
      warnings: [],
      sound: undefined,
    } as const;
    return { text: undefined, isMissing, decoded };
  }
}

/** One byte more than is allowed tells that it is too long; the rest is not worth reading. */
async function readBounded(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, limits.lvmdFileBytesMax) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    return buffer.toString('utf8', 0, length);
  } finally {
    await file.close();
  }
}
