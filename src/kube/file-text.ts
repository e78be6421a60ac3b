import { readFile } from 'node:fs/promises';
import { KubeError } from './errors.ts';
import { kubeLimits } from './limits.ts';
import type { Clock } from './ports.ts';

/** A small file that others replace: read again after a while, or once it is forgotten. */
export class FileText {
  readonly #path: string;
  readonly #clock: Clock;
  #text: string | undefined;
  #readAtMs = 0;

  constructor(path: string, clock: Clock) {
    this.#path = path;
    this.#clock = clock;
  }

  async read(): Promise<string> {
    const nowMs = this.#clock.nowMs();
    const isFresh = nowMs - this.#readAtMs < kubeLimits.credentialsReadMs;
    if (this.#text !== undefined && isFresh) return this.#text;
    const text = await this.#look();
    this.#text = text;
    this.#readAtMs = nowMs;
    return text;
  }

  forget(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  /** While a file is being replaced the text before it is still the best there is. */
  async #look(): Promise<string> {
    try {
      const text = await readFile(this.#path, 'utf8');
      if (text.trim() !== '') return text;
      if (this.#text !== undefined) return this.#text;
      throw new Error('the file is empty');
    } catch (cause) {
      if (this.#text !== undefined) return this.#text;
      const message = `${this.#path} cannot be read: ${(cause as Error).message}`;
      throw new KubeError('NoCredentials', message, { cause });
    }
  }
}
