import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * TypeScript for the messages and services in `src/csi/schema/`, made by buf and ts-proto. Both
 * are programs in `node_modules`: nothing is fetched, and the same schema gives the same text.
 */
const root = join(import.meta.dirname, '..');
const folder = 'src/csi/generated';

const options: readonly string[] = [
  // Sizes are exact above 2^53.
  'forceLong=bigint',
  // Unions of words instead of enums, which cannot be stripped away.
  ...['enumsAsLiterals=true', 'stringEnums=true'],
  ...['oneof=unions-value', 'useOptionals=messages', 'useReadonlyTypes=true'],
  // In a plain object a key such as `constructor` would be found though nobody sent it.
  'useMapType=true',
  'useDate=false',
  'outputServices=generic-definitions',
  ...['outputJsonMethods=false', 'useExactTypes=false', 'comments=false'],
  ...['env=node', 'importSuffix=.ts'],
];

/** Paths in the tree, and the text that belongs there. */
export function grpcCode(): Readonly<Record<string, string>> {
  const out = mkdtempSync(join(tmpdir(), 'quarry-grpc-'));
  try {
    runBuf(out);
    const made = globSync('**/*.ts', { cwd: out }).toSorted();
    return Object.fromEntries(
      made.map((path) => [`${folder}/${path}`, ownText(readFileSync(join(out, path), 'utf8'))]),
    );
  } finally {
    rmSync(out, { recursive: true });
  }
}

/** It speaks to a linter that nobody runs here; ours leave the whole folder alone. */
function ownText(text: string): string {
  return text.replace('/* eslint-disable */\n', '');
}

/** What lies in the folder of generated code now. */
export function grpcFiles(): readonly string[] {
  return globSync(`${folder}/**/*.ts`, { cwd: root }).toSorted();
}

function runBuf(out: string): void {
  const plugin = {
    local: join(root, 'node_modules/.bin/protoc-gen-ts_proto'),
    out,
    strategy: 'all',
    include_imports: true,
    include_wkt: true,
    opt: options,
  };
  const inputs = [{ directory: join(root, 'src/csi/schema') }];
  const template = JSON.stringify({ version: 'v2', plugins: [plugin], inputs });
  const buf = join(root, 'node_modules/.bin/buf');
  const { status, stderr, error } = spawnSync(buf, ['generate', '--template', template], {
    cwd: out,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`buf generate: ${error?.message ?? stderr}`);
}
