import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';

/** The page of TopoLVM's stories against ours: a story that is gone would be missed by nobody. */
const root = join(import.meta.dirname, '../..');
const page = 'docs/reference/topolvm-stories.md';

test('every story that the page names is told', () => {
  const rows = [...readFileSync(join(root, page), 'utf8').matchAll(/^\| .* \| (.*) \|$/gm)];
  const stories = rows.flatMap(([, cell = '']) => [
    ...cell.matchAll(/\[([^\]]+)\]\(\.\.\/\.\.\/([^)]+)\)/g),
  ]);
  assert.equal(stories.length, rows.length - 1);
  const missing = stories.filter(([, name = '', file = '']) => {
    return !readFileSync(join(root, file), 'utf8').includes(`  '${name}': `);
  });
  assert.deepEqual(missing, []);
});
