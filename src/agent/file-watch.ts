import { type FSWatcher, watch } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { limits } from '../base/limits.ts';

/**
 * Tells that a file may have changed: written, replaced by a rename, or reached through a link that
 * was swapped, as Kubernetes does it with ConfigMaps. So directories are watched, not the file: the
 * one it is in, and the one its links lead to. Where the kernel tells nothing, time does.
 */
export class FileWatch {
  readonly #path: string;
  readonly #tell: () => void;
  readonly #watchers = new Map<string, FSWatcher>();
  #poll: NodeJS.Timeout | undefined;
  #settle: NodeJS.Timeout | undefined;

  constructor(path: string, tell: () => void) {
    this.#path = path;
    this.#tell = tell;
  }

  async start(): Promise<void> {
    this.#poll = setInterval(() => void this.#look(), limits.configPollMs);
    this.#poll.unref();
    await this.#arm();
  }

  stop(): void {
    clearInterval(this.#poll);
    clearTimeout(this.#settle);
    this.#poll = undefined;
    for (const directory of [...this.#watchers.keys()]) this.#leave(directory);
  }

  async #look(): Promise<void> {
    await this.#arm();
    if (this.#poll !== undefined) this.#tell();
  }

  async #arm(): Promise<void> {
    const real = await realpath(this.#path).catch(() => this.#path);
    const wanted = new Set([dirname(this.#path), dirname(real)]);
    if (this.#poll === undefined) return;
    for (const directory of this.#watchers.keys()) {
      if (!wanted.has(directory)) this.#leave(directory);
    }
    for (const directory of wanted) if (!this.#watchers.has(directory)) this.#enter(directory);
  }

  #enter(directory: string): void {
    try {
      const watcher = watch(directory, { persistent: false }, () => this.#soon());
      watcher.on('error', () => this.#leave(directory));
      this.#watchers.set(directory, watcher);
    } catch {
      // Not there, or the kernel has no watch left: the poll sees what happens.
    }
  }

  #leave(directory: string): void {
    this.#watchers.get(directory)?.close();
    this.#watchers.delete(directory);
  }

  #soon(): void {
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => void this.#look(), limits.configSettleMs);
    this.#settle.unref();
  }
}
