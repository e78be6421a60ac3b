import { assert } from '../base/assert.ts';
import { type Blocked, blocked, failures, OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { show, showList } from '../base/show.ts';
import { volumeCondition } from '../core/publication/condition.ts';
import {
  type AbsentPublication,
  checkPath,
  type PresentPublication,
  type PublishedVolume,
} from '../core/publication/desired.ts';
import { type DesiredGrowth, planFileSystemGrowth } from '../core/publication/growth.ts';
import type { ObservedMount, ObservedPath } from '../core/publication/observed.ts';
import { planPublication } from '../core/publication/plan.ts';
import { findPublished, isMountOf } from '../core/publication/publishable.ts';
import { planUnpublication } from '../core/publication/removal.ts';
import {
  type PublicationStats,
  type PublicationStatus,
  publicationStatus,
} from '../core/publication/status.ts';
import type { GroupWant, PublicationDecision, PublicationStep } from '../core/publication/step.ts';
import { type Member, planStillness } from '../core/snapshot-group/stillness.ts';
import { isBlocked } from '../core/usable-vg.ts';
import { kernelReleasePath } from '../lvm/freeze-argv.ts';
import { publicationCommands } from '../lvm/publication-argv.ts';
import type { Engine } from './engine.ts';
import { asOperationError, runCommand, type Subject } from './execute.ts';
import { thawFrozen, whileFrozen } from './freezer.ts';
import type { Outcome } from './job.ts';
import { PublicationEye } from './look-publication.ts';
import type { Clock, Host, Signal, Trace } from './ports.ts';
import { PublicationView } from './publication-view.ts';
import { publicationTask } from './tasks.ts';
import { Turns } from './turns.ts';

/**
 * Shows volumes at paths and takes them away again. Volumes do not wait for each other: a slow mkfs
 * delays nobody else, and only what needs lvm takes its turn in the queue of the group. Calls for
 * one volume, and for one path, come one after another. Whoever stops waiting loses only the wait:
 * what was begun is brought to its end.
 */
export class Publisher {
  readonly #engine: Engine;
  readonly #host: Host;
  readonly #trace: Trace;
  readonly #eye: PublicationEye;
  readonly #turns = new Turns();

  constructor(parts: {
    readonly engine: Engine;
    readonly host: Host;
    readonly clock: Clock;
    readonly trace: Trace;
  }) {
    this.#engine = parts.engine;
    this.#host = parts.host;
    this.#trace = parts.trace;
    this.#eye = new PublicationEye(parts.host, parts.clock);
  }

  publish(desired: PresentPublication, signal?: Signal): Promise<Outcome<PublicationStatus>> {
    const view = new PublicationView(this.#engine, this.#eye, desired);
    const look = () => view.look((observed) => planPublication(desired, observed));
    const work = { ...this.#work(desired.volume, view), look };
    return this.#inTurn(desired, signal, () => this.#settle(work));
  }

  /** For volumes that are shown already: the file system follows its volume. */
  grow(desired: DesiredGrowth, signal?: Signal): Promise<Outcome<PublicationStatus>> {
    const view = new PublicationView(this.#engine, this.#eye, desired);
    const look = () => view.look((observed) => planFileSystemGrowth(desired, observed));
    const work = { ...this.#work(desired.volume, view), look };
    return this.#inTurn(desired, signal, () => this.#settle(work));
  }

  unpublish(desired: AbsentPublication, signal?: Signal): Promise<Outcome<PublicationStatus>> {
    const { volume, targetPath } = desired;
    const look = async () => {
      const observed = await this.#eye.removal(volume, targetPath);
      return { observed, decision: planUnpublication(desired, observed) };
    };
    const work = { volume: volume.name, look, hasDone: () => undefined };
    return this.#inTurn(desired, signal, () => this.#settle(work));
  }

  /** How full a volume is and how it is. This runs no program. */
  async stats(volume: PublishedVolume, targetPath: string): Promise<PublicationStats | Blocked> {
    const path = checkPath(targetPath);
    if (typeof path !== 'string') return path;
    const known = this.#engine.model.newest ?? (await this.#engine.observe());
    let found = findPublished(volume, known.host);
    if (isBlocked(found)) found = findPublished(volume, (await this.#engine.observe()).host);
    if (isBlocked(found)) return found;
    // The report may be older than that: asking the file system would hang.
    const device = await this.#eye.device(volume);
    if (device?.isSuspended === true) {
      return blocked('DeviceSuspended', `${device.path} is suspended: its I/O would hang`);
    }
    const { target, here } = await this.#eye.path(path);
    const top = here.at(-1);
    if (top === undefined || !isMountOf(volume, top.owner)) {
      return blocked('NotPublished', `${volume.vg}/${volume.name} is not shown at ${path}`);
    }
    const condition = volumeCondition(found.lv, found.vg);
    if (top.isNode) {
      return { usage: { kind: 'block', sizeBytes: found.lv.sizeBytes }, condition };
    }
    return { usage: { kind: 'mount', ...(await this.#eye.statFs(target.path)) }, condition };
  }

  /** Does something to a volume that nobody sees: none is shown, and none will be meanwhile. */
  unseen<T>(volume: PublishedVolume, work: () => Promise<T>): Promise<T | Blocked> {
    return this.#turns.run(`volume ${volume.name}`, async () => {
      const mounts = await this.nodeMounts();
      const shown = mounts.filter(({ owner }) => isMountOf(volume, owner));
      if (shown.length === 0) return work();
      const paths = showList(shown.map(({ mountPoint }) => mountPoint));
      return blocked('VolumeInUse', `${volume.vg}/${volume.name} is shown at ${paths}`);
    });
  }

  /**
   * Does something while nobody writes to any of the volumes: file systems are frozen, and nothing
   * is shown or taken away meanwhile. What cannot be held still from outside is refused.
   */
  still<T>(
    members: readonly Member[],
    subject: Subject,
    work: () => Promise<T>,
  ): Promise<T | Blocked> {
    const names = members.map(({ volume }) => volume.name).toSorted();
    // Always in the same order, so that two groups never wait for each other.
    const inTurns = names.reduceRight(
      (inner, name) => () => this.#turns.run(`volume ${name}`, inner),
      () => this.#freeze(members, subject, work),
    );
    return inTurns();
  }

  async #freeze<T>(
    members: readonly Member[],
    subject: Subject,
    work: () => Promise<T>,
  ): Promise<T | Blocked> {
    // Who has a volume open only a report tells.
    const { host } = await this.#engine.observe();
    const fresh: Member[] = [];
    for (const { volume } of members) {
      const found = findPublished(volume, host);
      if (isBlocked(found)) return found;
      fresh.push({ volume, lv: found.lv });
    }
    // Somebody else's may be dead, and give no answer.
    const isMembers = ({ owner }: ObservedMount) =>
      members.some(({ volume }) => isMountOf(volume, owner));
    const mounts = (await this.nodeMounts()).filter(isMembers);
    const onTop = new Set<string>();
    for (const mount of mounts) {
      const { here } = await this.#eye.path(mount.mountPoint);
      if (show(here.at(-1)?.owner) === show(mount.owner)) onTop.add(mount.mountPoint);
    }
    const kernelRelease = (await this.#host.readText(kernelReleasePath)).trim();
    const plan = planStillness(fresh, { mounts, onTop, kernelRelease });
    if (isBlocked(plan)) return plan;
    return whileFrozen(plan.freeze, { host: this.#host, trace: this.#trace, subject }, work);
  }

  /** After a start, before anybody asks for something. */
  thaw(): Promise<readonly string[]> {
    return thawFrozen(this.#host, this.#trace);
  }

  /** Everything on this node that shows a volume of LVM, ours or not. */
  nodeMounts(): Promise<readonly ObservedMount[]> {
    return this.#eye.volumeMounts();
  }

  #work(
    volume: PublishedVolume,
    view: PublicationView,
  ): Pick<Work, 'volume' | 'hasDone' | 'inGroup'> {
    return {
      volume: volume.name,
      hasDone: (step) => view.hasDone(step),
      inGroup: (wanted) => this.#engine.submit(publicationTask(volume, wanted)),
    };
  }

  #inTurn<T>(
    { volume, targetPath }: { readonly volume: { readonly name: string }; targetPath: string },
    signal: Signal | undefined,
    work: () => Promise<T>,
  ): Promise<T> {
    const begin = () => {
      // Nobody waits for what has not begun: it is not begun any more.
      if (signal?.aborted !== true) return work();
      throw new OperationError('Cancelled', `nobody waits for ${targetPath} any more`);
    };
    // Volumes before paths, always: nobody who has a path ever waits for a volume.
    const onPath = () => this.#turns.run(`path ${targetPath}`, async () => begin());
    return this.#turns.run(`volume ${volume.name}`, onPath, signal);
  }

  /** A failed step is judged by the next look: what is true counts, not an exit code. */
  async #settle(work: Work): Promise<Outcome<PublicationStatus>> {
    const notes: string[] = [];
    let failure: OperationError | undefined;
    let last = { step: '', repeats: 0 };
    for (let pass = 0; ; pass += 1) {
      assert(pass < limits.passesMax, 'a plan must come to rest');
      const { observed, decision } = await work.look();
      if (decision.kind === 'blocked') return decision;
      assert(decision.kind !== 'look', 'a view looks until the plan knows enough');
      if (decision.kind === 'rest') {
        return { kind: 'settled', status: publicationStatus(observed, notes) };
      }
      const { step } = decision;
      const spelled = show(step);
      last = { step: spelled, repeats: spelled === last.step ? last.repeats + 1 : 0 };
      if (failure !== undefined && last.repeats > 0) return conclude(failure, step);
      if (last.repeats > limits.staleRetriesMax) throw noEffect(step, last.repeats);
      failure = undefined;
      try {
        const refusal = await this.#perform(step, work);
        if (refusal !== undefined) return refusal;
        work.hasDone(step);
      } catch (error) {
        failure = asOperationError(error);
        if (step.kind === 'grow-file-system' && step.mayStaySmall === true) {
          notes.push(failure.message);
          work.hasDone(step);
        }
      }
    }
  }

  /** It ends only when every program it started is really gone. */
  async #perform(step: PublicationStep, work: Work): Promise<Blocked | undefined> {
    const subject = { noun: 'publication', volume: work.volume };
    switch (step.kind) {
      case 'in-group': {
        const outcome = await work.inGroup?.(step);
        return outcome?.kind === 'blocked' ? outcome : undefined;
      }
      case 'make-directory':
      case 'make-file':
      case 'change-mode':
      case 'remove-directory':
      case 'remove-file':
        await this.#changeFile(step, subject);
        return undefined;
      default:
        for (const command of publicationCommands(step)) {
          await runCommand(this.#host, command, step, subject, this.#trace);
        }
        // The mark goes next, and must not be gone before the file system is there for good.
        if (step.kind === 'format-lv') await this.#host.flush([step.device]);
        return undefined;
    }
  }

  async #changeFile(step: FileChange, subject: Subject): Promise<void> {
    const event = { ...subject, step: step.kind, argv: [step.kind, step.path], durationMs: 0 };
    try {
      await this.#host.changeFile(step);
      this.#trace({ ...event, exitCode: 0 });
    } catch (error) {
      this.#trace({ ...event, exitCode: undefined, error: asOperationError(error).message });
      throw error;
    }
  }
}

type FileChange = Parameters<Host['changeFile']>[0];

type Work = {
  readonly volume: string;
  look(): Promise<{ readonly observed: ObservedPath; readonly decision: PublicationDecision }>;
  hasDone(step: PublicationStep): void;
  inGroup?(wanted: GroupWant): Promise<Outcome<undefined>>;
};

/** What trying again cannot change is a refusal, though it was a program that said no. */
function conclude(cause: OperationError, step: PublicationStep): Blocked {
  const advice = step.kind === 'mount' ? step.advice : undefined;
  const message = advice === undefined ? cause.message : `${cause.message}: ${advice}`;
  if (failures[cause.code].retry !== 'backoff') return blocked(cause.code, message);
  throw advice === undefined ? cause : new OperationError(cause.code, message, { cause });
}

function noEffect(step: PublicationStep, times: number): OperationError {
  return new OperationError('StaleView', `${step.kind} had no effect ${times} times`);
}
