import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Checks what the compiler cannot: clocks and chance in pure code, spawning outside its file, sizes
 * of files and functions, and references in the docs to code that is gone.
 */
export type Complaint = { readonly file: string; readonly line: number; readonly text: string };

export type SourceFile = { readonly path: string; readonly text: string };

export function tidy(files: readonly SourceFile[]): readonly Complaint[] {
  const sources = files.filter(({ path }) => path.endsWith('.ts') && !generated.test(path));
  const docs = files.filter(({ path }) => path.endsWith('.md'));
  return [
    ...sources.flatMap(checkSource),
    ...docs.flatMap((doc) => checkReferences(doc, files)),
    ...files.flatMap(checkNames),
  ];
}

const limits = { fileLines: 500, functionLines: 70, lineColumns: 100 } as const;

/** Made by programs of others, in their style; `tools/generate.ts` keeps it up to date. */
const generated = /^src\/(csi|api\/crds)\/generated\//;

const pure = /^src\/(base|api|core|lvm|engine)\//;

type Rule = {
  readonly applies: (path: string) => boolean;
  readonly pattern: RegExp;
  readonly text: string;
};

const isProduct = (path: string) => path.startsWith('src/') && !path.endsWith('.test.ts');

const rules: readonly Rule[] = [
  {
    applies: (path) => pure.test(path) && isProduct(path),
    pattern: /\bnew Date\b|\bDate\.|\bMath\.random\b|\bperformance\.|\bcrypto\./,
    text: 'pure code takes the time and chance as arguments',
  },
  {
    applies: (path) => isProduct(path) && path !== 'src/host/run.ts',
    pattern: /child_process/,
    text: 'only src/host/run.ts spawns',
  },
  {
    applies: (path) => isProduct(path) && path !== 'src/main.ts',
    pattern: /\bprocess\.(env|argv)\b/,
    text: 'only src/main.ts reads the environment and argv',
  },
  {
    applies: (path) => isProduct(path),
    pattern: /\bfetch\(/,
    text: 'the global fetch costs 26 MB of memory: use kube/ or node:http',
  },
  {
    applies: (path) => isProduct(path) && path !== 'src/lvm/stderr.ts',
    pattern: /stderr\.(includes|match)|\.test\(\w*[sS]tderr/,
    text: 'only src/lvm/stderr.ts reads what lvm says',
  },
];

function checkSource({ path, text }: SourceFile): readonly Complaint[] {
  const lines = text.split('\n');
  const complaints: Complaint[] = [];
  const complain = (index: number, message: string) =>
    complaints.push({ file: path, line: index + 1, text: message });
  if (lines.length - 1 > limits.fileLines) {
    complain(0, `${lines.length - 1} lines; at most ${limits.fileLines}`);
  }
  lines.forEach((line, index) => {
    if (line.length > limits.lineColumns && !isLiteral(line)) {
      complain(index, `${line.length} columns; at most ${limits.lineColumns}`);
    }
    for (const rule of rules) {
      if (rule.applies(path) && rule.pattern.test(line)) complain(index, rule.text);
    }
  });
  for (const { start, length } of functionsOf(lines)) {
    if (length > limits.functionLines) {
      complain(start, `a function of ${length} lines; at most ${limits.functionLines}`);
    }
  }
  return complaints;
}

/** A text that cannot be broken is no reason to break a line. */
function isLiteral(line: string): boolean {
  if (/^\s*test\(.*\{$/.test(line) || /https?:\/\//.test(line)) return true;
  return /^\s*(?:\w+:? ?=? ?)?['"`/].*['"`/][a-z]*[,;]?$/.test(line);
}

const functionStart = /^(\s*)(?:export )?(?:async )?(?:function\b|#?\w+\(.*\).*\{$|.*=> \{$)/;

/** Formatted code closes a function with a brace at the column where the function began. */
function functionsOf(lines: readonly string[]) {
  const found: { start: number; length: number }[] = [];
  lines.forEach((line, start) => {
    const match = functionStart.exec(line);
    if (match === null || /^\s*(?:if|for|while|switch|catch|describe|test)\b/.test(line)) return;
    const indent = match[1] ?? '';
    const body = lines.slice(start + 1);
    const end = body.findIndex((candidate) => candidate.startsWith(`${indent}}`));
    if (end >= 0) found.push({ start, length: end + 2 });
  });
  return found;
}

/** Docs name code as `src/core/volume/plan.ts#planVolume`, and both halves must exist. */
function checkReferences(doc: SourceFile, files: readonly SourceFile[]): readonly Complaint[] {
  const byPath = new Map(files.map(({ path, text }) => [path, text]));
  const paths = [...byPath.keys()];
  return doc.text.split('\n').flatMap((line, index) => {
    const references = [...line.matchAll(/`((?:src|test|lab|tools|bench)\/[\w./-]*)(?:#(\w+))?`/g)];
    return references.flatMap(([, path = '', symbol]) => {
      const at = { file: doc.path, line: index + 1 };
      const folder = `${path.replace(/\/$/, '')}/`;
      const exists = byPath.has(path) || paths.some((known) => known.startsWith(folder));
      if (!exists) return [{ ...at, text: `there is no ${path}` }];
      const text = byPath.get(path) ?? '';
      if (symbol === undefined || new RegExp(`\\b${symbol}\\b`).test(text)) return [];
      return [{ ...at, text: `there is no ${symbol} in ${path}` }];
    });
  });
}

const badNames = /(^|[-/])(utils?|helpers?|common|misc|manager|impl)\.ts$/;

function checkNames({ path }: SourceFile): readonly Complaint[] {
  if (!badNames.test(path)) return [];
  return [{ file: path, line: 1, text: 'name the file after what is in it' }];
}

export function readTree(root: string): readonly SourceFile[] {
  const git = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (git.status !== 0) throw new Error(`git ls-files: ${git.stderr}`);
  return git.stdout
    .split('\0')
    .filter((path) => /\.(ts|md)$/.test(path) && !path.startsWith('test/fixtures/'))
    .flatMap((path) => {
      try {
        return [{ path, text: readFileSync(join(root, path), 'utf8') }];
      } catch {
        return []; // deleted, but not yet in git's index
      }
    });
}

if (import.meta.main) {
  const complaints = tidy(readTree(join(import.meta.dirname, '..')));
  for (const { file, line, text } of complaints) console.error(`${file}:${line}: ${text}`);
  process.exitCode = complaints.length === 0 ? 0 : 1;
}
