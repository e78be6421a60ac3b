import { spawnSync } from 'node:child_process';

/**
 * `make check`, `make test` and `make test-all`: the static checks first, because they are fast,
 * then the suites. The last line counts over all of them. What is in smoke is in e2e, too.
 */
const [level = 'test'] = process.argv.slice(2);

const checks: readonly (readonly string[])[] = [
  ['biome', 'check', '--error-on-warnings', '--log-level=error', '.'],
  ['oxlint', '--type-aware', '--deny-warnings', '--quiet'],
  ['tsc', '-b', 'src'],
  ['tsc', '-p', '.'],
  ['node', 'tools/tidy.ts'],
  ['node', 'tools/generate.ts', '--check'],
];

for (const [program = '', ...args] of checks) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status === 0) continue;
  console.error(`${stdout}${stderr}${[program, ...args].join(' ')} failed`);
  process.exit(1);
}

const check = ['unit', 'world', 'flow', 'sim'];
const names =
  level === 'check'
    ? check
    : level === 'test'
      ? [...check, 'kube', 'histories', 'host', 'smoke']
      : [
          ...check,
          'kube',
          'histories',
          'host',
          'sanity',
          'power',
          'calls',
          'real-histories',
          'memory',
          'image',
          'lab',
          'cluster',
          'e2e',
        ];
const { status } = spawnSync('node', ['tools/suites.ts', ...names], { stdio: 'inherit' });
process.exitCode = status ?? 1;
