import assert from 'node:assert/strict';
import test from 'node:test';
import { failures } from '../../base/failures.ts';
import { grpcNumbers, type Purpose, refusalOf } from './logical-volume-refusal.ts';

const rows: readonly (readonly [Purpose, number, string, string, string])[] = [
  ['create', 8, 'full', 'InsufficientCapacity', 'full'],
  ['expand', 8, 'full', 'InsufficientCapacityToExpand', 'full'],
  ['snapshot', 8, 'full', 'InsufficientCapacityForSnapshot', 'full'],
  ['create', 8, 'ThinPoolFull: 96 %. Remedy: Grow it.', 'ThinPoolFull', '96 %'],
  ['expand', 8, 'ThinPoolFull: 96 %. Remedy: Grow it.', 'InsufficientCapacityToExpand', '96 %'],
  ['create', 12, 'no', 'SnapshotsUnsupported', 'no'],
  ['create', 5, 'no class', 'UnknownDeviceClass', 'no class'],
  ['create', 13, '', 'CommandFailed', 'the node answered with code 13'],
  ['create', 2, 'VolumeID: odd', 'CommandFailed', 'VolumeID: odd'],
  ['create', 13, 'ThinPoolFull: it lies.', 'CommandFailed', 'ThinPoolFull: it lies.'],
  ['expand', 11, 'ShrinkRefused: a. b. Remedy: c', 'ShrinkRefused', 'a. b'],
];

for (const [purpose, code, message, told, text] of rows) {
  test(`${purpose}: ${code} "${message}" is ${told}`, () => {
    const refusal = refusalOf({ code, message }, purpose);
    assert.deepEqual([refusal.code, refusal.message], [told, text]);
  });
}

test('traps 5 and 6: once nothing is left no answer says that something may still come', () => {
  const uncertain = new Set(['CANCELLED', 'UNAVAILABLE', 'ABORTED']);
  for (const purpose of ['create', 'expand', 'snapshot'] as const) {
    for (const [word, { grpc }] of Object.entries(failures)) {
      const message = `${word}: something. Remedy: something else.`;
      const { code } = refusalOf({ code: grpcNumbers[grpc] ?? 0, message }, purpose);
      const status = failures[code].grpc;
      assert.ok(!uncertain.has(status), `${word} is told as ${code}`);
      assert.ok(purpose === 'create' || status !== 'RESOURCE_EXHAUSTED', `${purpose} ${word}`);
    }
  }
});
