import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OldCluster } from './topolvm.ts';

const guide = join(import.meta.dirname, '../../docs/guides/upgrade-from-topolvm.md');

/** The commands of a section of the guide, as they stand there. */
export async function runGuide(old: OldCluster, heading: string): Promise<void> {
  const text = await readFile(guide, 'utf8');
  const section = text.split(`\n${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const blocks = [...section.matchAll(/```sh\n([^`]*)```/g)].map(([, block = '']) => block);
  const lines = blocks.join('').replaceAll('\\\n', ' ').split('\n');
  const commands = lines.filter((line) => line.startsWith('kubectl '));
  assert.ok(commands.length > 0, `${heading} has commands`);
  for (const command of commands) {
    const ours = command.replaceAll('topolvm.io', old.domain);
    const isLegacy = old.domain !== 'topolvm.io';
    const [, ...words] = ours
      .replaceAll('deploy/', isLegacy ? 'deploy/legacy/' : 'deploy/')
      .split(/\s+/);
    await old.cluster.kubectl(words);
  }
}
