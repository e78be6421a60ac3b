import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Cluster } from '../../lab/cluster/index.ts';
import { runCommand } from '../../lab/host/command.ts';
import { manifestFiles } from '../../tools/manifests.ts';
import type { Release } from '../../tools/manifests-settings.ts';

const root = join(import.meta.dirname, '../..');

type Edit = (script: string) => string;
const asItStands: Edit = (script) => script;

/** A page for administrators, and a place to paste what stands in it. */
export class Guide {
  readonly directory: string;
  readonly #text: string;
  readonly #cluster: Cluster;

  private constructor(text: string, directory: string, cluster: Cluster) {
    this.directory = directory;
    this.#text = text;
    this.#cluster = cluster;
  }

  /** The manifests are there as `make image` leaves them, and programs may be put into `bin`. */
  static async open(file: string, cluster: Cluster, release: Release): Promise<Guide> {
    await mkdir(join(root, 'build'), { recursive: true });
    const directory = await mkdtemp(join(root, 'build/guide-'));
    for (const [path, text] of Object.entries(manifestFiles(release))) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), text);
    }
    await mkdir(join(directory, 'bin'));
    return new Guide(await readFile(join(root, file), 'utf8'), directory, cluster);
  }

  /** Another page, in the same place. */
  async page(file: string): Promise<Guide> {
    const text = await readFile(join(root, file), 'utf8');
    return new Guide(text, this.directory, this.#cluster);
  }

  /** Each heading with commands, and how many blocks of them it has. */
  blocks(): Readonly<Record<string, number>> {
    const headings = [...this.#text.matchAll(/^###? (.*)$/gm)].map(([, heading = '']) => heading);
    const counts = headings.map((heading) => [heading, this.#blocksOf(heading).length] as const);
    return Object.fromEntries(counts.filter(([, count]) => count > 0));
  }

  /**
   * All that a section has for a shell, up to the next heading, as it stands there but for `edit`.
   * Nothing in it may fail.
   */
  async paste(heading: string, edit: Edit = asItStands): Promise<string> {
    const blocks = this.#blocksOf(heading);
    assert.ok(blocks.length > 0, `${heading} has commands`);
    return this.run(edit(blocks.join('\n')));
  }

  /** One block of a section, counted from 1. */
  async pasteBlock(heading: string, number: number, edit: Edit = asItStands): Promise<string> {
    const block = this.#blocksOf(heading)[number - 1];
    assert.ok(block !== undefined, `${heading} has a block ${number}`);
    return this.run(edit(block));
  }

  /** As if somebody typed it there. */
  async run(script: string): Promise<string> {
    const { kubectlCommand, kubeconfig, lab } = this.#cluster;
    const lines = [
      `cd '${this.directory}'`,
      `PATH='${this.directory}/bin:${dirname(kubectlCommand)}':$PATH`,
      script,
    ];
    const shell = ['bash', '-euo', 'pipefail', '-c', lines.join('\n')];
    const where = `--net=${lab.namespace.networkPath}`;
    return runCommand(['nsenter', where, '--', ...shell], { env: { KUBECONFIG: kubeconfig } });
  }

  #blocksOf(heading: string): readonly string[] {
    const [, after = ''] = this.#text.split(`# ${heading}\n`);
    const [section = ''] = after.split(/\n###? /);
    return [...section.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block);
  }

  async close(): Promise<void> {
    await rm(this.directory, { recursive: true });
  }
}

/** The archive of our tests was imported under a name, and has no digest to be asked for by. */
export function byNameAlone({ version, image }: Release): Release {
  return { version, image: { ...image, digest: '' } };
}
