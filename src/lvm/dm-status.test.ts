import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, type Suite, suites } from '../../test/fixtures/recorded.ts';
import {
  parseMirrors,
  parseRaidHealth,
  parseSnapshotFill,
  parseThinPoolHealth,
} from './dm-status.ts';

/** As a 7.2 kernel printed them. */
const samples = {
  fresh:
    'vg1-pool-tpool: 0 40960 thin-pool 1 112/1024 0/320 - rw discard_passdown queue_if_no_space - 256 ',
  full: 'vg1-pool-tpool: 0 40960 thin-pool 1 114/1024 320/320 - out_of_data_space discard_passdown error_if_no_space - 256 ',
  synced: 'vg1-r1: 0 81920 raid raid1 2 AA 81920/81920 idle 0 0 -',
  syncing: 'vg1-r5: 0 81920 raid raid5_ls 3 aaa 28248/40960 resync 0 0 -',
  degraded: 'vg1-r1: 0 40960 raid raid1 2 DA 40960/40960 idle 0 0 -',
};

test('a fresh pool is writable and nearly empty', () => {
  const [pool] = parseThinPoolHealth(samples.fresh);
  assert.deepEqual(pool, {
    name: 'vg1-pool-tpool',
    state: 'rw',
    dataPercent: 0,
    metadataPercent: 10.9375,
    needsCheck: false,
  });
});

test('a pool that ran full says so', () => {
  const [pool] = parseThinPoolHealth(samples.full);
  assert.equal(pool?.state, 'out_of_data_space');
  assert.equal(pool?.dataPercent, 100);
});

test('a failed pool is as full as can be, and must be checked', () => {
  const [pool] = parseThinPoolHealth('vg1-pool-tpool: 0 40960 thin-pool Fail');
  assert.equal(pool?.state, 'Fail');
  assert.equal(pool?.needsCheck, true);
});

test('a RAID tells its devices, how far it is in sync, and what it does', () => {
  const raids = parseRaidHealth([samples.synced, samples.syncing, samples.degraded].join('\n'));
  assert.deepEqual(
    raids.map(({ devices, action }) => [devices, action]),
    [
      ['AA', 'idle'],
      ['aaa', 'resync'],
      ['DA', 'idle'],
    ],
  );
  assert.equal(Math.round(raids[1]?.syncPercent ?? 0), 69);
});

test('no devices are no answers, and other targets are passed over', () => {
  assert.deepEqual(parseRaidHealth('No devices found\n'), []);
  assert.deepEqual(parseThinPoolHealth(''), []);
  assert.deepEqual(parseThinPoolHealth(samples.synced), []);
});

for (const text of [
  'garbage',
  'x: 0 1 raid raid1 2 ?? 1/1 idle 0 0 -',
  'x: 0 1 thin-pool 1 2 3 - rw',
]) {
  test(`refuses to read ${text}`, () => {
    const parse = text.includes('raid1') ? parseRaidHealth : parseThinPoolHealth;
    assert.throws(() => parse(text), { name: 'OperationError' });
  });
}

function outputOf(suite: Suite, name: string): string {
  return readRecorded(suite, name).stdout;
}

for (const suite of suites) {
  test(`${suite}: a host without pools and RAIDs has none`, () => {
    assert.deepEqual(parseThinPoolHealth(outputOf(suite, 'pools-blank')), []);
    assert.deepEqual(parseRaidHealth(outputOf(suite, 'raids-blank')), []);
  });

  const pools = {
    layouts: { state: 'rw', dataPercent: 25, needsCheck: false },
    full: { state: 'out_of_data_space', dataPercent: 100, needsCheck: false },
    'metadata-full': { state: 'ro', dataPercent: 0, metadataPercent: 100 },
  };
  for (const [name, expected] of Object.entries(pools)) {
    test(`${suite}: the recorded pool of "${name}" is read as what it is`, () => {
      const [pool, ...others] = parseThinPoolHealth(outputOf(suite, `pools-${name}`));
      assert.equal(others.length, 0);
      assert.equal(pool?.name, 'data-pool-tpool');
      assert.deepEqual({ ...pool, ...expected }, pool);
    });
  }

  const raids = {
    syncing: ['aa', 'resync'],
    degraded: ['AD', 'idle'],
    'failed-leg': ['DA', 'idle'],
  };
  for (const [name, [devices, action]] of Object.entries(raids)) {
    test(`${suite}: the recorded RAID of "${name}" is read as what it is`, () => {
      const [raid] = parseRaidHealth(outputOf(suite, `raids-${name}`));
      assert.deepEqual([raid?.name, raid?.devices, raid?.action], ['data-mirror', devices, action]);
    });
  }

  test(`${suite}: every recorded RAID layout is in sync, with all of its devices`, () => {
    const found = parseRaidHealth(outputOf(suite, 'raids-layouts'));
    const counts = found.map(({ name, devices }) => [name.replace('data-', ''), devices.length]);
    assert.deepEqual(Object.fromEntries(counts), {
      ...{ raid1: 2, 'raid1--three': 3, raid10: 4, raid4: 3, raid5: 3, raid6: 5 },
    });
    for (const raid of found) {
      assert.match(raid.devices, /^A+$/);
      assert.deepEqual([raid.syncPercent, raid.action], [100, 'idle']);
    }
  });
}

test('a snapshot tells how full it is; one that overflowed is full', () => {
  const output =
    'vg-s1: 0 65536 snapshot 16384/131072 16\n' +
    'vg-s2: 0 65536 snapshot Invalid\n' +
    'vg-v1: 0 65536 snapshot-origin 254:3\n';
  assert.deepEqual(parseSnapshotFill(output), [
    { name: 'vg-s1', percent: 12.5 },
    { name: 'vg-s2', percent: 100 },
  ]);
  assert.deepEqual(parseSnapshotFill('No devices found\n'), []);
  assert.throws(() => parseSnapshotFill('vg-s1: 0 65536 snapshot 16'), {
    code: 'UnreadableReport',
  });
});

test('a mirror tells what it is of, the source first', () => {
  const line = 'vg1-pvmove0: 0 81920 mirror 2 8:32 8:16 31/80 1 AA 1 core';
  assert.deepEqual(parseMirrors(line), [{ name: 'vg1-pvmove0', devices: ['8:32', '8:16'] }]);
  assert.deepEqual(parseMirrors('No devices found'), []);
  const unlike = 'vg1-pvmove0: 0 81920 mirror 2 sdc sdb 31/80 1 AA 1 core';
  assert.throws(() => parseMirrors(unlike), { code: 'UnreadableReport' });
});
