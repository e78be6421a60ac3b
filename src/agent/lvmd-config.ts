import { readFile } from 'node:fs/promises';
import { decodeLvmdFile } from '../api/lvmd-file/decode.ts';
import { showFinding } from '../api/lvmd-file/findings.ts';
import type { LvmdSpec } from '../api/lvmd-file/spec.ts';
import { OperationError } from '../base/failures.ts';

/** The lvmd.yaml of this host, or one error that tells everything that is wrong with it. */
export async function readLvmdFile(path: string, warn: (text: string) => void): Promise<LvmdSpec> {
  const decoded = decodeLvmdFile({ file: path, text: await read(path) });
  for (const warning of decoded.warnings) warn(showFinding(warning));
  if (decoded.kind === 'lvmd') return decoded.spec;
  const lines = decoded.problems.map((problem) => `  ${showFinding(problem)}`);
  throw invalid(`${path} cannot be used:\n${lines.join('\n')}`);
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw invalid(`${path} cannot be read: ${(error as Error).message}`, error);
  }
}

function invalid(message: string, cause?: unknown): OperationError {
  return new OperationError('InvalidConfiguration', message, { cause });
}
