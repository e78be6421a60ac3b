import assert from 'node:assert/strict';
import test from 'node:test';
import { playOnFake } from './play.ts';

const count = 2000;

test(`${count} random histories of calls agree with their answers`, {
  timeout: 300_000,
}, async (t) => {
  let calls = 0;
  for (let seed = 1; seed <= count; seed += 1) {
    const verdict = await playOnFake(seed);
    assert.deepEqual(verdict.violations, [], `history ${seed}`);
    calls += verdict.calls;
  }
  t.diagnostic(`${count} histories, ${calls} calls, each cut off, repeated or reordered by chance`);
});

const lies: readonly (readonly [string, string, (answer: never) => unknown])[] = [
  ['deletes nothing and says it did', 'DeleteVolume', () => ({})],
  ['takes away no mount and says it did', 'NodeUnpublishVolume', () => ({})],
  ['forgets to list', 'ListVolumes', () => ({ entries: [], nextToken: '' })],
  [
    'tells another id each time',
    'CreateVolume',
    (answer: { readonly volume: { readonly volumeId: string } }) => ({
      volume: { ...answer.volume, volumeId: `${answer.volume.volumeId}-${Math.random()}` },
    }),
  ],
];

for (const [title, method, lie] of lies) {
  test(`a driver that ${title} is found out`, async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { violations } = await playOnFake(seed, { method, lie });
      if (violations.length > 0) return;
    }
    assert.fail('nothing was found in 60 histories');
  });
}
