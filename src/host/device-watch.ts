import { type FSWatcher, readdirSync, readFileSync, watch } from 'node:fs';
import { limits } from '../base/limits.ts';

/** What udev knows of each device, by its number, as the host's first process sees it. */
const udevDirectory = '/proc/1/root/run/udev/data';

type Places = { readonly directory?: string; readonly kinds?: string };

/**
 * Tells when a disk or a partition comes or goes: udev notes it in a directory, and the kernel
 * tells of that. Volumes come and go all the time, and lvm writes to its disks: neither is told.
 * Where there is no udev nothing is told, and who needs to know looks from time to time.
 */
export class DeviceWatch {
  readonly #directory: string;
  readonly #kinds: string;
  readonly #tell: () => void;
  #watcher: FSWatcher | undefined;
  #settle: NodeJS.Timeout | undefined;
  #again: NodeJS.Timeout | undefined;
  #known = '';

  constructor(tell: () => void, places: Places = {}) {
    this.#tell = tell;
    this.#directory = places.directory ?? udevDirectory;
    this.#kinds = places.kinds ?? '/proc/devices';
  }

  start(): void {
    this.#arm();
    this.#again = setInterval(() => this.#arm(), limits.deviceWatchAgainMs);
    this.#again.unref();
  }

  stop(): void {
    clearInterval(this.#again);
    clearTimeout(this.#settle);
    this.#leave();
  }

  #arm(): void {
    if (this.#watcher !== undefined) return;
    try {
      const watcher = watch(this.#directory, { persistent: false }, (_event, name) => {
        if (name === null || isBlockDevice(name)) this.#soon();
      });
      watcher.on('error', () => this.#leave());
      this.#watcher = watcher;
      this.#known = this.#devices();
    } catch {
      // There is no udev, or no watch is left: it is tried again.
      this.#leave();
    }
  }

  #leave(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }

  /** Not put off by what follows: there may be no end to it. */
  #soon(): void {
    this.#settle ??= setTimeout(() => {
      this.#settle = undefined;
      this.#look();
    }, limits.deviceSettleMs);
    this.#settle.unref();
  }

  #look(): void {
    try {
      const devices = this.#devices();
      if (devices === this.#known) return;
      this.#known = devices;
      this.#tell();
    } catch {
      this.#leave();
    }
  }

  #devices(): string {
    const passing = passingMajors(readFileSync(this.#kinds, 'utf8'));
    return readdirSync(this.#directory)
      .filter((name) => isBlockDevice(name) && !passing.has(name.slice(1).split(':')[0] ?? ''))
      .toSorted()
      .join(' ');
  }
}

function isBlockDevice(name: string): boolean {
  return /^b\d+:\d+$/.test(name);
}

/** Majors of what comes and goes with volumes, from `/proc/devices`. */
function passingMajors(text: string): ReadonlySet<string> {
  const [, blocks = ''] = text.split('Block devices:');
  const found = blocks.matchAll(/^\s*(\d+) (?:device-mapper|loop)$/gm);
  return new Set([...found].map(([, major = '']) => major));
}
