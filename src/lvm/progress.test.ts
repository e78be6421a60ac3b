import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, suites } from '../../test/fixtures/recorded.ts';
import { movedPercent } from './progress.ts';

for (const suite of suites) {
  test(`the last word of pvmove on ${suite} says how far it is`, () => {
    for (const name of ['step-evacuate-pv', 'step-evacuate-pv-again']) {
      const { stdout } = readRecorded(suite, name);
      assert.equal(movedPercent(stdout), 100);
      const cut = stdout.slice(0, stdout.lastIndexOf('/dev/'));
      assert.notEqual(movedPercent(cut), 100);
    }
  });
}

test('what says nothing of it is no progress', () => {
  assert.equal(movedPercent('  Detected pvmove in progress for /dev/sda.\n'), undefined);
  assert.equal(movedPercent(''), undefined);
});
