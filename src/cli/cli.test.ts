import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { bundle } from '../../tools/bundle.ts';
import { runCli } from './cli.ts';
import { writeKnownGroups } from './known-groups.ts';

const root = join(import.meta.dirname, '../..');

async function run(...argv: readonly string[]) {
  const lines: string[] = [];
  const say = (text: string) => lines.push(text);
  const environment = { path: '/nowhere', version: '1.2.3', print: say, warn: say };
  return { code: await runCli(argv, environment), text: lines.join('\n') };
}

async function directory(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'quarry-cli-'));
  t.after(() => rm(made, { recursive: true }));
  return made;
}

const codes: readonly (readonly [string, readonly string[], number, RegExp])[] = [
  ['help', ['help'], 0, /^quarry: LVM storage/],
  ['nothing asked', [], 0, /^quarry: LVM storage/],
  ['the version', ['version'], 0, /^1\.2\.3$/],
  ['a command that is none', ['plam'], 2, /no command plam/],
  ['a flag that is none', ['plan', '--fil', 'x'], 2, /--fil/],
  ['a node file that is missing', ['plan', '--file', '/nowhere/n.yaml'], 2, /is missing: write it/],
  ['a group that is not known', ['forget', 'vg'], 2, /no volume group vg is known/],
  ['a missing driver', ['volume', 'list', '--csi-socket', '/nowhere/s'], 75, /nothing answers/],
];

for (const [title, argv, code, text] of codes) {
  test(`${title} ends with code ${code}`, async (t) => {
    const told = await run(...argv, '--state-dir', await directory(t));
    assert.equal(told.code, code);
    assert.match(told.text, text);
  });
}

test('what only a change can mend ends with code 1', async (t) => {
  const file = join(await directory(t), 'node.yaml');
  await writeFile(file, 'volumeGroups: [{name: data, devices: any}]\n');
  const told = await run('status', '--file', file, '--state-dir', await directory(t));
  assert.match(told.text, /^quarry: CommandNotFound: lvm cannot be started/m);
  assert.equal(told.code, 1);
});

test('each flag goes by both its names', async (t) => {
  for (const flag of ['--state', '--state-dir']) {
    const state = await directory(t);
    await writeKnownGroups(state, new Map([['gone', 'uuid']]));
    assert.deepEqual(await run('forget', 'gone', flag, state), { code: 0, text: '' });
    await writeKnownGroups(state, new Map([['gone', 'uuid']]));
    assert.equal((await run('forget', 'gone', `${flag}=${state}`)).code, 0);
  }
  for (const flag of ['--socket', '--csi-socket']) {
    assert.match((await run('volume', 'list', flag, '/nowhere/s')).text, /on \/nowhere\/s\n/);
  }
});

/** The real program, from its sources or as it is shipped. */
function start(program: string, ...argv: readonly string[]) {
  return new Promise<{ readonly code: unknown; readonly out: string }>((resolve) => {
    execFile(process.execPath, [program, ...argv], (error, out) =>
      resolve({ code: error?.code ?? 0, out }),
    );
  });
}

test('the sources and the bundle tell the version of the package', async (t) => {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  const bundled = join(await directory(t), 'quarry.cjs');
  await bundle(bundled);
  for (const program of [join(root, 'src/main.ts'), bundled]) {
    for (const argv of [['--version'], ['version'], ['standalone', '--version']]) {
      assert.deepEqual(await start(program, ...argv), { code: 0, out: `${version}\n` });
    }
  }
  assert.equal((await start(bundled, 'standalone', '--no-such-flag')).code, 2);
});
