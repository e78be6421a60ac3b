import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { runCommand } from '../../lab/host/command.ts';
import { yamlOf } from '../../tools/manifests.ts';
import { byName, type Installation } from './image.ts';
import type { E2eStage } from './stage.ts';

const guide = join(import.meta.dirname, '../../docs/guides/upgrade.md');

export type Manifests = Installation['manifests'];

/** The commands of a section of the guide, pasted beside the manifests of a version. */
export async function pasteGuide(
  { cluster }: E2eStage,
  heading: string,
  manifests: Manifests,
  edit: (script: string) => string = (script) => script,
): Promise<void> {
  const script = edit(await commandsOf(heading));
  assert.match(script, /^kubectl /m, `${heading} has commands`);
  const cwd = await mkdtemp(join(tmpdir(), 'quarry-guide-'));
  try {
    await writeManifests(join(cwd, 'deploy'), manifests);
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

async function writeManifests(place: string, made: Manifests): Promise<void> {
  const { crds, namespace, driver, roles, operator, agent, network, policy } = made;
  const files = {
    'crds.yaml': crds,
    'quarry.yaml': [...namespace, ...driver, ...roles, ...operator, ...agent, ...network],
    'node-policy.yaml': policy,
  };
  await mkdir(place);
  for (const [name, objects] of Object.entries(files)) {
    await writeFile(join(place, name), yamlOf(byName(objects)));
  }
}
