import type { PublishedVolume } from '../core/publication/desired.ts';
import { type Done, nothingDone, type ObservedPublication } from '../core/publication/observed.ts';
import type { PublicationDecision, PublicationStep } from '../core/publication/step.ts';
import type { Engine } from './engine.ts';
import type { PublicationEye } from './look-publication.ts';

type Looked = {
  readonly observed: ObservedPublication;
  readonly decision: PublicationDecision;
};

/**
 * What one request sees. It looks at what costs nothing, and at more only when the plan asks. A
 * refusal stands on a report that was begun after the request came.
 */
export class PublicationView {
  readonly #engine: Engine;
  readonly #eye: PublicationEye;
  readonly #wanted: { readonly volume: PublishedVolume; readonly targetPath: string };
  #done: Done = nothingDone;
  #isReportFresh = false;

  constructor(
    engine: Engine,
    eye: PublicationEye,
    wanted: { readonly volume: PublishedVolume; readonly targetPath: string },
  ) {
    this.#engine = engine;
    this.#eye = eye;
    this.#wanted = wanted;
  }

  /** Looks until the plan knows enough to say what to do. */
  async look(plan: (observed: ObservedPublication) => PublicationDecision): Promise<Looked> {
    let observed = await this.#cheapLook();
    for (;;) {
      const decision = plan(observed);
      if (decision.kind === 'look') observed = await this.#lookCloser(observed, decision.at);
      else if (decision.kind === 'blocked' && !this.#isReportFresh) {
        observed = await this.#lookCloser(observed, 'report');
      } else return { observed, decision };
    }
  }

  hasDone(step: PublicationStep): void {
    if (step.kind === 'format-lv') this.#done = { ...this.#done, isFormatted: true };
    if (step.kind === 'grow-file-system') this.#done = { ...this.#done, hasTriedToGrow: true };
  }

  async #cheapLook(): Promise<ObservedPublication> {
    const { volume, targetPath } = this.#wanted;
    const { newest } = this.#engine.model;
    if (newest === undefined) this.#isReportFresh = true;
    const { host } = newest ?? (await this.#engine.observe());
    // Before the mounts: what one of these did just before it ended is among them.
    const strays = await this.#engine.strays();
    const lines = await this.#eye.mountLines();
    const path = await this.#eye.path(targetPath, lines);
    const device = await this.#eye.device(volume);
    const elsewhere =
      device === undefined ? [] : await this.#eye.elsewhere(device, path.target.path, lines);
    return {
      ...path,
      host,
      strays,
      isReportFresh: this.#isReportFresh,
      device,
      elsewhere,
      fileSystem: undefined,
      probes: undefined,
      done: this.#done,
    };
  }

  async #lookCloser(
    observed: ObservedPublication,
    at: 'file-system' | 'probes' | 'report',
  ): Promise<ObservedPublication> {
    const { device } = observed;
    if (at === 'report' || device === undefined) {
      await this.#engine.observe();
      this.#isReportFresh = true;
      return this.#cheapLook();
    }
    if (at === 'probes') return { ...observed, probes: await this.#eye.probes(device) };
    const top = observed.here.at(-1);
    const mountedAt = top === undefined || top.isNode ? undefined : observed.target.path;
    return { ...observed, fileSystem: await this.#eye.fileSystem(device, mountedAt) };
  }
}
