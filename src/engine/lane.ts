import { dmName } from '../api/lv-name.ts';
import { assert } from '../base/assert.ts';
import { blocked, failures, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show } from '../base/show.ts';
import type { ObservedHost } from '../core/observed.ts';
import { predict } from '../core/predict.ts';
import { needsLook, staleReason } from '../core/stale.ts';
import { type Decision, isLong, isPlainRetag, type OnLv, type Step } from '../core/step.ts';
import { afterWitnessed, canBeWitnessed } from '../core/witness.ts';
import { commandsOf } from '../lvm/argv.ts';
import { chooseBurst, type Part, together } from './burst.ts';
import {
  asOperationError,
  execute,
  executeAll,
  resumeSuspended,
  runCommand,
  type Subject,
} from './execute.ts';
import type { Job } from './job.ts';
import { type Mendable, mend, mendable } from './mend.ts';
import type { HostModel, Report } from './model.ts';
import type { Host, Trace } from './ports.ts';
import type { Witness } from './witness.ts';

/** What the lanes of one host share. */
export type LaneTools = {
  readonly host: Host;
  readonly model: HostModel;
  readonly witness: Witness;
  readonly trace: Trace;
  /** Changing commands of an earlier life that still run, each in its words. */
  readonly strays?: () => Promise<readonly string[]>;
};

/**
 * The write queue of one volume group: one change at a time, in the order they came. Changes that
 * wait together form a burst. Within it the effect of each step is predicted, so that a burst
 * costs one refresh at most. Whoever asked is answered when the kernel bears out what lvm did, or
 * else from that refresh, and never from a prediction alone.
 */
export class Lane {
  readonly #tools: LaneTools;
  #waiting: (Job | Exclusive)[] = [];
  #isWorking = false;
  #lastChange = 0;
  /** Our last change that only a report can tell the outcome of. */
  #lastDoubt = 0;
  /** Groups in which a command of ours failed, and may have left a device suspended. */
  readonly #suspects = new Set<string>();
  /** What stopped our last step, and can be taken out of its way. */
  #mendable: Mendable | undefined;
  /** Long steps under way, by what they write to. */
  readonly #long = new Map<string, Promise<void>>();
  /** Our last change that is known to survive a power cut; of an earlier life none is. */
  #lastFlush = -1;

  constructor(tools: LaneTools) {
    this.#tools = tools;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** A search for suspended devices could not be finished: it is taken up at the next look. */
  takeUpRescue(): void {
    if (this.#suspects.size === 0) return;
    // It failed before and may fail again; the next look takes it up once more.
    this.exclusive(() => this.rescue()).catch(asOperationError);
  }

  add(job: Job): void {
    job.askedAt = this.#tools.model.changed();
    if (this.#waiting.length >= limits.queueLengthMax) job.fail(queueFull(job.task.vg));
    else this.#enqueue(job);
  }

  #enqueue(item: Job | Exclusive): void {
    this.#waiting.push(item);
    void this.#work();
  }

  /** Runs something alone in this lane, for work that looks for itself. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = async () => {
        try {
          await this.rescue();
          resolve(await work());
        } catch (error) {
          reject(error);
        } finally {
          this.#doubt();
        }
      };
      if (this.#waiting.length >= limits.queueLengthMax) reject(queueFull('this node'));
      else this.#enqueue({ kind: 'exclusive', run });
    });
  }

  async #work(): Promise<void> {
    if (this.#isWorking) return;
    this.#isWorking = true;
    try {
      for (;;) {
        // Whatever is asked for in this same turn of events belongs to the same burst.
        await Promise.resolve();
        const next = this.#take();
        if (next === undefined) return;
        if ('run' in next) await next.run();
        else await this.#tools.model.changing(() => this.#runBurst(next));
      }
    } finally {
      this.#isWorking = false;
    }
  }

  /** Nobody passes work that is done alone, nor is passed by it. */
  #take(): Exclusive | readonly Job[] | undefined {
    const [first] = this.#waiting;
    if (first === undefined) return undefined;
    const alone = this.#waiting.findIndex(isExclusive);
    const jobs = alone === -1 ? this.#waiting : this.#waiting.slice(0, alone);
    const taken = isExclusive(first) ? first : chooseBurst(jobs.filter(isJob));
    const gone = new Set<Job | Exclusive>('run' in taken ? [taken] : taken);
    this.#waiting = this.#waiting.filter((item) => !gone.has(item));
    return taken;
  }

  async #runBurst(burst: readonly Job[]): Promise<void> {
    try {
      await this.rescue();
      await this.#runWitnessed(burst);
      for (let pass = 0; ; pass += 1) {
        assert(pass < limits.passesMax, 'a burst must come to rest');
        await this.rescue();
        if (burst.every((job) => job.isDone || job.isAway)) return;
        const report = await this.#reportFor(burst);
        await this.#flush(report, burst[0]?.task.vg ?? '');
        const open = burst.filter((job) => !job.isDone && !job.isAway);
        const left = open.filter((job) => !this.#conclude(job, report.host));
        if (left.length === 0) return;
        await this.#runSteps(left, report);
      }
    } catch (error) {
      for (const job of burst) if (!job.isAway) job.fail(error);
      // Somebody may wait for none of them: a bug must stop us all the same.
      if (!(error instanceof OperationError)) throw error;
    }
  }

  /**
   * A report that shows our last change. If somebody would be refused it is one that began after
   * he asked: what was in his way may be gone.
   */
  async #reportFor(burst: readonly Job[]): Promise<Report> {
    const { model } = this.#tools;
    const report = await model.since(this.#lastChange);
    const refused = burst.filter(
      (job) => !job.isDone && !job.isAway && job.task.plan(report.host).kind === 'blocked',
    );
    return model.since(Math.max(report.startedAt, ...refused.map(({ askedAt }) => askedAt)));
  }

  /**
   * Changes that come one after the other need no look in between, as long as each was borne out
   * by the kernel and the next is of the same sort. What would be refused is looked at first.
   */
  async #runWitnessed(burst: readonly Job[]): Promise<void> {
    const { model } = this.#tools;
    const { newest: view } = model;
    if (view === undefined || view.startedAt >= this.#lastChange) return;
    if (view.startedAt < this.#lastDoubt || !model.isBelieved) return;
    const open = burst.filter((job) => !job.isDone);
    if (open.every((job) => isOfTheSort(job.task.plan(view.host)))) {
      await this.#runSteps(open, view);
    }
  }

  /**
   * lvm does not empty the caches of disks: what it wrote may be gone after a power cut. Nobody is
   * told of a change before every device of the group has it for good, nor of what an earlier life
   * did, which may have died before it saw to that. This is no lvm run.
   */
  async #flush(report: Report, vgName: string): Promise<void> {
    const change = this.#lastChange;
    if (change === this.#lastFlush) return;
    const flush = this.#tools.host.flush(devicesOf(report.host, vgName));
    // Before our first change a device that is broken is in nobody's way.
    await (change === 0 ? flush.catch(asOperationError) : flush);
    this.#lastFlush = change;
  }

  /**
   * lvm can fail between suspending a device and resuming it, with or without a telling exit
   * code, and all I/O to the device hangs. Nothing else is done in the group before that is
   * mended, and only in its turn: another command may have suspended a device on purpose.
   */
  async rescue(): Promise<void> {
    await this.#resume();
    const trouble = this.#mendable;
    this.#mendable = undefined;
    if (trouble !== undefined) await this.#mend(trouble);
  }

  /** Tells the kernel how a volume is, in its turn. */
  reload(step: OnLv): Promise<void> {
    return this.exclusive(() => this.#mend({ how: 'reload-volume', step }));
  }

  async #resume(): Promise<void> {
    const { host, trace } = this.#tools;
    for (const vgUuid of this.#suspects) {
      await resumeSuspended(host, vgUuid, { noun: 'rescue', volume: '' }, trace);
      this.#suspects.delete(vgUuid);
    }
  }

  /** What mends may itself die while a device is suspended. */
  async #mend(trouble: Mendable): Promise<void> {
    try {
      await mend(this.#tools, trouble);
    } catch (error) {
      // Whoever needs what is not mended is told so by his own step.
      asOperationError(error);
      this.suspect(trouble.step);
      await this.#resume();
    }
  }

  /** After a failure: the group is searched before anything else is done in it. */
  suspect(step: Step | OnLv): void {
    if ('vgUuid' in step) this.#suspects.add(step.vgUuid);
  }

  /** Is a job at its end, judged by a real report? Only such a report may end one. */
  #conclude(job: Job, host: ObservedHost): boolean {
    const decision = job.task.plan(host);
    if (decision.kind === 'rest') job.settle(host);
    else if (decision.kind === 'blocked') job.refuse(decision);
    else return concludeStep(job, decision.step);
    return true;
  }

  /** One round: each job may take steps until it needs to see what its last one did. */
  async #runSteps(jobs: readonly Job[], report: Report): Promise<void> {
    let { host } = report;
    for (const job of jobs) {
      while (!job.isDone && job.failure === undefined) {
        const decision = job.task.plan(host);
        if (decision.kind !== 'step' || needsLook(decision.step)) break;
        if (isLong(decision.step)) {
          void this.#runAway(job, decision.step);
          break;
        }
        const parts = together({ job, step: decision.step }, jobs, host);
        // What a failed step did nobody knows yet: whoever comes after it waits for a look.
        const end = await this.#runParts(parts, report);
        if (end === undefined) return;
        // All that came true is known before the first is told: a flush may fail.
        for (const { step: done } of parts) host = await this.#see(done, { ...end, host });
        for (const part of parts) await this.#settle(part.job, host, report);
      }
    }
  }

  /**
   * The kernel has borne out the last step of a job. If nothing is left to do, it is done; unless
   * something before it, on which the plan rests, was only foreseen.
   */
  async #settle(job: Job, host: ObservedHost, report: Report): Promise<void> {
    if (this.#lastDoubt > report.startedAt || job.task.plan(host).kind !== 'rest') return;
    await this.#flush(report, job.task.vg);
    job.settle(host);
  }

  /** Or nothing: then it failed, or was not even tried. */
  async #runParts(parts: readonly [Part, ...Part[]], report: Report): Promise<End | undefined> {
    for (const { job, step } of parts) this.#count(job, step);
    // A look that somebody else asked for meanwhile may know better than the plan does.
    const newest = this.#tools.model.newest ?? report;
    const isStale = parts.some(({ step }) => staleReason(step, newest.host) !== undefined);
    if (newest !== report && isStale) return undefined;
    const [{ job, step }] = parts;
    // To lvm it is active, and still it is not as the books have it.
    const isInVain = step.kind === 'activate-lv' && job.repeats > 0 && job.hasEndedWell;
    if (isInVain) await this.#mend({ how: 'reload-volume', step });
    try {
      const said = await this.#execute(parts);
      for (const part of parts) part.job.hasEndedWell = true;
      const change = this.#tools.model.changed();
      this.#lastChange = change;
      return { said, change };
    } catch (error) {
      const failure = asOperationError(error);
      if (parts.length === 1) this.#failed(job, step, failure);
      else for (const part of parts) this.#apart(part);
      this.#doubt();
      return undefined;
    }
  }

  #execute(parts: readonly [Part, ...Part[]]): Promise<string> {
    const { host, trace } = this.#tools;
    const [{ job, step }] = parts;
    const { noun, volume } = job.task;
    const retags = parts.map((part) => part.step).filter(isPlainRetag);
    const [first, ...others] = retags;
    if (first === undefined || parts.length === 1) {
      return execute(host, step, { noun, volume }, trace);
    }
    return executeAll(host, [first, ...others], noun, trace);
  }

  /** One of them made it fail, and the others need not suffer for it. */
  #apart({ job, step }: Part): void {
    job.hasEndedWell = false;
    job.isAlone = true;
    // By itself it was not tried yet, and what can be mended then is mended.
    job.lastStep = '';
    this.suspect(step);
  }

  /** The host after a step that ended well: as the kernel bears it out, or else as foreseen. */
  async #see(step: Step, { said, change, host }: Seen): Promise<ObservedHost> {
    const { model, witness } = this.#tools;
    const uuid = await witness.see(step, said);
    if (uuid === undefined || !canBeWitnessed(step)) {
      this.#lastDoubt = change;
      return predict(host, step);
    }
    model.witness(change, step, uuid);
    return afterWitnessed(host, step, uuid);
  }

  /** What can be mended is mended before the next look, and the step is tried once more. */
  #failed(job: Job, step: Step, failure: OperationError): void {
    job.hasEndedWell = false;
    const trouble = job.repeats === 0 ? mendable(step, failure.code) : undefined;
    if (trouble === undefined) job.failure = failure;
    else this.#mendable = trouble;
    this.suspect(step);
  }

  /** Something changed, and only a look can tell what. */
  #doubt(): void {
    this.#lastChange = this.#tools.model.changed();
    this.#lastDoubt = this.#lastChange;
  }

  #count(job: Job, step: Step): void {
    const spelled = show(step);
    job.stepCount += 1;
    job.repeats = spelled === job.lastStep ? job.repeats + 1 : 0;
    job.lastStep = spelled;
  }

  /**
   * Copying takes hours and changes no metadata, so others need not wait for it. Only what
   * follows it (the note of how far it came) is a change like any other and takes its turn. Whoever
   * left does not end it: the next one who asks waits for it, lest it writes to what he was given.
   */
  async #runAway(job: Job, step: Step): Promise<void> {
    job.isAway = true;
    const key = targetOf(step);
    const other = this.#long.get(key);
    if (other === undefined) {
      const run = this.#runLong(job, step);
      this.#long.set(key, run);
      await run;
      this.#long.delete(key);
    } else await other;
    job.isAway = false;
    this.#enqueue(job);
  }

  async #awaitStrays(step: Step): Promise<void> {
    const stray = strayOn(step, (await this.#tools.strays?.()) ?? []);
    if (stray === undefined) return;
    throw new OperationError('CommandTimedOut', `${stray}, of an earlier life of ours, still runs`);
  }

  async #runLong(job: Job, step: Step): Promise<void> {
    this.#count(job, step);
    const { noun, volume } = job.task;
    const { host, trace } = this.#tools;
    const [first, ...others] = commandsOf(step);
    try {
      assert(first !== undefined, 'a step has at least one command');
      await this.#awaitStrays(step);
      await runCommand(host, first, step, { noun, volume }, trace);
      await this.exclusive(async () => {
        for (const command of others) {
          await runCommand(host, command, step, { noun, volume }, trace);
        }
      });
    } catch (error) {
      this.#failed(job, step, asOperationError(error));
    }
    this.#doubt();
  }
}

/** What an earlier life writes to a volume may come after all that is written to it now. */
function strayOn(step: Step, strays: readonly string[]): string | undefined {
  if (!('lvUuid' in step)) return undefined;
  const device = `/dev/mapper/${dmName(step.vg, step.lv)}`;
  return strays.find((words) => words.split(/[\s=]/).includes(device));
}

function targetOf(step: Step): string {
  if ('lvUuid' in step) return step.lvUuid;
  return 'pvUuid' in step ? step.pvUuid : show(step);
}

export function devicesOf(host: ObservedHost, vgName: string): readonly string[] {
  const pvs = host.vgs.filter((vg) => vg.name === vgName).flatMap((vg) => vg.pvs);
  return pvs.filter((pv) => !pv.isMissing).map((pv) => pv.device);
}

/** The same step again failed. Another one means that what failed had its effect all the same. */
function concludeStep(job: Job, step: Step): boolean {
  const isSame = show(step) === job.lastStep;
  if (job.failure !== undefined && isSame) concludeFailure(job, job.failure);
  else if (job.repeats > limits.staleRetriesMax) job.fail(endless(job.task, step, job.repeats));
  job.failure = undefined;
  return job.isDone;
}

/** What trying again cannot change is a refusal, though it was lvm that said no. */
function concludeFailure(job: Job, failure: OperationError): void {
  if (failures[failure.code].retry === 'backoff') job.fail(failure);
  else job.refuse(blocked(failure.code, failure.message));
}

/** What lvm said when it ended well, and the model's count of that. */
type End = { readonly said: string; readonly change: number };

type Seen = End & { readonly host: ObservedHost };

function isOfTheSort(decision: Decision): boolean {
  return decision.kind === 'step' && canBeWitnessed(decision.step) && !needsLook(decision.step);
}

type Exclusive = { readonly kind: 'exclusive'; readonly run: () => Promise<void> };

function isExclusive(item: Job | Exclusive): item is Exclusive {
  return 'run' in item;
}

function isJob(item: Job | Exclusive): item is Job {
  return !isExclusive(item);
}

function queueFull(where: string): OperationError {
  const message = `${limits.queueLengthMax} changes already wait for ${where}`;
  return new OperationError('QueueFull', message);
}

export function endless(subject: Subject, step: Step, times: number): OperationError {
  const { noun, volume } = subject;
  const message = `${noun} ${volume}: ${step.kind} had no effect ${times} times`;
  return new OperationError('StaleView', message);
}
