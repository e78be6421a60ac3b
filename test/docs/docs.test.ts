import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import { load } from 'js-yaml';
import { showProblem } from '../../src/api/decode.ts';
import { decodeNodeFile } from '../../src/api/node-file/decode.ts';
import { showQuantity } from '../../src/api/quantity.ts';
import { bytes } from '../../src/base/bytes.ts';
import { failures } from '../../src/base/failures.ts';
import { limits } from '../../src/base/limits.ts';

/** The docs against the tree. That code they name exists is `tools/tidy.ts`' business. */
const root = join(import.meta.dirname, '../..');
const pages = globSync(['*.md', 'docs/**/*.md', 'lab/*.md'], { cwd: root }).toSorted();

test('every relative link leads to a file, and to a heading in it', () => {
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter(({ path, heading }) => !leadsTo(path, heading))
      .map(({ path, heading }) => `${page}: ${path}${heading === '' ? '' : `#${heading}`}`),
  );
  assert.deepEqual(broken, []);
});

test('every make target that is named exists', () => {
  const makefile = readFileSync(join(root, 'Makefile'), 'utf8');
  const targets = new Set([...makefile.matchAll(/^([a-z0-9-]+):/gm)].map(([, name]) => name));
  const unknown = pages.flatMap((page) =>
    codeOf(textOf(page))
      .flatMap((code) => [...code.matchAll(/(?:^|\n)\s*make ([a-z][a-z0-9-]*)/g)])
      .filter(([, name]) => !targets.has(name))
      .map(([, name]) => `${page}: make ${name}`),
  );
  assert.deepEqual(unknown, []);
});

test('the failures page lists exactly the codes of the table', () => {
  const rows = textOf('docs/reference/failures.md').matchAll(/^\| ([A-Z]\w+) \|/gm);
  assert.deepEqual(
    [...rows].map(([, code]) => code),
    Object.keys(failures),
  );
});

test('every page is reached from the README', () => {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    if (pages.includes(path)) for (const link of linksOf(path)) visit(link.path);
  };
  visit('README.md');
  const all = globSync(['*.md', 'docs/**/*', 'lab/README.md'], { cwd: root });
  const files = all.filter((path) => statSync(join(root, path)).isFile());
  assert.deepEqual(files.filter((path) => !seen.has(path)).toSorted(), []);
});

test('node files in the docs can be used as they stand', () => {
  let count = 0;
  for (const page of pages) {
    for (const [, yaml = ''] of textOf(page).matchAll(/^```yaml\n([\s\S]*?)^```$/gm)) {
      const decoded = decodeNodeFile(load(yaml));
      const problems = decoded.kind === 'node' ? [] : decoded.problems.map(showProblem);
      assert.deepEqual(problems, [], page);
      count += 1;
    }
  }
  assert.ok(count > 0, 'there is an example');
});

test('a value that stands before the name of a limit is its value', () => {
  const wrong = pages.flatMap((page) =>
    [...textOf(page).matchAll(/(\S+) \(`(\w+)`\)/g)].flatMap(([, told = '', name = '']) => {
      const value = Object.entries(limits).find(([known]) => known === name)?.[1];
      if (value === undefined || !/^\d/.test(told)) return [];
      const forms = [String(value), showQuantity(bytes(value))];
      return forms.includes(told) ? [] : [`${page}: ${told} is not ${name}: ${forms.join(', ')}`];
    }),
  );
  assert.deepEqual(wrong, []);
});

test('a decision is short, numbered and in the index', () => {
  const index = textOf('docs/decisions/README.md');
  const notes = pages.filter((page) => /^docs\/decisions\/(?!README)/.test(page));
  for (const [at, note] of notes.entries()) {
    const number = String(at + 1).padStart(4, '0');
    assert.match(note, new RegExp(`/${number}-[a-z0-9-]+\\.md$`));
    assert.ok(textOf(note).split('\n').length <= 61, `${note} has more than 60 lines`);
    assert.ok(index.includes(`[${number}]`), `${note} is not in the index`);
  }
});

function textOf(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}

/** Spans and blocks of code, where commands stand. */
function codeOf(text: string): readonly string[] {
  const blocks = [...text.matchAll(/^\s*```\w*\n([\s\S]*?)^\s*```$/gm)].map(
    ([, code]) => code ?? '',
  );
  const spans = [...withoutBlocks(text).matchAll(/`([^`\n]+)`/g)].map(([, code]) => code ?? '');
  return [...blocks, ...spans];
}

function withoutBlocks(text: string): string {
  return text.replace(/^\s*```[\s\S]*?^\s*```$/gm, '');
}

type Link = { readonly path: string; readonly heading: string };

function linksOf(page: string): readonly Link[] {
  return [...withoutBlocks(textOf(page)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target]) => target ?? '')
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = '', heading = ''] = target.split('#');
      return { path: path === '' ? page : join(dirname(page), path), heading };
    });
}

function leadsTo(path: string, heading: string): boolean {
  if (!existsSync(join(root, path))) return false;
  return heading === '' || headingsOf(path).includes(heading);
}

function headingsOf(page: string): readonly string[] {
  return [...withoutBlocks(textOf(page)).matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  );
}
