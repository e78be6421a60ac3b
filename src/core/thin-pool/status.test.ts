import assert from 'node:assert/strict';
import test from 'node:test';
import { samplePool } from '../../../test/samples/observed.ts';
import { poolComplaint, tellsOfFill } from './status.ts';

test('who reads a complaint about a pool knows whether it is about room', () => {
  const rows = [
    [{ dataPercent: 84.02, metadataPercent: 12 }, true],
    [{ dataPercent: 5, metadataPercent: 97.5 }, true],
    [{ health: 'out_of_data' }, true],
    [{ health: 'metadata_read_only' }, false],
    [{ dataPercent: 5, metadataPercent: 5 }, false],
  ] as const;
  for (const [pool, isFull] of rows) {
    const complaint = poolComplaint(samplePool(pool));
    assert.equal(tellsOfFill(complaint), isFull, complaint);
  }
});
