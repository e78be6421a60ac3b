import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { surroundings } from '../../test/samples/surroundings.ts';
import { bundle } from '../../tools/bundle.ts';
import { readKnownGroups, writeKnownGroups } from '../host/known-groups.ts';
import { runCli } from './cli.ts';
import { commands } from './commands.ts';

const root = join(import.meta.dirname, '../..');

async function run(...argv: readonly string[]) {
  const lines: string[] = [];
  const say = (text: string) => lines.push(text);
  const environment = {
    ...surroundings,
    path: '/nowhere',
    version: '1.2.3',
    print: say,
    warn: say,
  };
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
  ['a group that is a path', ['forget', '../vg'], 2, /GROUP is "\.\.\/vg": name a group/],
  ['a size of nothing', ['volume', 'create', 'a', '--size', '0'], 2, /--size is "0": .*10Gi/],
  ['a size below 0', ['volume', 'expand', 'a', '--size=-1Gi'], 2, /--size is "-1Gi": .*10Gi/],
  ['a size of half', ['volume', 'create', 'a', '--size', '1,5Gi'], 2, /--size is "1,5Gi": .*10Gi/],
  [
    'a unit that is none',
    ['volume', 'create', 'a', '--size', '10GB'],
    2,
    /--size is "10GB": .*10Gi/,
  ],
  ['a size for nothing', ['volume', 'clone', 'a', 'b', '--size', ''], 2, /--size is "": .*10Gi/],
  [
    'a name that is a path',
    ['volume', 'create', '../x', '--size', '1Gi'],
    2,
    /NAME is "\.\.\/x": /,
  ],
  ['a name of dots', ['volume', 'snapshot', '..', 'db'], 2, /NAME is "\.\.": /],
  ['a name of nothing', ['volume', 'clone', '', 'db'], 2, /NAME is "": /],
  ['a name with a line in it', ['volume', 'snapshot', 'a\nb', 'db'], 2, /NAME is "a\\nb": /],
  ['a name that is too long', ['volume', 'snapshot', 'é'.repeat(65), 'db'], 2, /at most 128 bytes/],
  ['a name of nothing to delete', ['volume', 'delete', ''], 2, /NAME is "": /],
  ['a relative path', ['volume', 'publish', 'a', 'mnt/a'], 2, /PATH is "mnt\/a": .*absolute/],
  ['a word too many', ['volume', 'delete', 'a', 'b'], 2, /delete takes no "b"/],
  [
    'a relative socket',
    ['volume', 'list', '--csi-socket', 's'],
    2,
    /--csi-socket is "s": .*absolute/,
  ],
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

test('what is wrong in a node file is told with its line', async (t) => {
  const file = join(await directory(t), 'node.yaml');
  const lines = [
    'volumeGroups:',
    '  - name: data',
    '    devices: any',
    'deviceClasses:',
    '  - name: thin',
    '    volumeGroup: data',
    '    thin: {poolName: pool,',
    '      sizePercent: 4, overprovisionRatio: 2}',
    '  - name: a b',
    '    volumeGroup: nowhere',
    '    spear: 1Gi',
    'deviceclasses: []',
    '',
  ];
  await writeFile(file, lines.join('\n'));
  const told = await run('plan', '--file', file, '--state-dir', await directory(t));
  assert.equal(told.code, 2);
  const at = (line: number, field: string) => `node.yaml:${line}: ${field} is `;
  for (const place of [
    at(8, 'deviceClasses[0].thin.sizePercent'),
    at(9, 'deviceClasses[1].name'),
    at(10, 'deviceClasses[1].volumeGroup'),
    at(11, 'deviceClasses[1].spear'),
    at(12, 'deviceclasses'),
  ]) {
    assert.ok(told.text.includes(place), `${place}\n${told.text}`);
  }
  await writeFile(file, 'volumeGroups:\n  - devices: any\n');
  const missing = await run('plan', '--file', file, '--state-dir', await directory(t));
  assert.match(missing.text, /node\.yaml:2: volumeGroups\[0\]\.name is missing/);
});

test('a group that was only begun is given up, too', async (t) => {
  const state = await directory(t);
  const begun = new Map([
    ['va', 'serial Disk S1'],
    ['vb', 'serial Disk S2'],
  ]);
  await writeKnownGroups(state, begun, 'begun.json');
  assert.deepEqual(await run('forget', 'va', '--state', state), { code: 0, text: '' });
  assert.deepEqual([...(await readKnownGroups(state, 'begun.json')).keys()], ['vb']);
});

test('what is given up is noted with what it was, so that nobody brings it back', async (t) => {
  const state = await directory(t);
  await writeKnownGroups(
    state,
    new Map([
      ['va', 'uuid-a'],
      ['vb', 'uuid-b'],
    ]),
  );
  const noted = async () => [...(await readKnownGroups(state, 'forgotten.json'))];
  assert.deepEqual(await run('forget', 'va', '--state', state), { code: 0, text: '' });
  assert.deepEqual([...(await readKnownGroups(state))], [['vb', 'uuid-b']]);
  assert.deepEqual(await noted(), [['va', 'uuid-a']]);
  assert.deepEqual(await run('forget', 'va', '--state', state), { code: 0, text: '' });
  assert.deepEqual(await noted(), [['va', 'uuid-a']], 'a second time');
});

test('nothing is given up where no agent is', async (t) => {
  const none = join(await directory(t), 'none');
  const { code, text } = await run('forget', 'va', '--state', none);
  assert.equal(code, 2);
  assert.match(text, /no volume group va is known here .*there is no .*none: name .*--state-dir/);
  assert.deepEqual(await readKnownGroups(none, 'forgotten.json'), new Map());
});

test('a group of which only the cluster may know is given up with a remark', async (t) => {
  const state = await directory(t);
  await writeKnownGroups(state, new Map([['vb', 'uuid-b']]));
  const { code, text } = await run('forget', 'va', '--state', state);
  assert.equal(code, 0);
  assert.match(text, /^quarry: va was not known here \(known: vb\): if the cluster tells of it/);
  assert.deepEqual([...(await readKnownGroups(state, 'forgotten.json'))], [['va', '']]);
  assert.deepEqual([...(await readKnownGroups(state))], [['vb', 'uuid-b']]);
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
  const plugin = join(await directory(t), 'kubectl-quarry');
  await copyFile(bundled, plugin);
  assert.match((await start(plugin, 'help')).out, /^kubectl quarry: LVM storage/);
});

test('the script of the tree knows that it is called as a plugin of kubectl', async (t) => {
  const plugin = join(await directory(t), 'kubectl-quarry');
  await symlink(join(root, 'bin/quarry'), plugin);
  const called = (path: string) =>
    new Promise<string>((resolve) => {
      execFile(path, ['help'], (_error, out) => resolve(out));
    });
  assert.match(await called(plugin), /^kubectl quarry: LVM storage/);
  assert.match(await called(join(root, 'bin/quarry')), /^quarry: LVM storage/);
});

test('every command has a help of its own, with the flags that it takes', async () => {
  for (const [name, { flags }] of Object.entries(commands)) {
    const told = await run(name, '--help');
    assert.equal(told.code, 0);
    assert.match(told.text, new RegExp(`^ *quarry ${name}`));
    for (const flag of flags) assert.ok(told.text.includes(`\n  --${flag}`), `${name} --${flag}`);
    assert.equal((await run('help', name)).text, told.text);
    for (const line of told.text.split('\n')) assert.ok(line.length <= 100, line);
  }
});
