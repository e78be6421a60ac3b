import assert from 'node:assert/strict';
import test from 'node:test';
import { readRecorded, suites } from '../../test/fixtures/recorded.ts';
import { boundNode, devicePaths, parseMountLines } from './mounts.ts';

for (const suite of suites) {
  test(`${suite}: what is mounted is read with its device, its state and its path`, () => {
    const lines = parseMountLines(readRecorded(suite, 'mounts-published').stdout);
    const at = (path: string) => lines.find(({ mountPoint }) => mountPoint === path);
    const ext4 = at('/run/show ext4');
    assert.ok(ext4 !== undefined, 'spaces in a path are decoded');
    const { number, root, fsType, source, isReadOnly, isFileSystemReadOnly } = ext4;
    assert.match(number, /^25[0-9]:\d+$/);
    assert.deepEqual(
      { root, fsType, source, isReadOnly, isFileSystemReadOnly },
      {
        ...{ root: '/', fsType: 'ext4', source: '/dev/mapper/data-ext4' },
        ...{ isReadOnly: false, isFileSystemReadOnly: false },
      },
    );
    assert.match(at('/run/show btrfs')?.number ?? '', /^0:/, 'the kernel made it up');
    const second = at('/run/second');
    assert.equal(second?.number, number, 'another mount of the same file system');
    assert.deepEqual([second?.isReadOnly, second?.isFileSystemReadOnly], [true, false]);
    const node = at('/run/node');
    assert.ok(node !== undefined);
    assert.match(boundNode(node) ?? '', /^\/dev\/dm-\d+$/);
    assert.equal(node.isReadOnly, true);
    assert.equal(boundNode(ext4), undefined);
  });
}

test('stacked mounts come in the order they were made', () => {
  const lines = [
    '40 26 254:1 / /m rw,relatime shared:11 - ext4 /dev/mapper/a rw',
    '41 40 254:2 / /m ro,relatime - xfs /dev/mapper/b ro,nouuid',
  ];
  const found = parseMountLines(`${lines.join('\n')}\n`);
  assert.deepEqual(
    found.map(({ number, isReadOnly, isFileSystemReadOnly }) => [
      ...[number, isReadOnly, isFileSystemReadOnly],
    ]),
    [
      ['254:1', false, false],
      ['254:2', true, true],
    ],
  );
});

test('a file system that turned read-only is so at every mount of it', () => {
  const [line] = parseMountLines('40 26 254:1 / /m rw,relatime - ext4 /dev/mapper/a ro\n');
  assert.deepEqual([line?.isReadOnly, line?.isFileSystemReadOnly], [true, true]);
});

test('a device is found in /sys by its number', () => {
  assert.equal(devicePaths('254:3').dmUuid, '/sys/dev/block/254:3/dm/uuid');
});

test('a file system that the kernel gave up is read-only, though it says otherwise', () => {
  const line = '52 29 254:3 / /pods/a rw,relatime shared:1 - ext4 /dev/mapper/vg-a rw,emergency_ro';
  const [mount] = parseMountLines(`${line}\n`);
  assert.equal(mount?.isFileSystemReadOnly, true);
});
