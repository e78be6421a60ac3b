import { readFile } from 'node:fs/promises';
import { load } from 'js-yaml';
import { showProblem } from '../api/decode.ts';
import { decodeNodeFile } from '../api/node-file/decode.ts';
import { OperationError } from '../base/failures.ts';
import { type DesiredNode, desiredNode } from '../core/node.ts';
import type { KnownGroups } from './known-groups.ts';

/** The node file as what is wanted of this node, or one error that tells all its problems. */
export async function readNodeFile(path: string, known: KnownGroups): Promise<DesiredNode> {
  const decoded = decodeNodeFile(parse(path, await read(path)));
  if (decoded.kind === 'node') return desiredNode(decoded.spec, known);
  const lines = decoded.problems.map((problem) => `  ${showProblem(problem)}`);
  throw invalid(`${path} cannot be used:\n${lines.join('\n')}`);
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
