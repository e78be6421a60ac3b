import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const page = join(import.meta.dirname, '../../docs/guides/trouble.md');

/** What the guide says that users read: each line of its blocks of plain text, as a pattern. */
export function sentencesOf(): ReadonlyMap<string, RegExp> {
  const blocks = [...readFileSync(page, 'utf8').matchAll(/^```text\n([\s\S]*?)^```$/gm)];
  const lines = blocks.flatMap(([, block = '']) => block.trimEnd().split('\n'));
  return new Map(lines.map((line) => [line, patternOf(line)]));
}

/** `ID`, `UUID` and `DEVICE` stand for one word, `N` for a number. */
function patternOf(line: string): RegExp {
  const escaped = line.replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  const words = escaped.replaceAll(/\b(?:ID|UUID|DEVICE)\b/g, String.raw`[^\s;:()]+`);
  return new RegExp(`^${words.replaceAll(/\bN\b/g, String.raw`[\d.]+`)}$`);
}
