import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, resultOf, type Suite, suites } from '../../test/fixtures/recorded.ts';
import { OperationError } from '../base/failures.ts';
import type { Signatures } from '../core/observed.ts';
import type { CommandResult } from './command.ts';
import { combine, parseBlkid, parseWipefs } from './probe.ts';

function wipefsOf(suite: Suite, name: string): Signatures {
  return parseWipefs(resultOf(readRecorded(suite, `wipefs-${name}`)));
}

function blkidOf(suite: Suite, name: string): Signatures {
  return parseBlkid(resultOf(readRecorded(suite, `blkid-${name}`)));
}

const nothing: Signatures = { kind: 'none' };

function found(...types: readonly string[]): Signatures {
  return { kind: 'found', types };
}

const table: readonly (readonly [string, Signatures, Signatures])[] = [
  ['none', nothing, nothing],
  ['ext4', found('ext4'), found('ext4')],
  ['xfs', found('xfs'), found('xfs')],
  ['swap', found('swap'), found('swap')],
  ['gpt', found('gpt', 'PMBR'), found('gpt')],
  ['lvm', found('LVM2_member'), found('LVM2_member')],
];

function typesOf(probe: Signatures): Signatures {
  return probe.kind === 'found' ? found(...probe.types) : probe;
}

for (const suite of suites) {
  test(`${suite}: what is on a device can be told from what comes after it`, () => {
    const probe = wipefsOf(suite, 'ext4');
    const both = combine(probe, blkidOf(suite, 'ext4'));
    const uuids = both.kind === 'found' ? both.uuids : [];
    assert.match(uuids?.join() ?? '', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  for (const [name, wipefs, blkid] of table) {
    test(`${suite}: both probes see what is on a device with ${name}`, () => {
      assert.deepEqual(typesOf(wipefsOf(suite, name)), wipefs);
      assert.deepEqual(blkidOf(suite, name), blkid);
    });
  }

  test(`${suite}: a device with two file systems holds data, whatever blkid makes of it`, () => {
    const both = combine(wipefsOf(suite, 'contradiction'), blkidOf(suite, 'contradiction'));
    assert.notEqual(both.kind, 'none');
    assert.deepEqual(typesOf(wipefsOf(suite, 'contradiction')), found('xfs', 'ext4'));
  });

  test(`${suite}: a device that is not there is unknown`, () => {
    const both = combine(wipefsOf(suite, 'no-device'), blkidOf(suite, 'no-device'));
    assert.equal(both.kind, 'unknown');
    assert.match(both.kind === 'unknown' ? both.why : '', /No such file or directory/);
  });

  // Both programs keep a read error to themselves. What protects such a disk is that LVM does
  // not list it: see "a disk that cannot be read" in devices.test.ts.
  test(`${suite}: a device that cannot be read looks empty to both probes`, () => {
    assert.deepEqual(wipefsOf(suite, 'unreadable'), nothing);
    assert.deepEqual(blkidOf(suite, 'unreadable'), nothing);
  });
}

test('blkid of Debian 12 tells of contradicting signatures, that of Debian 13 finds nothing', () => {
  assert.equal(blkidOf('bookworm', 'contradiction').kind, 'unknown');
  assert.equal(blkidOf('trixie', 'contradiction').kind, 'none');
});

function result(given: Partial<CommandResult>): CommandResult {
  const quiet = { exitCode: 0, signal: undefined, stdout: '', stderr: '', durationMs: 0 };
  return { ...quiet, ...given };
}

const faults: readonly (readonly [string, Partial<CommandResult>])[] = [
  ['killed', { exitCode: undefined, signal: 'SIGKILL' }],
  ['refused', { exitCode: 1, stderr: 'Permission denied' }],
  ['found only half', { exitCode: 4, stdout: 'TYPE=ext4\n' }],
];

for (const [what, given] of faults) {
  test(`a probe that was ${what} makes the device unknown`, () => {
    assert.equal(parseWipefs(result(given)).kind, 'unknown');
    assert.equal(parseBlkid(result(given)).kind, 'unknown');
  });
}

test('something that blkid has no name for is unknown', () => {
  assert.equal(parseBlkid(result({ stdout: 'DEVNAME=/dev/sda\n' })).kind, 'unknown');
});

/** As Debian 13 says it of a partition of its own, with and without something on it. */
const place = [
  ...['DEVNAME=/dev/sdr1', 'PART_ENTRY_SCHEME=gpt', 'PART_ENTRY_NUMBER=1'],
  ...['PART_ENTRY_UUID=e98801ad-de42-4b30-ba2d-86990d6c161d', 'PART_ENTRY_OFFSET=2048'],
].join('\n');

test('where a partition lies is nothing that is on it', () => {
  assert.deepEqual(parseBlkid(result({ stdout: `${place}\n` })), nothing);
  assert.deepEqual(parseBlkid(result({ stdout: `${place}\nTYPE=ext4\n` })), found('ext4'));
  assert.equal(parseBlkid(result({ stdout: `${place}\nVERSION=1.0\n` })).kind, 'unknown');
});

test('half an answer of wipefs is no answer', () => {
  const { stdout } = readRecorded('trixie', 'wipefs-ext4');
  for (const output of ['{}', '[', stdout.slice(0, 40), '{"signatures": 1}']) {
    assert.throws(
      () => parseWipefs(result({ stdout: output })),
      (error) => error instanceof OperationError && error.code === 'UnreadableReport',
    );
  }
});

test('wipefs that succeeds without a word has found nothing', () => {
  assert.deepEqual(parseWipefs(result({})), nothing);
});

test('nothing is on a device only when both probes say so', () => {
  const unknown: Signatures = { kind: 'unknown', why: 'a fault' };
  assert.deepEqual(combine(nothing, nothing), nothing);
  assert.deepEqual(combine(nothing, found('ext4')), found('ext4'));
  assert.deepEqual(combine(found('gpt', 'PMBR'), found('gpt')), found('gpt', 'PMBR'));
  for (const other of [nothing, found('ext4'), unknown]) {
    assert.deepEqual(combine(unknown, other), unknown);
    assert.deepEqual(combine(other, unknown), unknown);
  }
});
