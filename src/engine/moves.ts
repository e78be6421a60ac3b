import type { OperationError } from '../base/failures.ts';
import type { EvacuatePv } from '../core/step.ts';
import { commandsOf } from '../lvm/argv.ts';
import { movedPercent } from '../lvm/progress.ts';
import { asOperationError, runCommand, type Subject } from './execute.ts';
import type { HostModel } from './model.ts';
import type { Host, Trace } from './ports.ts';

/** A device that is being emptied, and how far it is; nothing before the first word of it. */
export type Move = { readonly device: string; readonly percent: number | undefined };

type Tools = {
  readonly host: Host;
  readonly model: HostModel;
  readonly trace: Trace;
  /** Told of a step that failed. */
  readonly suspect: (step: EvacuatePv) => void;
};

/**
 * Devices that are being emptied, one in each group. It takes hours, and LVM lets others in
 * meanwhile: nobody waits for it. Who is killed finds it half done, and lets it go on.
 */
export class Moves {
  readonly #tools: Tools;
  readonly #running = new Map<string, Move>();
  readonly #failed = new Map<string, OperationError>();

  constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** By the name of the group. */
  in(vg: string): Move | undefined {
    return this.#running.get(vg);
  }

  /** What went wrong the last time is thrown once, and tried again after that. */
  goOn(step: EvacuatePv, subject: Subject): void {
    if (this.#running.has(step.vg)) return;
    const failure = this.#failed.get(step.vg);
    this.#failed.delete(step.vg);
    if (failure !== undefined) throw failure;
    this.#running.set(step.vg, { device: step.device, percent: undefined });
    void this.#run(step, subject);
  }

  /** Nothing is left to be moved: whatever went wrong, it does not matter. */
  forgive(vg: string): void {
    this.#failed.delete(vg);
  }

  async #run(step: EvacuatePv, subject: Subject): Promise<void> {
    const { host, model, trace, suspect } = this.#tools;
    try {
      const heard = (text: string) => this.#hear(step, text);
      for (const command of commandsOf(step)) {
        await runCommand(host, command, step, subject, trace, heard);
      }
    } catch (error) {
      this.#failed.set(step.vg, asOperationError(error));
      suspect(step);
    } finally {
      this.#running.delete(step.vg);
      model.changed();
      model.hint();
    }
  }

  #hear({ vg, device }: EvacuatePv, text: string): void {
    const before = this.#running.get(vg);
    // A word that comes late must not make it run again: nobody would ever let it go on.
    if (before?.device !== device) return;
    const percent = movedPercent(text) ?? before.percent;
    this.#running.set(vg, { device, percent });
    // Places are taken for it now.
    if (before.percent === undefined && percent !== undefined) this.#tools.model.hint();
  }
}
