import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRecorded as recorded, suites } from '../../test/fixtures/recorded.ts';
import { withQueuedMessage } from '../../test/samples/queued-message.ts';
import {
  isThatSnapshot,
  parseQueuedMessages,
  parseThinDevices,
  parseTransaction,
} from './thin-messages.ts';

test('what waits to be told to a pool, and what it has done of it', () => {
  for (const suite of suites) {
    const text = recorded(suite, 'metadata-snapshot-half-made').stdout;
    assert.deepEqual(parseQueuedMessages(text, 'pool'), {
      transaction: 2,
      creates: [{ id: 2, origin: 1 }],
      others: 0,
    });
    const status = recorded(suite, 'pools-snapshot-half-made').stdout;
    assert.equal(parseTransaction(status, 'data-pool-tpool'), 1);
    assert.equal(parseTransaction(status, 'data-other-tpool'), undefined);
    const devices = recorded(suite, 'thin-devices-snapshot-half-made').stdout;
    const known = parseThinDevices(devices);
    const [of, own] = [known.get(1), known.get(2)];
    assert.ok(of !== undefined && own !== undefined);
    assert.deepEqual(of, { transaction: 0, created: 0, snapshotted: 1, mappedBlocks: 0 });
    assert.deepEqual(own, { transaction: 1, created: 1, snapshotted: 1, mappedBlocks: 0 });
    const that = { id: 2, origin: 1 };
    const isIt = (origin: object, snapshot: object) =>
      isThatSnapshot(
        that,
        new Map([
          [1, { ...of, ...origin }],
          [2, { ...own, ...snapshot }],
        ]),
        1,
      );
    assert.ok(isIt({}, {}));
    assert.ok(isIt({ mappedBlocks: 9 }, { mappedBlocks: 7 }));
    assert.ok(!isIt({}, { transaction: 0 }), 'of an older transaction');
    assert.ok(!isIt({ snapshotted: 2 }, {}), 'of somebody else');
    assert.ok(!isIt({ snapshotted: 0 }, { created: 0 }), 'its origin was never snapshotted');
    assert.ok(!isIt({ mappedBlocks: 9 }, {}), 'made empty');
    assert.ok(!isThatSnapshot({ id: 2, origin: undefined }, known, 1), 'no snapshot');
    assert.ok(!isThatSnapshot({ id: 3, origin: 1 }, known, 1), 'not there');
  }
});

test('every message counts, and what is no pool has none', () => {
  const text = recorded('trixie', 'metadata-snapshot-half-made').stdout;
  const more = text.replace(
    'message1 {',
    'message2 {\n\t\t\t\t\tdelete = 7\n\t\t\t\t}\n\n\t\t\t\tmessage1 {',
  );
  assert.deepEqual(parseQueuedMessages(more, 'pool'), {
    transaction: 2,
    creates: [{ id: 2, origin: 1 }],
    others: 1,
  });
  const both = withQueuedMessage(text, 'one', 'three');
  assert.equal(parseQueuedMessages(both, 'pool')?.creates.length, 2);
  const unknown = text.replace('create = "two"', 'create = "nobody"');
  assert.deepEqual(parseQueuedMessages(unknown, 'pool'), {
    transaction: 2,
    creates: [],
    others: 1,
  });
  assert.equal(parseQueuedMessages(text, 'one'), undefined);
  assert.equal(parseQueuedMessages(text, 'pv0'), undefined, 'a device, and no volume');
  assert.equal(parseQueuedMessages('', 'pool'), undefined);
});
