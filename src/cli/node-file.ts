import { readFile } from 'node:fs/promises';
import { load } from 'js-yaml';
import { showProblem } from '../api/decode.ts';
import { Findings } from '../api/lvmd-file/findings.ts';
import { readYaml, type YamlEntry, type YamlNode } from '../api/lvmd-file/yaml.ts';
import { decodeNodeFile } from '../api/node-file/decode.ts';
import { OperationError } from '../base/failures.ts';
import { type DesiredNode, desiredNode } from '../core/node.ts';
import type { KnownGroups } from '../host/known-groups.ts';

/** The node file as what is wanted of this node, or one error that tells all its problems. */
export async function readNodeFile(path: string, known: KnownGroups): Promise<DesiredNode> {
  const text = await read(path);
  const decoded = decodeNodeFile(parse(path, text));
  if (decoded.kind === 'node') return desiredNode(decoded.spec, known);
  const document = readYaml(text, new Findings(path));
  const lines = decoded.problems.map((problem) => {
    const line = document === undefined ? 1 : lineOf(document, problem.field);
    return `  ${path}:${line}: ${showProblem(problem)}`;
  });
  throw invalid(`${path} cannot be used:\n${lines.join('\n')}`);
}

/** Where a field such as `deviceClasses[0].name` stands, or what it should stand in. */
function lineOf(document: YamlNode, field: string): number {
  let node: YamlNode | undefined = document;
  let line = document.line;
  for (const word of field.match(/[^.[\]]+/g) ?? []) {
    const entry: YamlEntry | undefined =
      node?.kind === 'mapping' ? node.entries.find(({ key }) => key === word) : undefined;
    node = node?.kind === 'list' ? node.items[Number(word)] : entry?.value;
    line = entry?.line ?? node?.line ?? line;
    if (node === undefined) break;
  }
  return line;
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw invalid(`${path} is missing: write it, or name another with --file`, error);
    }
    throw invalid(`${path} cannot be read: ${(error as Error).message}`, error);
  }
}

function parse(path: string, text: string): unknown {
  try {
    return load(text, { filename: path });
  } catch (error) {
    throw invalid(`${path} is not YAML: ${(error as Error).message}`, error);
  }
}

function invalid(message: string, cause?: unknown): OperationError {
  return new OperationError('InvalidConfiguration', message, { cause });
}
