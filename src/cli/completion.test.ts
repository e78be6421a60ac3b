import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import test from 'node:test';
import { commands } from './commands.ts';
import { completion } from './completion.ts';

/** What bash would offer after these words. */
function offered(...words: readonly string[]): readonly string[] {
  const script = [
    completion('bash'),
    `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})`,
    `COMP_CWORD=${words.length - 1}`,
    '_quarry',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: bash reads it
    'printf "%s\\n" "${COMPREPLY[@]}"',
  ].join('\n');
  const told = execFileSync('bash', ['-c', script], { encoding: 'utf8' });
  return told.split('\n').filter((word) => word !== '');
}

test('bash completes commands, words and flags', () => {
  assert.deepEqual(offered('quarry', 'do'), ['doctor']);
  assert.deepEqual(offered('quarry', 'volume', 'cl'), ['clone']);
  assert.deepEqual(offered('quarry', 'doctor', '--k'), ['--kubeconfig']);
  assert.deepEqual(offered('quarry', 'doctor', '--fi'), []);
  assert.deepEqual(offered('quarry', 'status', '-o', ''), ['json', 'yaml', 'wide']);
  assert.deepEqual(offered('quarry', 'plan', '--ou'), ['--output']);
  assert.deepEqual(offered('quarry', 'op'), ['operator']);
});

test('zsh and fish know every command', () => {
  for (const shell of ['zsh', 'fish']) {
    const script = completion(shell);
    for (const name of Object.keys(commands)) assert.match(script, new RegExp(`\\b${name}\\b`));
  }
});

test('another shell is refused with those that there are', () => {
  assert.throws(() => completion('tcsh'), /bash, zsh or fish; not "tcsh"/);
});
