import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { build, type Plugin, transform } from 'esbuild';
import { limits } from '../src/base/limits.ts';

/**
 * The shipped form: one CommonJS file. Bundled as ESM, `node:http` alone would cost 14 MB; and V8
 * keeps a heap several times as large as it needs unless it is told first thing (docs/decisions).
 *
 *   node tools/bundle.ts build/quarry.cjs
 */
const root = join(import.meta.dirname, '..');

/**
 * A process that idles should not have met V8's optimizing compilers: 7 MiB of them and of what
 * they make stay resident for a few loops that were busy at the start. What stays busy is compiled
 * all the same, ten times later.
 */
const flags = [
  '--optimize-for-size',
  '--invocation-count-for-maglev=4000',
  '--invocation-count-for-turbofan=30000',
  '--invocation-count-for-osr=5000',
];

/**
 * What V8 takes only from the command line. Young objects get a room of 1 MiB: it grows to many
 * times that during a start, and stays.
 */
export const nodeFlag = '--max-semi-space-size=1';

/**
 * What glibc takes only from the environment. Each thread that allocates would be given an arena
 * of its own; the threads here wait for files, and do not compete for memory.
 */
export const programEnvironment = { MALLOC_ARENA_MAX: '1' } as const;

/**
 * Threads are started with the first file operation: a later word would not be heard. An older
 * Node, on the machine of somebody who only looks, knows not all flags and says so on every run.
 */
export const banner = [
  `if(parseInt(process.versions.node)>=24){`,
  ...flags.map((flag) => `require('node:v8').setFlagsFromString('${flag}');`),
  '}',
  `process.env.UV_THREADPOOL_SIZE??='${limits.fileThreads}';`,
].join('');

/** Other texts for files of the tree, by their paths in it: that is how another version is made. */
export type OtherTexts = Readonly<Record<string, string>>;

export async function bundle(outfile: string, others: OtherTexts = {}): Promise<void> {
  await build({
    entryPoints: [join(root, 'src/main.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node22',
    // Names stay as they are: giving functions their names back at run time costs 2.8 MiB.
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'none',
    logLevel: 'error',
    alias: { '@grpc/proto-loader': join(root, 'tools/no-proto-loader.ts') },
    banner: { js: banner },
    plugins: [reading(others), shortening],
  });
}

function reading(others: OtherTexts): Plugin {
  return {
    name: 'other-texts',
    setup: ({ onLoad }) => {
      for (const [file, contents] of Object.entries(others)) {
        const filter = new RegExp(`/${file.replaceAll('.', '\\.')}$`);
        onLoad({ filter }, ({ path }) => {
          if (relative(root, path) !== file) return undefined;
          return { contents, loader: file.endsWith('.json') ? 'json' : 'ts' };
        });
      }
    },
  };
}

/**
 * The text of the program stays in memory. Nobody reads names of variables in what is not written
 * by us; our own stay, for whoever reads where an error came from.
 */
const shortening: Plugin = {
  name: 'shortening',
  setup: ({ onLoad }) => {
    onLoad(
      { filter: /\/node_modules\/.*\.m?js$|\/src\/csi\/generated\/.*\.ts$/ },
      async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const { code } = await transform(text, {
          loader: path.endsWith('.ts') ? 'ts' : 'js',
          format: /^export /m.test(text) ? 'esm' : 'cjs',
          minifyIdentifiers: true,
          target: 'node22',
        });
        return { contents: code, loader: 'js' };
      },
    );
  },
};

if (import.meta.main) await bundle(process.argv[2] ?? join(root, 'build/quarry.cjs'));
