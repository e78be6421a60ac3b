import assert from 'node:assert/strict';
import test from 'node:test';
import { samplePool } from '../../../test/samples/observed.ts';
import { poolComplaint } from './status.ts';

test('who reads a complaint about a pool knows whether it is about room', () => {
  const rows = [
    [{ dataPercent: 95.02, metadataPercent: 12 }, true],
    [{ dataPercent: 94.9, metadataPercent: 12 }, false],
    [{ dataPercent: 5, metadataPercent: 97.5 }, true],
    [{ health: 'out_of_data' }, true],
    [{ health: 'metadata_read_only' }, false],
    [{ dataPercent: 5, metadataPercent: 5 }, false],
  ] as const;
  for (const [pool, isFull] of rows) {
    const complaint = poolComplaint(samplePool(pool));
    assert.equal(complaint.startsWith('ThinPoolFull: '), isFull, complaint);
  }
});
