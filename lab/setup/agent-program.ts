import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { projectDirectory } from '../cache.ts';
import { runCommand } from '../host/command.ts';
import { ensureEntry } from './entry.ts';

const strip = `
  const { stripTypeScriptTypes } = require('node:module');
  const source = require('node:fs').readFileSync(0, 'utf8');
  process.stdout.write(stripTypeScriptTypes(source));
`;

/**
 * The guest's agent without its types. Stripping them costs 0.2 s of every boot when the guest
 * does it, and a warning about an experimental feature when we do it in this process.
 */
export async function ensureAgentProgram(): Promise<string> {
  const source = await readFile(join(projectDirectory, 'lab/guest/agent.ts'), 'utf8');
  const hash = createHash('sha256').update(source).digest('hex');
  const build = async (directory: string): Promise<Readonly<Record<string, string>>> => {
    const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--eval', strip];
    await writeFile(join(directory, 'agent.mjs'), await runCommand(node, { stdin: source }));
    return { node: process.version };
  };
  const { path } = await ensureEntry({ name: 'guest-agent', inputs: { hash }, build }, () => {});
  return join(path, 'agent.mjs');
}
