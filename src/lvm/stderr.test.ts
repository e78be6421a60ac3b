import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, recordedNames, suites } from '../../test/fixtures/recorded.ts';
import type { FailureCode } from '../base/failures.ts';
import { limits } from '../base/limits.ts';
import { codeOf, gist, patterns } from './stderr.ts';

/** Every recorded failure, and what it must mean. */
const meanings: Readonly<Partial<Record<FailureCode, readonly string[]>>> = {
  LvmRejectedOption: [
    ...['option-unknown', 'option-argument', 'option-tag', 'option-segment', 'option-conflict'],
    ...['option-combination', 'chunk-size', 'size-zero', 'stripe-size'],
  ],
  InvalidName: ['name-bad', 'name-long', 'name-reserved'],
  LvmLocked: [
    ...['locked-create-lv', 'locked-remove-lv', 'locked-create-vg', 'locked-look'],
    ...['evacuating-extend', 'evacuating-remove', 'evacuating-snapshot'],
  ],
  VolumeInUse: [
    ...['lv-mounted', 'lv-opened', 'lv-held', 'dm-name-taken', 'mount-twice', 'zero-mounted'],
    ...['format-mounted-ext4', 'format-mounted-xfs', 'format-mounted-btrfs'],
  ],
  PublicationInUse: ['unmount-busy'],
  FileSystemTooSmall: ['format-small-xfs', 'format-small-btrfs'],
  FileSystemDamaged: ['mount-damaged'],
  MountFailed: ['mount-type', 'mount-option'],
  VolumeReadOnly: ['mount-write-protected'],
  VolumeDeviceMissing: ['mount-no-device'],
  DeviceBusy: [
    ...['mounted-create', 'mounted-extend', 'wipe-mounted', 'reduce-used', 'pvremove-used'],
  ],
  DuplicateDevice: ['duplicate-create-lv', 'duplicate-extend-lv'],
  VolumeGroupPartial: [
    ...['partial-create-lv', 'partial-extend-lv', 'partial-activate', 'pulled-create-lv'],
    ...['dead-disk-create-lv', 'dead-disk-extend-lv', 'drop-missing-used'],
  ],
  VolumeGroupAmbiguous: ['same-name-create-lv'],
  VolumeGroupNotUsable: [
    ...['exported-create-lv', 'exported-activate', 'exported-extend-vg'],
    ...['read-only-create-lv', 'read-only-extend-lv', 'foreign-create-lv', 'shared-create-lv'],
  ],
  VolumeGroupMissing: [
    ...['no-vg-create-lv', 'no-vg-extend-vg', 'no-vg-extend-lv', 'no-vg-remove-lv'],
    'no-vg-remove-vg',
  ],
  VolumeGroupForeign: [
    ...['vg-exists', 'vg-exists-empty', 'foreign-create-vg', 'shared-create-vg'],
  ],
  VolumeGroupMetadataFull: ['metadata-full'],
  InsufficientCapacity: [
    ...['vg-full-linear', 'vg-full-striped', 'vg-full-raid1', 'vg-full-pool', 'vg-full-extend'],
    ...['vg-full-cow-snapshot', 'vg-full-evacuate', 'pool-extend-no-room', 'not-allocatable'],
    ...['few-devices-raid1', 'few-devices-raid5', 'few-devices-raid10'],
  ],
  LayoutNeedsDevices: ['few-devices-striped', 'few-devices-raid6'],
  ThinPoolFull: [
    ...['pool-full-create', 'pool-full-snapshot'],
    ...['pool-metadata-full-create', 'pool-metadata-full-snapshot'],
  ],
  ThinPoolMissing: ['no-pool'],
  ThinPoolForeign: ['pool-is-linear'],
  ThinPoolUnhealthy: ['pool-broken-activate', 'pool-broken-create'],
  ThinVolumeUnknown: ['message-queued-activate'],
  ThinSnapshotHalfMade: ['snapshot-half-made-create'],
  SourceNotFound: ['no-origin-thin', 'no-origin-cow'],
  GrowUnsupported: ['grow-origin'],
  VolumeDiffers: ['lv-exists', 'pool-name-taken', 'half-made-create'],
  VolumeUnhealthy: ['half-made-activate'],
  VolumePartsActive: ['parts-active'],
  VolumeNotFound: ['no-lv-extend', 'no-lv-remove', 'no-lv-activate', 'no-lv-tags'],
  DeviceNotFound: [
    ...['no-device-create', 'no-device-extend', 'wipe-no-device', 'pulled-create-vg'],
  ],
  DeviceFailed: [
    ...['dead-disk-create-vg', 'dead-disk-copy', 'unwritable-create-lv', 'unwritable-create-vg'],
  ],
  DeviceNotUsable: [
    ...['other-vg-create', 'other-vg-extend', 'own-vg-extend', 'partitioned-create'],
    ...['foreign-device', 'shared-device', 'devices-file-device', 'reduce-last'],
  ],
  DeviceHoldsData: ['signature-create', 'signature-extend'],
  StaleView: [
    ...['extend-same-size', 'extend-smaller', 'evacuate-empty', 'pvremove-no-pv'],
    ...['copy-inactive', 'resume-no-device', 'zero-no-device', 'mount-no-path'],
    ...['unmount-none', 'unmount-no-path'],
  ],
  CommandFailed: ['thin-snapshot-of-linear'],
};

/** Longer than any cause that was recorded; a flood of lines would exceed it. */
const gistLengthMax = 320;

for (const suite of suites) {
  for (const [code, names] of Object.entries(meanings)) {
    for (const name of names) {
      test(`${suite}: ${name} means ${code}, and the message tells why`, () => {
        const { exitCode, stderr } = readRecorded(suite, `error-${name}`);
        assert.notEqual(exitCode, 0);
        assert.equal(codeOf(stderr), code);
        const message = gist(stderr);
        assert.ok(message.length > 0 && message.length <= gistLengthMax, message);
        assert.doesNotMatch(message, /WARNING|--force|--help|removemissing/);
        // That lvm points at its help is all that makes these a rejected option.
        if (!/--help' for more/.test(stderr)) assert.equal(codeOf(message), code);
      });
    }
  }

  test(`${suite}: every recorded failure has a meaning`, () => {
    const known = Object.values(meanings).flat();
    const recorded = recordedNames(suite).filter((name) => name.startsWith('error-'));
    const named = recorded.map((name) => name.replace('error-', ''));
    assert.deepEqual(named.toSorted(), known.toSorted());
  });
}

test('every pattern decides the meaning of at least one recorded failure', () => {
  const failures = suites.flatMap((suite) =>
    recordedNames(suite)
      .map((name) => readRecorded(suite, name))
      .filter(({ exitCode }) => exitCode !== 0),
  );
  const unused = patterns.filter(
    ([pattern]) => !failures.some(({ stderr }) => decidingPattern(stderr) === pattern),
  );
  assert.deepEqual(unused, []);
});

function decidingPattern(stderr: string): RegExp | undefined {
  return patterns.find(([pattern]) => pattern.test(stderr))?.[0];
}

test('every code has a sample from both releases', () => {
  const codes = new Set(patterns.map(([, code]) => code));
  for (const code of codes) assert.ok((meanings[code] ?? []).length > 0, code);
});

test('words of lvm that nobody has seen are a failed command, told as they are', () => {
  assert.equal(codeOf('  Internal error: something new\n'), 'CommandFailed');
  assert.equal(gist('  Internal error: something new\n'), 'Internal error: something new');
});

test('warnings count only when lvm said nothing else', () => {
  assert.equal(gist('  WARNING: a\n  WARNING: b\n'), 'WARNING: a; WARNING: b');
  assert.equal(gist('  WARNING: a\n  the cause\n'), 'the cause');
  assert.equal(gist(''), '');
});

test('a flood of lines is cut', () => {
  const flood = Array.from({ length: 10_000 }, (_, line) => `  line ${line}`).join('\n');
  assert.equal(gist(flood).length, limits.messageBytesMax);
});

test('a program that is killed says nothing that could be mistaken for a cause', () => {
  for (const suite of suites) {
    const names = recordedNames(suite).filter((name) => name.startsWith('killed-'));
    assert.ok(names.length > 0);
    for (const name of names) {
      const { exitCode, signal, stderr } = readRecorded(suite, name);
      assert.deepEqual({ exitCode, signal }, { exitCode: null, signal: 'SIGKILL' });
      assert.equal(codeOf(stderr), 'CommandFailed');
    }
  }
});
