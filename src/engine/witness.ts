import type { Step } from '../core/step.ts';
import { canBeWitnessed, type Sight, type WitnessedStep, witnessed } from '../core/witness.ts';
import { asOperationError } from './execute.ts';
import type { PublicationEye } from './look-publication.ts';

/** Whom a lane asks if a step has come true. It runs no program. */
export type Witness = {
  /** The identity of the volume that the step was about, or undefined: then a report must tell. */
  see(step: Step, said: string): Promise<string | undefined>;
};

/** The kernel's own books: /dev/mapper and sysfs. */
export function kernelWitness(eye: Pick<PublicationEye, 'device'>): Witness {
  return {
    async see(step, said) {
      if (!canBeWitnessed(step)) return undefined;
      try {
        return witnessed(step, await sightOf(step, said, eye));
      } catch (error) {
        // Whatever the reason: a report tells more.
        asOperationError(error);
        return undefined;
      }
    },
  };
}

async function sightOf(
  step: WitnessedStep,
  said: string,
  eye: Pick<PublicationEye, 'device'>,
): Promise<Sight> {
  const { vg, lv } = step;
  const device = await eye.device({ vg, name: lv });
  const origin = 'origin' in step ? await eye.device({ vg, name: step.origin }) : undefined;
  return { said, device, origin };
}
