import assert from 'node:assert/strict';
import test from 'node:test';
import { standaloneArguments, withoutOldFlags } from './arguments.ts';

const rows: readonly (readonly [given: string, kept: string, ignored: readonly string[]])[] = [
  ['', '', []],
  ['--config a', '--config a', []],
  ['--container=true --config a', '--config a', ['--container=true']],
  ['--container --config a', '--config a', ['--container']],
  ['--spare=1 --nsenter', '--nsenter', ['--spare=1']],
  ['--spare 1 --nsenter', '--nsenter', ['--spare 1']],
  ['--spare --nsenter', '--nsenter', ['--spare']],
  ['-container=false', '', ['-container=false']],
  ['--containers', '--containers', []],
];

for (const [given, kept, ignored] of rows) {
  test(`of "${given}" "${kept}" is left`, () => {
    const words = (text: string) => text.split(' ').filter((word) => word !== '');
    assert.deepEqual(withoutOldFlags(words(given)), { kept: words(kept), ignored });
  });
}

test('a flag that nobody knows is refused, and nothing needs one', () => {
  assert.throws(() => standaloneArguments(['--no-such']), {
    code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION',
  });
  assert.equal(standaloneArguments([]).config, '/etc/topolvm/lvmd.yaml');
});

test('the flags of the other commands are understood in either spelling', () => {
  for (const argv of [
    ['--socket', '/run/a', '--state', '/var/b'],
    ['--socket=/run/a', '--state=/var/b'],
    ['--csi-socket', '/run/a', '--state-dir=/var/b'],
  ]) {
    const { 'csi-socket': socket, 'state-dir': state } = standaloneArguments(argv);
    assert.deepEqual([socket, state], ['/run/a', '/var/b']);
  }
  assert.throws(() => standaloneArguments(['--sockets', 'x']));
});
