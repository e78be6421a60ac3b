import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runCommand } from '../../lab/host/command.ts';
import { manifestFiles } from '../../tools/manifests.ts';
import type { Release } from '../../tools/manifests-settings.ts';

const root = join(import.meta.dirname, '../..');

/** A page for administrators, and a place to paste what stands in it. */
export class Guide {
  readonly #text: string;
  readonly #directory: string;
  readonly #kubectl: string;

  private constructor(text: string, directory: string, kubectl: string) {
    this.#text = text;
    this.#directory = directory;
    this.#kubectl = kubectl;
  }

  /** `kubectl` is a program of that name. The manifests are there as `make image` leaves them. */
  static async open(file: string, kubectl: string, release: Release): Promise<Guide> {
    await mkdir(join(root, 'build'), { recursive: true });
    const directory = await mkdtemp(join(root, 'build/guide-'));
    for (const [path, text] of Object.entries(manifestFiles(release))) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      // An archive that was imported has no digest to be asked for by.
      await writeFile(join(directory, path), text.replaceAll(/@sha256:[0-9a-f]{64}/g, ''));
    }
    return new Guide(await readFile(join(root, file), 'utf8'), directory, kubectl);
  }

  /** All that a section has for a shell, as it stands there. Nothing in it may fail. */
  async paste(heading: string): Promise<void> {
    const section = this.#text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
    const blocks = [...section.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block);
    assert.ok(blocks.length > 0, `${heading} has commands`);
    const script = [
      `cd '${this.#directory}'`,
      `PATH='${dirname(this.#kubectl)}':$PATH`,
      ...blocks,
    ].join('\n');
    await runCommand(['bash', '-euo', 'pipefail', '-c', script]);
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }
}
