import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, type Suite, suites } from '../../test/fixtures/recorded.ts';
import { bytes, KiB, MiB, TiB, times } from '../base/bytes.ts';
import type { FoundFileSystem } from '../core/publication/observed.ts';
import { fileSystemIn } from './superblocks.ts';

const empty = new Uint8Array(4096);

/** What `od` printed: lines that repeat the one before are left out behind a star. */
function dumped(suite: Suite, name: string): Uint8Array {
  const lines = readRecorded(suite, name).stdout.trimEnd().split('\n');
  const start = Number(lines[0]?.split(' ')[0]);
  const block = new Uint8Array(4096);
  let last: readonly number[] = [];
  let at = 0;
  for (const line of lines.filter((candidate) => candidate !== '*')) {
    const [address = '', ...hex] = line.split(' ');
    const offset = Number(address) - start;
    for (; at < offset; at += 1) block[at] = last[at % 16] ?? 0;
    last = hex.map((byte) => Number.parseInt(byte, 16));
    block.set(last, offset);
    at = offset + last.length;
  }
  return block;
}

function look(suite: Suite, name: string, device: bigint, mounted?: bigint): FoundFileSystem {
  const block = dumped(suite, `superblock-${name}`);
  const blocks = name === 'btrfs' ? ([empty, block] as const) : ([block, empty] as const);
  const mountedBytes = mounted === undefined ? undefined : bytes(mounted);
  return fileSystemIn(blocks, { deviceBytes: bytes(device), mountedBytes });
}

const made: readonly (readonly [name: string, type: string, uuidEnd: string, size: bigint])[] = [
  ['ext4', 'ext4', '23456789abcd', 64n * MiB],
  ['ext3', 'ext3', '', 64n * MiB],
  ['ext2', 'ext2', '', 64n * MiB],
  ['ext4-large', 'ext4', '', 20n * TiB],
  ['xfs', 'xfs', '23456789abce', 320n * MiB],
  ['btrfs', 'btrfs', '23456789abcf', 128n * MiB],
];

for (const suite of suites) {
  for (const [name, type, uuidEnd, size] of made) {
    test(`${suite}: ${name} is read from its superblock`, () => {
      const found = look(suite, name, size);
      assert.ok(found.kind === 'found');
      assert.equal(found.type, type);
      assert.match(found.uuid, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      assert.ok(found.uuid.endsWith(uuidEnd), found.uuid);
      assert.equal(found.sizeBytes, size);
      assert.equal(found.growsToBytes, size, 'mkfs left nothing unused');
      assert.equal(found.isUnfinished, false);
    });
  }

  test(`${suite}: XFS that is mounted is as large as statfs says, and its log`, () => {
    const found = look(suite, 'xfs', 600n * MiB, 500n * MiB);
    assert.ok(found.kind === 'found');
    assert.equal(found.sizeBytes, times(MiB, 564));
  });

  test(`${suite}: btrfs that is mounted is as large as statfs says`, () => {
    const found = look(suite, 'btrfs', 600n * MiB, 500n * MiB);
    assert.ok(found.kind === 'found' && found.sizeBytes === 500n * MiB);
  });
}

test('an XFS tells that its mkfs is not done, and a btrfs of which that is true is none', () => {
  const xfs = dumped('trixie', 'superblock-xfs');
  xfs[126] = 1;
  const sizes = { deviceBytes: bytes(320n * MiB) };
  const found = fileSystemIn([xfs, empty], sizes);
  assert.ok(found.kind === 'found' && found.isUnfinished);
  const btrfs = dumped('trixie', 'superblock-btrfs');
  btrfs[0x40] = '!'.charCodeAt(0);
  assert.equal(fileSystemIn([empty, btrfs], sizes).kind, 'none');
});

/** Extents of 4 MiB are added; what each file system makes of them. */
const growth: readonly (readonly [name: string, device: bigint, growsTo: bigint])[] = [
  ['ext4', 68n * MiB, 68n * MiB],
  // With blocks of 1 KiB the first one is outside all groups.
  ['ext4', 64n * MiB + 4n * KiB, 64n * MiB + 1n * KiB],
  ['ext4', 72n * MiB + 512n, 72n * MiB],
  // Groups of 8 MiB, whose tables take 512 KiB and more.
  ['ext4', 72n * MiB + 512n * KiB, 72n * MiB + 1n * KiB],
  ['ext4-large', 20n * TiB + 512n * KiB, 20n * TiB],
  ['ext4-large', 20n * TiB + 4n * MiB, 20n * TiB + 4n * MiB],
  ['xfs', 324n * MiB, 324n * MiB],
  ['xfs', 320n * MiB + 63n * 4n * KiB, 320n * MiB],
  ['xfs', 320n * MiB + 64n * 4n * KiB, 320n * MiB + 64n * 4n * KiB],
  ['btrfs', 132n * MiB, 128n * MiB],
  ['btrfs', 256n * MiB + 4095n, 256n * MiB],
];

for (const [name, device, growsTo] of growth) {
  test(`${name} on a device of ${device} bytes grows to ${growsTo}`, () => {
    const found = look('trixie', name, device);
    assert.ok(found.kind === 'found');
    assert.equal(found.growsToBytes, growsTo);
  });
}

test('zeroes, noise and short reads hold no file system', () => {
  const noise = new Uint8Array(4096).map((_, index) => (index * 37) % 251);
  for (const block of [empty, noise, new Uint8Array(0), new Uint8Array(1500)]) {
    assert.deepEqual(fileSystemIn([block, block], { deviceBytes: MiB }), { kind: 'none' });
  }
});

test('two superblocks on one device are no proof of either', () => {
  const blocks = [
    dumped('trixie', 'superblock-ext4'),
    dumped('trixie', 'superblock-btrfs'),
  ] as const;
  const found = fileSystemIn(blocks, { deviceBytes: MiB });
  assert.deepEqual(found, { kind: 'unknown', why: 'it has superblocks of ext4 and btrfs' });
});
