import { spawnSync } from 'node:child_process';

/**
 * `make test` and `make test-all`: the static checks first, because they are fast, then the
 * suites. The last line counts over all of them.
 */
const isAll = process.argv.includes('--all');

const checks: readonly (readonly string[])[] = [
  ['biome', 'check', '--error-on-warnings', '--log-level=error', '.'],
  ['oxlint', '--type-aware', '--deny-warnings', '--quiet'],
  ['tsc', '-b', 'src'],
  ['tsc', '-p', '.'],
  ['node', 'tools/tidy.ts'],
  ['node', 'tools/generate.ts', '--check'],
];

for (const [program = '', ...args] of checks) {
  const { status } = spawnSync(program, args, { stdio: 'inherit' });
  if (status !== 0) {
    console.error(`${[program, ...args].join(' ')} failed`);
    process.exit(1);
  }
}

const everyday = ['unit', 'world', 'flow', 'sim', 'host'];
const names = isAll ? [...everyday, 'lab', 'cluster'] : everyday;
const { status } = spawnSync('node', ['tools/suites.ts', ...names], { stdio: 'inherit' });
process.exitCode = status ?? 1;
