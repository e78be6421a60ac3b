import type { Bytes } from '../base/bytes.ts';
import { show } from '../base/show.ts';
import { parseQuantity } from './quantity.ts';

/** One thing wrong with what a user wrote: where, what stands there, and what to write instead. */
export type Problem = { readonly field: string; readonly value: unknown; readonly remedy: string };

export function showProblem({ field, value, remedy }: Problem): string {
  return `${field} is ${value === undefined ? 'missing' : show(value)}: ${remedy}`;
}

/**
 * Reads untyped input field by field and notes every problem, so that a person sees all of them
 * at once. After a problem reading goes on with a harmless value; the caller looks at `problems`.
 */
export class Reader {
  readonly problems: Problem[];
  readonly #path: string;
  readonly #object: Readonly<Record<string, unknown>>;
  readonly #known = new Set<string>();

  constructor(value: unknown, path: string, problems: Problem[] = []) {
    this.problems = problems;
    this.#path = path;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    this.#object = isObject ? (value as Record<string, unknown>) : {};
    if (!isObject) this.#note(path || 'the document', value, 'write a mapping of keys to values');
  }

  string(key: string, pattern: RegExp, remedy: string): string {
    const value = this.#take(key);
    if (typeof value === 'string' && pattern.test(value)) return value;
    this.#note(this.#at(key), value, remedy);
    return '';
  }

  optionalOneOf<T extends string>(key: string, choices: readonly T[]): T | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined) this.#note(this.#at(key), value, `write one of ${choices.join(', ')}`);
    return found;
  }

  boolean(key: string, fallback: boolean): boolean {
    const value = this.#take(key) ?? fallback;
    if (typeof value === 'boolean') return value;
    this.#note(this.#at(key), value, 'write true or false');
    return fallback;
  }

  number(key: string, range: Range, fallback?: number): number {
    const value = this.#take(key) ?? fallback;
    const isRight =
      typeof value === 'number' &&
      value >= range.min &&
      value <= range.max &&
      (range.isWhole !== true || Number.isInteger(value));
    if (isRight) return value;
    const what = range.isWhole === true ? 'a whole number' : 'a number';
    this.#note(this.#at(key), value, `write ${what} from ${range.min} to ${range.max}`);
    return fallback ?? range.min;
  }

  optionalNumber(key: string, range: Range): number | undefined {
    return this.has(key) ? this.number(key, range) : this.#skip(key);
  }

  optionalSize(key: string): Bytes | undefined {
    const value = this.#take(key);
    if (value === undefined) return undefined;
    const size = parseQuantity(value);
    if (typeof size === 'bigint') return size;
    this.#note(this.#at(key), value, 'write a size such as 10Gi or 500M');
    return undefined;
  }

  strings(key: string, pattern: RegExp, remedy: string): readonly string[] {
    const value = this.#take(key) ?? [];
    if (!Array.isArray(value)) {
      this.#note(this.#at(key), value, 'write a list');
      return [];
    }
    return value.filter((item, index): item is string => {
      const isRight = typeof item === 'string' && pattern.test(item);
      if (!isRight) this.#note(`${this.#at(key)}[${index}]`, item, remedy);
      return isRight;
    });
  }

  has(key: string): boolean {
    return this.#object[key] !== undefined && this.#object[key] !== null;
  }

  raw(key: string): unknown {
    return this.#take(key);
  }

  /** A mapping that is not there is an empty one: what must stand in it is missed there. */
  child(key: string): Reader {
    return new Reader(this.#take(key) ?? {}, this.#at(key), this.problems);
  }

  children(key: string): readonly Reader[] {
    const value = this.#take(key) ?? [];
    if (!Array.isArray(value)) {
      this.#note(this.#at(key), value, 'write a list');
      return [];
    }
    return value.map((item, i) => new Reader(item, `${this.#at(key)}[${i}]`, this.problems));
  }

  refuse(key: string, remedy: string): void {
    this.#note(this.#at(key), this.#object[key], remedy);
  }

  /** Keys that nobody asked for are misspelt ones: silence would hide them. */
  refuseUnknown(): void {
    for (const key of Object.keys(this.#object)) {
      if (this.#known.has(key)) continue;
      const known = [...this.#known].join(', ');
      this.#note(this.#at(key), this.#object[key], `there is no such key; known are ${known}`);
    }
  }

  #take(key: string): unknown {
    this.#known.add(key);
    return this.#object[key] ?? undefined;
  }

  #skip(key: string): undefined {
    this.#known.add(key);
    return undefined;
  }

  #at(key: string): string {
    return this.#path === '' ? key : `${this.#path}.${key}`;
  }

  #note(field: string, value: unknown, remedy: string): void {
    this.problems.push({ field, value, remedy });
  }
}

export type Range = { readonly min: number; readonly max: number; readonly isWhole?: boolean };
