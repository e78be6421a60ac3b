import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

/** The page of traps against the tests: a trap without a test would be found by somebody's data. */
const root = join(import.meta.dirname, '../..');
const page = 'docs/reference/traps.md';
const count = 30;

test('every trap is a row of the page, in order', () => {
  const numbers = rows().map(({ number }) => number);
  assert.deepEqual(
    numbers,
    Array.from({ length: count }, (_, index) => index + 1),
  );
});

test('every file that the page names has a test by the name of the trap', () => {
  const missing = rows().flatMap(({ number, files }) =>
    files.filter((file) => !trapsIn(file).has(number)).map((file) => `trap ${number}: ${file}`),
  );
  assert.deepEqual(missing, []);
  assert.deepEqual(
    rows().filter(({ files }) => files.length === 0),
    [],
  );
});

test('no test is named after a trap that is none', () => {
  const files = globSync('{src,test}/**/*.test.ts', { cwd: root });
  const unknown = files.filter((file) => [...trapsIn(file)].some((one) => one < 1 || one > count));
  assert.deepEqual(unknown, []);
});

type Row = { readonly number: number; readonly files: readonly string[] };

function rows(): readonly Row[] {
  const lines = readFileSync(join(root, page), 'utf8').matchAll(/^\| (\d+) \|(.*)\|$/gm);
  return [...lines].map(([, number, rest = '']) => ({
    number: Number(number),
    files: [...rest.matchAll(/\]\(\.\.\/\.\.\/([^)]+)\)/g)].map(([, file]) => file ?? ''),
  }));
}

/** Of tests that run: one that is skipped or still to do proves nothing. */
function trapsIn(file: string): ReadonlySet<number> {
  const text = readFileSync(join(root, file), 'utf8');
  const names = [...text.matchAll(/^\s*test\(\s*['"`](trap \d+.*)/gm)].map(
    ([, name]) => name ?? '',
  );
  const heads = names.map((name) => name.slice(0, name.indexOf(':')));
  return new Set(
    heads.flatMap((head) => [...head.matchAll(/trap (\d+)/g)].map(([, n]) => Number(n))),
  );
}
