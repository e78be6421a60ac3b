import type { LogicalVolume } from '../api/objects/logical-volume.ts';
import type { SnapshotError, VolumeSnapshotClass } from '../api/objects/snapshot.ts';
import { assert } from '../base/assert.ts';
import { OperationError } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { groupNameAnnotation } from '../core/cluster/logical-volume-group.ts';
import { groupAnnotation } from '../core/cluster/names.ts';
import {
  type ContentStep,
  type ContentView,
  contentStep,
  isFinal,
} from '../core/cluster/snapshot-content.ts';
import type { ContentMarks } from '../core/cluster/snapshot-content-marks.ts';
import { failedStatus } from '../core/cluster/snapshot-content-status.ts';
import { failureMessage } from '../csi/status.ts';
import { isKubeError, KubeError } from '../kube/errors.ts';
import { apiVersionOf, type KubeObject } from '../kube/kind.ts';
import type { Patch } from '../kube/patch.ts';
import { WorkQueue } from '../kube/queue.ts';
import type { Cluster, Duty } from './duty.ts';
import type { Operation } from './endings.ts';
import type { KindWatch, Served } from './kind-watch.ts';
import { untilAnswered } from './provisioner-wait.ts';

type Content = KubeObject & {
  readonly status?: { readonly error?: SnapshotError; readonly readyToUse?: boolean };
};

/** What differs between contents of one snapshot and contents of a group of them. */
export type ContentFace<T extends Content> = {
  readonly noun: string;
  readonly operations: { readonly make: Operation; readonly remove: Operation };
  readonly contents: KindWatch<T>;
  readonly classes: KindWatch<VolumeSnapshotClass>;
  readonly marks: ContentMarks;
  /** Undefined: it is another driver's. */
  view(content: T): ContentView | undefined;
  /** The status of what was made, found or seen. */
  make(content: T, step: Step<'make'>, signal: AbortSignal): Promise<ContentStatus>;
  check(content: T, step: Step<'check'>): Promise<ContentStatus>;
  /** Gone, or never there. */
  remove(content: T, step: Step<'remove'>, signal: AbortSignal): Promise<void>;
  /** Nothing bears the name: only when that is sure. */
  isAbsent(name: string): Promise<boolean>;
  readonly cleared: object;
  /** The words of events that people know. */
  readonly reasons: Readonly<Record<'make' | 'check' | 'remove', string>>;
};

type Wish = {
  readonly kind: 'make' | 'remove';
  readonly name: string;
  readonly signal: AbortSignal;
};
type Step<K extends ContentStep['kind']> = Extract<ContentStep, { kind: K }>;
type ContentStatus = { readonly readyToUse: boolean };

/** It is told already; the queue comes back later and later. */
class NotYet extends Error {
  override readonly name = 'NotYet';
}

/** Brings contents of our driver about: what is decided is `contentStep`. */
export class ContentKeeper<T extends Content> implements Duty {
  readonly #cluster: Cluster;
  readonly #face: ContentFace<T>;
  /** Contents whose node was silent, by what they wait for. */
  readonly #silent = new Map<string, string>();

  constructor(cluster: Cluster, face: ContentFace<T>) {
    this.#cluster = cluster;
    this.#face = face;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, chance, stores } = this.#cluster;
    const { contents, classes } = this.#face;
    const queue = new WorkQueue({
      ...{ clock, chance, workers: limits.clusterWorkers },
      ...{ firstWaitMs: limits.clusterRetryMs, longestWaitMs: limits.clusterRetryMsMax },
      work: (key, stop) => this.#unlessStopped(key, stop),
      trouble: (key, error, waitMs) => this.#tell(key, error, waitMs),
    });
    const again = (isWanted: (content: T) => boolean) => {
      for (const content of contents.values()) {
        if (isWanted(content)) queue.add(content.metadata.name);
      }
    };
    const ends = [
      contents.onChange(({ object }) => queue.add(object.metadata.name)),
      classes.onServed(() => again(() => true)),
      // A class that was missing may be there now.
      classes.onChange(() => again(({ status }) => status?.readyToUse !== true)),
      stores.logicalVolumes.onChange(({ object }) => {
        for (const name of namesOf(object)) {
          const content = this.#silent.get(name);
          if (this.#silent.delete(name) && content !== undefined) queue.add(content);
        }
      }),
    ];
    try {
      await queue.run(signal);
    } finally {
      for (const end of ends) end();
    }
  }

  /** What ends with us has not failed. */
  async #unlessStopped(name: string, signal: AbortSignal): Promise<undefined> {
    try {
      await this.#work(name, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Step by step until it rests; each write is made upon what it was decided from. */
  async #work(name: string, signal: AbortSignal): Promise<void> {
    const { contents, classes } = this.#face;
    const served = classes.isKnown ? contents.current : undefined;
    let content = served?.informer.get({ name });
    // What was just written is known to be true.
    let isLive = false;
    for (let pass = 0; served !== undefined && content !== undefined; pass += 1) {
      assert(pass < limits.passesMax, 'a content comes to rest');
      if (signal.aborted) return;
      const view = this.#face.view(content);
      const step = view === undefined ? undefined : contentStep(view);
      if (step === undefined || step.kind === 'rest') return;
      if (!isLive && touches(step)) {
        const live = await this.#live(served, content);
        if (live !== content) {
          content = live;
          isLive = true;
          continue;
        }
      }
      const before: T = content;
      content = await this.#carryOut(served, before, step, signal).catch((error: unknown) =>
        this.#anew(served, before, error),
      );
      isLive = true;
    }
  }

  /** Somebody wrote first, or gave it up while it was tried: that need not wait for later. */
  async #anew(served: Served<T>, before: T, error: unknown): Promise<T | undefined> {
    const { name } = before.metadata;
    const isNew = error instanceof NotYet && this.#isGivenUp(before, served.informer.get({ name }));
    if (isNew || isKubeError(error, 'Conflict')) return this.#live(served, before);
    throw error;
  }

  #isGivenUp(before: T, now: T | undefined): boolean {
    const { beingDeleted } = this.#face.marks;
    const signsOf = (content: T | undefined) =>
      [content?.metadata.deletionTimestamp, content?.metadata.annotations?.[beingDeleted]].join();
    return now !== undefined && signsOf(now) !== signsOf(before);
  }

  /** Nothing is made or removed for an object that is gone, whatever the watch has told. */
  async #live(served: Served<T>, content: T): Promise<T | undefined> {
    const { name, uid, resourceVersion } = content.metadata;
    const found = await this.#cluster.client.find(served.kind, { name });
    if (found === undefined || found.metadata.uid !== uid) return undefined;
    if (found.metadata.resourceVersion === resourceVersion) return content;
    served.informer.putOwn(found);
    return found;
  }

  async #carryOut(
    served: Served<T>,
    content: T,
    step: Exclude<ContentStep, { kind: 'rest' }>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    const { marks } = this.#face;
    const subject = { served, content };
    switch (step.kind) {
      case 'announce':
        return this.#patch(subject, annotate(marks.beingCreated, 'yes'));
      case 'settle':
        return this.#patch(subject, annotate(marks.beingCreated, null));
      case 'release':
        return this.#release(subject);
      case 'refuse':
        await this.#fail(subject, step.during, step.message);
        throw new NotYet(step.message);
      case 'make':
        return this.#make(subject, step, signal);
      case 'check':
        return this.#check(subject, step);
      case 'remove':
        return this.#remove(subject, step, signal);
    }
  }

  async #make(subject: Subject<T>, step: Step<'make'>, signal: AbortSignal) {
    let status: ContentStatus;
    try {
      status = await this.#answered(subject, { kind: 'make', name: step.name, signal }, (until) =>
        this.#face.make(subject.content, step, until),
      );
    } catch (error) {
      if (signal.aborted) throw error;
      const isSure = error instanceof OperationError && (await this.#isFinal(error, step.name));
      const content = isSure ? await this.#settled(subject) : subject.content;
      await this.#fail({ ...subject, content: content ?? subject.content }, 'make', wordsOf(error));
      throw new NotYet(`${step.name}: ${wordsOf(error)}`, { cause: error });
    }
    return this.#found(subject, status);
  }

  /** Who waits longer than a node should take is woken by what it does then. */
  async #answered<R>(
    { content }: Subject<T>,
    wish: Wish,
    begin: (signal: AbortSignal) => Promise<R>,
  ): Promise<R> {
    const { kind, name, signal } = wish;
    const { clock, endings } = this.#cluster;
    const what = () => `the node has not ${kind === 'make' ? 'made' : 'removed'} ${name}`;
    const asked = { operation: this.#face.operations[kind], key: content.metadata.uid };
    try {
      return await endings.of(asked, signal, () => untilAnswered({ clock, signal, what }, begin));
    } catch (error) {
      const isSilent = error instanceof OperationError && error.code === 'NodeSilent';
      if (isSilent) this.#silent.set(name, content.metadata.name);
      throw error;
    }
  }

  async #isFinal(error: OperationError, name: string): Promise<boolean> {
    if (isFinal(error.code, false)) return true;
    return isFinal(error.code, true) && (await this.#face.isAbsent(name));
  }

  /** With its handle in the status it is safe, so the mark goes whether it is ready or not. */
  async #found(subject: Subject<T>, status: ContentStatus): Promise<T | undefined> {
    const content = await this.#patch(subject, { status }, 'status');
    if (status.readyToUse || content === undefined) return content;
    await this.#settled({ ...subject, content });
    throw new NotYet('it is not ready to use');
  }

  async #check(subject: Subject<T>, step: Step<'check'>): Promise<T | undefined> {
    let status: ContentStatus;
    try {
      status = await this.#face.check(subject.content, step);
    } catch (error) {
      await this.#fail(subject, 'check', wordsOf(error));
      throw new NotYet(`${step.handle}: ${wordsOf(error)}`, { cause: error });
    }
    return this.#found(subject, status);
  }

  async #remove(subject: Subject<T>, step: Step<'remove'>, signal: AbortSignal) {
    const { cleared } = this.#face;
    const { metadata } = subject.content;
    try {
      const name = step.handle ?? step.name ?? '';
      await this.#answered(subject, { kind: 'remove', name, signal }, (until) =>
        this.#face.remove(subject.content, step, until),
      );
    } catch (error) {
      if (signal.aborted) throw error;
      await this.#fail(subject, 'remove', wordsOf(error));
      throw new NotYet(wordsOf(error), { cause: error });
    }
    this.#log('info', 'removed', metadata.name, { handle: step.handle ?? step.name });
    const isTold = subject.content.status !== undefined;
    const content = isTold
      ? await this.#patch(subject, { status: cleared }, 'status')
      : subject.content;
    return content === undefined ? undefined : this.#release({ ...subject, content });
  }

  #release(subject: Subject<T>): Promise<T | undefined> {
    const finalizers = subject.content.metadata.finalizers ?? [];
    const left = finalizers.filter((one) => one !== this.#face.marks.finalizer);
    return this.#patch(subject, { metadata: { finalizers: left } });
  }

  async #settled(subject: Subject<T>): Promise<T | undefined> {
    const { beingCreated } = this.#face.marks;
    if (subject.content.metadata.annotations?.[beingCreated] === undefined) return subject.content;
    return this.#patch(subject, annotate(beingCreated, null));
  }

  /** In the status for programs, as an event for people; once, as long as it says the same. */
  async #fail(
    subject: Subject<T>,
    during: 'make' | 'check' | 'remove',
    message: string,
  ): Promise<void> {
    const { content, served } = subject;
    const time = new Date(this.#cluster.wall()).toISOString();
    const status = failedStatus(content.status, message, time);
    if (status === undefined) return;
    const reason = this.#face.reasons[during];
    const { name, uid } = content.metadata;
    const about = { apiVersion: apiVersionOf(served.kind), kind: served.kind.kind, name, uid };
    this.#cluster.recorder.event(about, { type: 'Warning', reason, message });
    // What goes was ready once, and still is for who reads it: only the event tells.
    if (during !== 'remove') await this.#patch(subject, { status }, 'status');
  }

  /** Only as we know it. Undefined when the object is gone, so that nothing is left to do. */
  async #patch(
    { served, content }: Subject<T>,
    change: { readonly metadata?: object; readonly status?: object },
    subresource?: 'status',
  ): Promise<T | undefined> {
    const { name, resourceVersion } = content.metadata;
    const metadata = { ...change.metadata, resourceVersion };
    const patch: Patch = { type: 'merge', body: { ...change, metadata } };
    try {
      const options = subresource === undefined ? {} : { subresource };
      const written = await this.#cluster.client.patch(served.kind, { name }, patch, options);
      served.informer.putOwn(written);
      return written;
    } catch (error) {
      if (isKubeError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #tell(name: string, error: unknown, waitMs: number): void {
    if (error instanceof NotYet) return;
    if (error instanceof KubeError || error instanceof OperationError) {
      this.#log('warn', error.message, name, { waitMs });
      return;
    }
    throw error;
  }

  #log(level: 'info' | 'warn', message: string, object: string, fields: object): void {
    this.#cluster.log({ level, message, noun: this.#face.noun, object, ...fields });
  }
}

type Subject<T extends Content> = { readonly served: Served<T>; readonly content: T };

/** What somebody may know it by who waits for it. */
function namesOf({ metadata }: LogicalVolume): readonly string[] {
  const { name, uid, annotations = {} } = metadata;
  const group = [annotations[groupNameAnnotation], annotations[groupAnnotation]];
  return [name, uid, ...group.filter((one) => one !== undefined)];
}

/** Does it change what is on the nodes? */
function touches(step: ContentStep): boolean {
  return step.kind === 'make' || step.kind === 'remove';
}

function annotate(key: string, value: string | null) {
  return { metadata: { annotations: { [key]: value } } };
}

/** A sentence with its remedy. What nobody expected is no reason to stop watching the others. */
function wordsOf(error: unknown): string {
  if (error instanceof OperationError) return failureMessage(error.code, error.message);
  if (error instanceof KubeError) return error.message;
  throw error;
}
