/**
 * All chance of a fake world, from one seed. Two worlds with one seed and one story are equal to
 * the last UUID; that is what makes a failure of the simulator worth a bug report.
 */
export class Chance {
  #state: number;
  readonly seed: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed | 0;
  }

  /** 32 random bits (splitmix32: tiny, and good enough to shuffle disks). */
  bits(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }

  /** At least 0 and below 1. */
  fraction(): number {
    return this.bits() / 0x1_0000_0000;
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.fraction() * count);
  }

  /** A whole number from `min` to `max`, both possible. */
  between(min: number, max: number): number {
    return min + this.below(max - min + 1);
  }

  /** True with the probability, so often in so many worlds. */
  happens(probability: number): boolean {
    return probability > 0 && this.fraction() < probability;
  }

  pick<T>(items: readonly [T, ...T[]]): T;
  pick<T>(items: readonly T[]): T | undefined;
  pick<T>(items: readonly T[]): T | undefined {
    return items[this.below(items.length)];
  }

  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = [...items];
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      const other = this.below(last + 1);
      const kept = shuffled[last] as T;
      shuffled[last] = shuffled[other] as T;
      shuffled[other] = kept;
    }
    return shuffled;
  }

  /** A stream of its own: drawing from it does not disturb what the parent draws next. */
  fork(): Chance {
    return new Chance(this.bits());
  }

  /** An identity as LVM writes it: 6-4-4-4-4-4-6 characters. */
  lvmUuid(): string {
    return [6, 4, 4, 4, 4, 4, 6].map((length) => this.#letters(length)).join('-');
  }

  /** An identity as file systems write it. */
  uuid(): string {
    const hex = () => this.bits().toString(16).padStart(8, '0');
    const digits = `${hex()}${hex()}${hex()}${hex()}`;
    return [8, 12, 16, 20, 32].map((end, i, ends) => digits.slice(ends[i - 1] ?? 0, end)).join('-');
  }

  #letters(length: number): string {
    let text = '';
    for (let index = 0; index < length; index += 1) text += letters[this.below(letters.length)];
    return text;
  }
}

const letters = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ';
