import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecorded as recorded, suites } from '../../test/fixtures/recorded.ts';
import { withQueuedMessage } from '../../test/samples/queued-message.ts';
import { parseQueuedMessages, parseThinDevices, parseTransaction } from './thin-messages.ts';

test('what waits to be told to a pool, and what it has done of it', () => {
  for (const suite of suites) {
    const text = recorded(suite, 'metadata-snapshot-half-made').stdout;
    assert.deepEqual(parseQueuedMessages(text, 'pool'), {
      transaction: 2,
      creates: [2],
      others: 0,
    });
    const status = recorded(suite, 'pools-snapshot-half-made').stdout;
    assert.equal(parseTransaction(status, 'data-pool-tpool'), 1);
    assert.equal(parseTransaction(status, 'data-other-tpool'), undefined);
    const devices = recorded(suite, 'thin-devices-snapshot-half-made').stdout;
    assert.deepEqual(
      [...parseThinDevices(devices)],
      [
        [1, 0],
        [2, 1],
      ],
    );
  }
});

test('every message counts, and what is no pool has none', () => {
  const text = recorded('trixie', 'metadata-snapshot-half-made').stdout;
  const more = text.replace(
    'message1 {',
    'message2 {\n\t\t\t\t\tdelete = 7\n\t\t\t\t}\n\n\t\t\t\tmessage1 {',
  );
  assert.deepEqual(parseQueuedMessages(more, 'pool'), { transaction: 2, creates: [2], others: 1 });
  const both = withQueuedMessage(text, 'one', 'three');
  assert.equal(parseQueuedMessages(both, 'pool')?.creates.length, 2);
  const unknown = text.replace('create = "two"', 'create = "nobody"');
  assert.deepEqual(parseQueuedMessages(unknown, 'pool'), {
    transaction: 2,
    creates: [],
    others: 1,
  });
  assert.equal(parseQueuedMessages(text, 'one'), undefined);
  assert.equal(parseQueuedMessages('', 'pool'), undefined);
});
