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
      await writeFile(join(directory, path), text);
    }
    return new Guide(await readFile(join(root, file), 'utf8'), directory, kubectl);
  }

  /**
   * All that a section has for a shell, up to the next heading, as it stands there but for `edit`.
   * Nothing in it may fail.
   */
  async paste(heading: string, edit = (script: string) => script): Promise<string> {
    const [, after = ''] = this.#text.split(new RegExp(`\\n###? ${heading}\\n`));
    const [section = ''] = after.split(/\n###? /);
    const blocks = [...section.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block);
    assert.ok(blocks.length > 0, `${heading} has commands`);
    const script = [
      `cd '${this.#directory}'`,
      `PATH='${dirname(this.#kubectl)}':$PATH`,
      edit(blocks.join('\n')),
    ].join('\n');
    return runCommand(['bash', '-euo', 'pipefail', '-c', script]);
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }
}

/** The archive of our tests was imported under a name, and has no digest to be asked for by. */
export function byNameAlone({ version, image }: Release): Release {
  return { version, image: { ...image, digest: '' } };
}
