import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { runCommand } from '../../lab/host/command.ts';
import { manifestFiles } from '../../tools/manifests.ts';
import type { Release } from '../../tools/manifests-settings.ts';
import type { E2eStage } from './stage.ts';

const guide = join(import.meta.dirname, '../../docs/guides/upgrade.md');

/** The commands of a section of the guide, pasted beside the manifests of a version. */
export async function pasteGuide(
  { cluster }: E2eStage,
  heading: string,
  release: Release,
  edit: (script: string) => string = (script) => script,
): Promise<void> {
  const script = edit(await commandsOf(heading));
  assert.match(script, /^kubectl /m, `${heading} has commands`);
  const cwd = await mkdtemp(join(tmpdir(), 'quarry-guide-'));
  try {
    await writeManifests(cwd, release);
    const path = `${dirname(cluster.kubectlCommand)}${delimiter}${process.env['PATH']}`;
    await runCommand(['sh', '-euc', script], { cwd, env: { PATH: path } });
  } finally {
    await rm(cwd, { recursive: true });
  }
}

/** Helm is for who has it. Its chart gives the same objects, as other tests show. */
async function commandsOf(heading: string): Promise<string> {
  const text = await readFile(guide, 'utf8');
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block);
  return blocks.filter((block) => !block.startsWith('helm ')).join('');
}

/** By name and not by digest: an archive that was imported has no digest to be asked for by. */
async function writeManifests(place: string, { version, image }: Release): Promise<void> {
  const files = manifestFiles({ version, image: { ...image, digest: '' } });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(place, path)), { recursive: true });
    await writeFile(join(place, path), text);
  }
}
