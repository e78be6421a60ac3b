import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { readTree, tidy } from './tidy.ts';

const complain = (path: string, text: string) => tidy([{ path, text }]).map((c) => c.text);

const broken: readonly (readonly [name: string, path: string, text: string])[] = [
  ['a clock in core', 'src/core/x.ts', 'const now = Date.now();'],
  ['chance in the engine', 'src/engine/x.ts', 'const n = Math.random();'],
  ['a spawn outside its file', 'src/host/other.ts', "import { spawn } from 'node:child_process';"],
  ['the environment read anywhere', 'src/cli/x.ts', 'const home = process.env.HOME;'],
  ['a file that is too long', 'src/core/x.ts', 'x\n'.repeat(501)],
  ['a line that is too long', 'src/core/x.ts', `const x = ${'a + '.repeat(30)}b;`],
  ['a function that is too long', 'src/core/x.ts', `function f() {\n${'  x;\n'.repeat(70)}}\n`],
  ['a doc naming a file that is gone', 'docs/x.md', 'see `src/core/gone.ts#plan`'],
  ['a doc naming a symbol that is gone', 'docs/x.md', 'see `tools/tidy.ts#gone`'],
  ['a file called helpers', 'src/core/helpers.ts', ''],
];

for (const [name, path, text] of broken) {
  test(`refuses ${name}`, () => assert.notDeepEqual(complain(path, text), []));
}

test('lets the one file that spawns spawn', () => {
  assert.deepEqual(complain('src/host/run.ts', "import { spawn } from 'node:child_process';"), []);
});

test('finds nothing to complain about in this tree', () => {
  const complaints = tidy(readTree(join(import.meta.dirname, '..')));
  assert.deepEqual(complaints, []);
});
