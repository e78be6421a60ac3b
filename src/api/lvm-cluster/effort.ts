/**
 * How much may be compared for one object. Whoever is asked about an object answers all others in
 * the same process: one that is made to be slow is refused instead.
 */
export class Effort {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  get isSpent(): boolean {
    return this.#left <= 0;
  }

  spend(steps: number): void {
    this.#left -= steps;
  }
}
